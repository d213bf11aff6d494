"""Stores in an etcd: calls, data and values, also when one of its servers dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings.tasks as tt
from tests.tasks import programs
from tests.tasks.servers import Servers
from tests.tasks.test_network import WORKER
from tests.tasks.test_seal import key

pytestmark = pytest.mark.foreign


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with Servers(tmp_path) as servers:
        yield servers


def echo(data: bytes) -> bytes:
    return data


def squared(number: int) -> int:
    return tt.current_executor().submit(pow, number, 2).result()


def test_calls_go_on_when_a_server_dies(servers: Servers, tmp_path: Path) -> None:
    address, keys, blobs = servers.address("calls"), key(tmp_path), tmp_path / "blobs"
    blobs.mkdir()
    with tt.Executor(address, workers=1, keys=keys, blobs=blobs) as executor:
        assert executor.submit(squared, 3).result() == 9
        long = bytes(100_000)
        assert executor.submit(echo, long).result() == long
        servers.kill(0)
        assert list(executor.map(abs, range(-5, 0))) == [5, 4, 3, 2, 1]
        queue = tt.Queue("jobs")
        queue.put({"n": 1})
        with queue.claim(timeout=60) as job, job.effect() as effect:
            effect.store["n"] = job.data["n"]
        assert tt.Store()["n"] == 1


def test_a_worker_elsewhere_does_calls(servers: Servers, tmp_path: Path) -> None:
    address = servers.address("elsewhere")
    keys = key(tmp_path)
    worker = programs.start(WORKER, tmp_path, address)
    assert programs.heard(worker) == "works"
    with tt.Executor(address, workers=0, keys=keys) as executor:
        assert executor.submit(pow, 2, 10).result() == 1024
    programs.kill(worker)
    # The other one is dead: this one serves the store.
    assert tt.Store(address, keys=keys).get("nothing") is None


def test_long_data_needs_no_folder(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    address, keys = servers.address("long"), key(tmp_path)
    with tt.Executor(address, workers=1, keys=keys) as executor:
        for length in (100_000, 5_000_000):
            assert executor.submit(echo, bytes(length)).result() == bytes(length)
    with tt.Executor(address, workers=0, keys=keys) as executor:
        refused = executor.submit(echo, bytes(100_000)).exception()
        assert "no" in str(refused)
        assert "worker" in str(refused)
