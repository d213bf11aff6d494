"""The board in Python: against a file made here by docs/reference/board.md, and a live agent."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Agent
from tidings import Board, board, readings

SLOTS = 4
PAYLOAD = 64
SLOT_BYTES = 96
ROWS_AT = 512 + SLOTS * SLOT_BYTES
INDEX_AT = ROWS_AT + SLOTS * 96
FILE_BYTES = INDEX_AT + 8 * 8


def text(raw: bytes, size: int) -> bytes:
    """Make a text as in the reference page."""
    return (bytes([len(raw)]) + raw).ljust(size, b"\0")


def payload(cores: int, load: int) -> bytes:
    """Make a payload of two readings: processors, and the load in hundredths."""
    presence = 1 << 1 | 1 << 2
    return struct.pack("<IIHH", presence, 0, cores, load).ljust(PAYLOAD, b"\0")


def slot(state: int, node_id: int, sequence: int, birth_ns: int, body: bytes) -> bytes:
    """Make a slot that is not being written."""
    return struct.pack("<QIIIIq", 6, state, node_id, 3, sequence, birth_ns) + body


def made() -> bytearray:
    """Make a board of two nodes that are alive and one unheard, in slots 0, 2 and 3."""
    now_ns = time.monotonic_ns()
    raw = bytearray(FILE_BYTES)
    raw[:96] = b"TIDBOARD" + struct.pack(
        "<IIQIIIIIIQQQQQQ",
        *(1, 512, FILE_BYTES, SLOTS, 8, SLOT_BYTES, PAYLOAD, 96, 1),
        *(512, ROWS_AT, INDEX_AT, 256_000_000, 4711, now_ns),
    )
    raw[96:224] = text(b"physics", 64) + text(b"n0", 64)
    raw[256:264] = struct.pack("<Q", 1)
    raw[320:344] = struct.pack("<QQQ", 10, 3, SLOTS)
    raw[384:392] = struct.pack("<q", now_ns)
    slots = {
        0: (slot(2, 70, 9, now_ns - 2_000_000_000, payload(8, 150)), b"n0", b"\x7f\0\0\1\x25\x90"),
        2: (slot(4, 72, 5, now_ns - 9_000_000_000, payload(64, 4196)), b"n-two", bytes(18)),
        3: (slot(1, 73, 0, 0, bytes(PAYLOAD)), b"n3", b""),
    }
    for at, (entry, name, address) in slots.items():
        begin = 512 + at * SLOT_BYTES
        raw[begin : begin + SLOT_BYTES] = entry
        row = text(name, 64) + text(address, 24) + bytes(8)
        raw[ROWS_AT + at * 96 : ROWS_AT + at * 96 + 96] = row
    assert len(raw) == FILE_BYTES
    return raw


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a board to a file."""
    file = tmp_path / "board"
    file.write_bytes(made())
    return file


