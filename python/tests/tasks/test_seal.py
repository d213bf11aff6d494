"""The seal: what opens, what does not, and what is said then."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

import tidings.tasks as tt
from tidings.tasks.seal import CALL, RESULT, Seal, key_file


def key(folder: Path, name: str = "keys") -> str:
    """Return a file with a new key."""
    path = folder / name
    path.write_text(f"# the cluster's\n{base64.b64encode(os.urandom(32)).decode()}\n")
    return str(path)


def test_what_one_seals_another_opens(tmp_path: Path) -> None:
    one = Seal(key(tmp_path))
    other = Seal(str(tmp_path / "keys"))
    for data in (b"", b"data", os.urandom(100_000)):
        closed = one.close(CALL, b"id", data)
        assert len(closed) < len(data) + 100
        assert other.open(CALL, b"id", closed) == data
    assert one.close(CALL, b"id", b"data") != one.close(CALL, b"id", b"data"), "no nonce twice"


def test_what_is_elsewhere_or_changed_does_not_open(tmp_path: Path) -> None:
    seal = Seal(key(tmp_path))
    closed = seal.close(CALL, b"id", b"data")
    for kind, owner in ((RESULT, b"id"), (CALL, b"other"), (CALL, b"")):
        with pytest.raises(tt.SealError, match="was sealed for another place, so it was not"):
            seal.open(kind, owner, closed)
    for place in range(len(closed)):
        damaged = bytearray(closed)
        damaged[place] ^= 1
        with pytest.raises(tt.SealError):
            seal.open(CALL, b"id", bytes(damaged))
    for length in range(len(closed)):
        with pytest.raises(tt.SealError):
            seal.open(CALL, b"id", closed[:length])


def test_another_key_and_none_are_told_apart(tmp_path: Path) -> None:
    seal, other = Seal(key(tmp_path, "a")), Seal(key(tmp_path, "b"))
    closed = seal.close(RESULT, b"id", b"data")
    with pytest.raises(tt.SealError, match=r"is sealed (with another key|, and damaged)"):
        other.open(RESULT, b"id", closed)
    with pytest.raises(tt.SealError, match="the result is not sealed with the cluster's key"):
        seal.open(RESULT, b"id", b"data")
    none = Seal(None)
    assert none.open(RESULT, b"id", none.close(RESULT, b"id", b"data")) == b"data"
    with pytest.raises(tt.SealError, match="keys=FILE"):
        none.open(RESULT, b"id", closed)


def test_keys_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDINGS_KEYS", raising=False)
    assert key_file(None) is None
    monkeypatch.setenv("TIDINGS_KEYS", "some")
    assert key_file(None) == str(Path("some").absolute())
    assert key_file(tmp_path / "other") == str(tmp_path / "other")


def test_a_file_without_keys_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# none\n")
    for name, why in (("none", "No such file"), ("empty", "tidings keys generate")):
        with pytest.raises(tt.StoreError, match=f"key file .*{name}: .*{why}"):
            tt.Executor(workers=1, keys=tmp_path / name)