def poke(path: Path, at: int, form: str, value: int | bytes) -> None:
    """Change a number of a file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(struct.pack(form, value))


def test_a_board_is_read_as_in_the_reference_page(path: Path) -> None:
    """Names, addresses, states, stamps, ages and payloads are read as they were written."""
    there = Board(path, limit_s=600)
    assert (there.cluster, there.observer, there.writer_pid) == ("physics", "n0", 4711)
    assert (len(there), there.generation, there.unit_s) == (3, 10, 0.256)
    assert repr(there) == f"<Board {path}: 3 nodes of physics, seen by n0>"
    entries = there.read()
    assert entries.names.tolist() == ["n0", "n-two", "n3"]
    assert entries.addresses.tolist() == ["127.0.0.1:9616", "[::]:0", ""]
    assert entries.slots["sequence"].tolist() == [9, 5, 0]
    assert 2.0 <= entries.ages_s[0] < 9.0 <= entries.ages_s[1]
    assert np.isnan(entries.ages_s[2])
    two = there.entry("n-two")
    assert (two.state, two.incarnation, two.payload) == ("dead", 3, payload(64, 4196))
    with pytest.raises(KeyError):
        there.entry("n7")


def test_readings_are_columns(path: Path) -> None:
    """A reading is a number where there is one, and NaN elsewhere."""
    columns = Board(path, limit_s=600).read().columns()
    assert columns["state"].tolist() == ["alive", "dead", "unheard"]
    assert columns["cores"][:2].tolist() == [8.0, 64.0]
    # Code16 4196: exponent 2, mantissa 100: 2 * (2048 + 100) hundredths.
    assert columns["load1"][:2].tolist() == [1.5, 42.96]
    assert np.isnan(columns["cores"][2])
    assert np.isnan(columns["mem_total_bytes"]).all()


def test_a_long_unit_of_time_is_no_death(path: Path) -> None:
    """A writer with a heartbeat each 100 s is alive; a limit that is given holds."""
    poke(path, 384, "<q", time.monotonic_ns() - 60_000_000_000)
    with pytest.raises(board.DeadWriterError, match=r"with a limit of 5\.0 s"):
        Board(path)
    poke(path, 72, "<Q", 100_000_000_000)
    assert Board(path).limit_s == 800.0
    with pytest.raises(board.DeadWriterError, match=r"with a limit of 20\.0 s"):
        Board(path, limit_s=20)


def test_live_is_the_file_itself(path: Path) -> None:
    """What is written shows without another call, and nothing can be written back."""
    there = Board(path, limit_s=600)
    poke(path, 512 + 20, "<I", 77)
    assert there.live["sequence"][0] == 77
    with pytest.raises(ValueError, match="read-only"):
        there.live["sequence"] = 1


def test_frames(path: Path) -> None:
    """Pandas and Polars get one row per node."""
    there = Board(path, limit_s=600)
    frame = there.to_pandas()
    assert frame.loc["n-two", "state"] == "dead"
    assert frame.loc["n0", "cores"] == 8
    polars = there.to_polars()
    assert polars.shape[0] == 3
    assert polars["name"].to_list() == ["n0", "n-two", "n3"]


def with_user(*metrics: tuple[bytes, bytes]) -> bytes:
    """Make a payload of 64 bytes with the given user metrics."""
    area = b"".join(bytes([len(k), len(v)]) + k + v for k, v in metrics)
    return (bytes(44) + area).ljust(64, b"\0")


def test_frames_have_what_users_published(path: Path) -> None:
    """A column of texts per key, missing at a node without it; other columns stay."""
    poke(path, 512 + 32 + 44, "20s", with_user((b"gpu", b"3"), (b"job", b"\xc3\xbc"))[44:])
    there = Board(path, limit_s=600)
    frame = there.to_pandas()
    assert frame["user.gpu"].dropna().to_dict() == {"n0": "3"}
    assert frame.loc["n0", "user.job"] == "ü"
    assert frame.loc["n0", "cores"] == 8
    assert there.to_polars()["user.gpu"].to_list() == ["3", None, None]


@pytest.mark.parametrize(
    "area",
    [
        b"\x03",
        b"\x03\x20gpu3",
        b"\x01\x01b1\x01\x01a1",
        b"\x01\x01a1\x01\x01a1",
        b"\x01\x01A1",
        b"\x01\x01a\xff",
        b"\x01\x01\xff1",
    ],
)
def test_user_metrics_that_break_a_rule_are_left_out(area: bytes) -> None:
    """Cut off, out of order, twice, a letter that no key has, no UTF-8."""
    whole = np.frombuffer(bytes(44) + area, dtype=f"V{44 + len(area)}")
    assert readings.decode_user(whole, np.array([True])) == {}


def test_a_missing_frame_library_is_named_with_the_remedy(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without pandas the message says what to do."""

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ModuleNotFoundError, match="pip install polars"):
        Board(path, limit_s=600).to_polars()


def test_an_entry_that_changes_meanwhile_is_copied_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer writes between the two reads of the versions: nothing of the first copy stays."""
    there = Board(path, limit_s=600)
    there.read()
    writes = iter([3, 4])
    passes = 0

    def fence() -> None:
        nonlocal passes
        passes += 1
        value = next(writes, None) if passes % 2 == 0 else None
        if value is not None:
            poke(path, 512, "<Q", 2 * value + 2)
            poke(path, 512 + 20, "<I", 100 + value)

    monkeypatch.setattr(there, "_fence", fence)
    assert there.read().slots["sequence"][0] == 104


def test_names_of_another_generation_are_not_mixed_in(path: Path) -> None:
    """A slot that another node has taken comes with that node's name."""
    there = Board(path, limit_s=600)
    assert there.read().names[0] == "n0"
    poke(path, 320, "<Q", 12)
    with path.open("r+b") as file:
        file.seek(ROWS_AT)
        file.write(text(b"other", 64))
    assert there.entry("other").sequence == 9
    with pytest.raises(KeyError):
        there.entry("n0")


@pytest.mark.parametrize(
    ("at", "form", "value", "error"),
    [
        (0, "<Q", 7, board.NotABoardError),
        (8, "<I", 2, board.LayoutError),
        (12, "<I", 7, board.DamagedError),
        (16, "<Q", 7, board.DamagedError),
        (24, "<I", 1 << 30, board.DamagedError),
        (28, "<I", 16, board.DamagedError),
        (36, "<I", 4096, board.DamagedError),
        (48, "<Q", 1 << 60, board.DamagedError),
        (96, "B", 200, board.DamagedError),
        (97, "B", 255, board.DamagedError),
        (161, "B", 255, board.DamagedError),
        (256, "<Q", 2, board.LeftError),
        (256, "<Q", 3, board.ReplacedError),
        (256, "<Q", 9, board.DamagedError),
        (384, "<q", -(1 << 60), board.DeadWriterError),
        (384, "<q", 1 << 62, board.DamagedError),
        (520, "<I", 9, board.DamagedError),
        (ROWS_AT, "B", 200, board.DamagedError),
        (ROWS_AT + 1, "B", 255, board.DamagedError),
        (512, "<Q", 1, board.UnfinishedError),
        (320, "<Q", 1, board.UnfinishedError),
    ],
)
def test_whatever_is_wrong_is_an_error_that_names_the_file(
    path: Path, at: int, form: str, value: int, error: type[board.BoardError]
) -> None:
    """No number of a file is used before it is checked."""
    poke(path, at, form, value)
    with pytest.raises(error, match=str(path)):
        Board(path, limit_s=600).read()


@pytest.mark.parametrize("size", [0, 7, 8, 100, 511, 512, FILE_BYTES - 1])
def test_a_file_that_is_cut_off_is_refused(path: Path, size: int) -> None:
    """A file is compared with its header before it is used."""
    path.write_bytes(bytes(made())[:size])
    error = board.NotABoardError if size < 8 else board.TruncatedError
    with pytest.raises(error, match=str(path)):
        Board(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The message asks whether an agent runs."""
    with pytest.raises(board.UnreadableError, match="is an agent running here"):
        Board(tmp_path / "none")


def test_the_default_path_follows_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule is that of the reference page."""
    monkeypatch.setenv("TIDINGS_RUNTIME_DIR", "/x")
    assert board.default_path() == Path("/x/board")
    monkeypatch.delenv("TIDINGS_RUNTIME_DIR")
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert board.default_path() == Path("/run/tidings/board")
    monkeypatch.setattr(os, "getuid", lambda: 7)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert board.default_path() == Path("/run/user/7/tidings/board")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    assert board.default_path() == Path("/tmp/tidings-7/board")


def test_short_payloads_have_no_readings() -> None:
    """A cluster may have agreed on payloads without readings."""
    assert readings.decode(np.zeros(2, "V20"), np.array([True, True])) == {}


def test_the_board_of_a_live_agent(agent: Agent) -> None:
    """What a real agent writes is read, and goes on."""
    there = Board(limit_s=600)
    first = there.entry("n0007")
    assert (there.observer, there.unit_s, first.state) == ("n0007", 0.02, "alive")
    while there.entry("n0007").sequence == first.sequence:
        pass
    while np.isnan(there.read().columns()["cores"][0]):
        pass
    assert there.to_pandas().loc["n0007", "cores"] == os.cpu_count()
