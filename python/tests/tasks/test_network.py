"""Stores of several hosts: processes that speak over TCP, with the cluster's key and without."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings.tasks as tt
from tests.tasks import programs
from tests.tasks.test_seal import key

WORKER = """
import sys
import tidings.tasks as tt

with tt.Executor(sys.argv[1], workers=1, keys="keys"):
    print("works", flush=True)
    sys.stdin.read()
"""

CLIENT = """
import sys
import tidings.tasks as tt

with tt.Executor(sys.argv[1], workers=0, keys="keys") as executor:
    print(executor.submit(pow, 2, 10).result(), flush=True)
    future = executor.submit(divmod, 1, 0)
    error = future.exception()
    print(type(error).__name__, type(error.__cause__).__name__, flush=True)
"""

PRICER = """
import sys
import rules
import tidings.tasks as tt

with tt.Executor(sys.argv[1], workers=0, keys="keys") as executor:
    future = executor.submit(rules.price, 20)
    print(future.exception() or future.result(), flush=True)
"""


def parent() -> int:
    """Return the number of the process whose worker has started this one."""
    return os.getppid()


def echo(data: bytes) -> bytes:
    return data


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[tt.Executor]:
    """Make an executor without workers that holds a store, and listens."""
    where = f"file:{tmp_path / 'store'}"
    keys = key(tmp_path)
    with tt.Executor(where, workers=0, keys=keys, listen="127.0.0.1:0") as executor:
        yield executor


def test_a_process_of_another_host_does_calls(holder: tt.Executor, tmp_path: Path) -> None:
    worker = programs.start(WORKER, tmp_path, f"tcp://{holder.endpoint}")
    assert programs.heard(worker) == "works"
    assert holder.submit(parent).result() == worker.pid
    for length in (1, 20_000, 300_000):
        data = os.urandom(length)
        assert holder.submit(echo, data).result() == data
    with pytest.raises(ZeroDivisionError) as raised:
        holder.submit(divmod, 1, 0).result()
    assert isinstance(raised.value.__cause__, tt.RemoteTraceback)
    worker.communicate()
    assert worker.returncode == 0


def test_a_worker_with_other_code_makes_no_call(holder: tt.Executor, tmp_path: Path) -> None:
    for host, rebate in [("client", 1), ("old", 2), ("new", 1)]:
        folder = tmp_path / host
        folder.mkdir()
        (folder / "rules.py").write_text(f"def price(n: int) -> int:\n    return n - {rebate}\n")
        (folder / "keys").write_bytes((tmp_path / "keys").read_bytes())
    store = f"tcp://{holder.endpoint}"
    old = programs.start(WORKER, tmp_path / "old", store)
    assert programs.heard(old) == "works"
    client = programs.start(PRICER, tmp_path / "client", store)
    assert "the source of module rules here is not that of the program" in programs.heard(client)
    client.communicate()
    old.communicate()
    new = programs.start(WORKER, tmp_path / "new", store)
    assert programs.heard(new) == "works"
    client = programs.start(PRICER, tmp_path / "client", store)
    assert programs.heard(client) == "19"
    for process in (client, new):
        process.communicate()
        assert process.returncode == 0


def test_a_process_of_another_host_submits(tmp_path: Path) -> None:
    keys = key(tmp_path)
    where = f"file:{tmp_path / 'store'}"
    with tt.Executor(where, workers=1, keys=keys, listen="127.0.0.1:0") as holder:
        client = programs.start(CLIENT, tmp_path, f"tcp://{holder.endpoint}")
        assert programs.heard(client) == "1024"
        assert programs.heard(client) == "ZeroDivisionError RemoteTraceback"
        client.communicate()
        assert client.returncode == 0


def test_another_key_and_none_are_refused_in_a_sentence(
    holder: tt.Executor, tmp_path: Path
) -> None:
    where = f"tcp://{holder.endpoint}"
    with pytest.raises(tt.StoreError, match="has another key: give both sides the same key file"):
        tt.Executor(where, workers=0, keys=key(tmp_path, "other"))
    with pytest.raises(tt.StoreError, match="pass its key file, keys=FILE"):
        tt.Executor(where, workers=0)
    with pytest.raises(tt.StoreError, match="pass its key file, keys=FILE"):
        tt.Queue("jobs", store=where)
    with pytest.raises(tt.StoreError, match="may not be listened at without a key"):
        tt.Executor(f"file:{tmp_path / 'open'}", workers=0, listen="0.0.0.0:0")


def test_queues_semaphores_and_keys_are_those_of_the_holder(
    holder: tt.Executor, tmp_path: Path
) -> None:
    where, keys = f"tcp://{holder.endpoint}", tmp_path / "keys"
    queue = tt.Queue("objects", store=where, keys=keys, serializer="pickle")
    queue.put({1, 2})
    store = tt.Store(where, keys=keys, serializer="pickle")
    with tt.Queue("objects", executor=holder, serializer="pickle").claim() as job:
        assert job.data == {1, 2}
        with job.effect(serializer="pickle") as e:
            e.store["set"] = {3}
            e.queue("next").put({4})
    assert store["set"] == {3}
    with tt.Queue("next", store=where, keys=keys, serializer="pickle").claim() as job:
        assert job.data == {4}
    with tt.Semaphore("licences", 2, store=where, keys=keys).acquire():
        assert tt.Semaphore("licences", executor=holder).overview().held == 1
    raw = tt.Store(where, keys=keys, serializer="bytes")
    raw["moved"] = raw["set"]
    with pytest.raises(tt.SealError, match="sealed for another place"):
        _ = store["moved"]
    raw["forged"] = b"N" + b"cos\nsystem\n"
    with pytest.raises(tt.SealError, match="not sealed"):
        _ = store["forged"]


def test_a_call_that_is_not_sealed_is_not_unpickled(tmp_path: Path) -> None:
    """Processes of one host that use a file see no key of each other."""
    where, touched = f"file:{tmp_path / 'store'}", tmp_path / "touched"
    with tt.Executor(where, workers=0) as unsealed:
        with tt.Executor(where, workers=1, keys=key(tmp_path)):
            with pytest.raises(tt.RemoteError, match="the call is not sealed") as raised:
                unsealed.submit(touched.touch).result()
            assert raised.value.cause == "error"
        sealed = tt.Executor(where, workers=0, keys=key(tmp_path))
        other = tt.Executor(where, workers=1, keys=key(tmp_path, "other"))
        with sealed, other, pytest.raises(tt.RemoteError, match="the call is sealed"):
            sealed.submit(touched.touch).result()
        sealed = tt.Executor(where, workers=0, keys=tmp_path / "keys")
        plain = tt.Executor(where, workers=1)
        with sealed, plain, pytest.raises(tt.RemoteError, match="the call is sealed: give"):
            sealed.submit(touched.touch).result()
    assert not touched.exists()


def test_a_worker_of_the_commands_does_calls(holder: tt.Executor, tmp_path: Path) -> None:
    words = ["worker", "--store", f"tcp://{holder.endpoint}", "--keys", "keys", "--slots", "1"]
    worker = subprocess.Popen(
        [programs.tidings(), *words, "--python", sys.executable],
        cwd=tmp_path,
        env=programs.environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.submit(parent).result() == worker.pid
        assert holder.submit(in_store).result() == "written"
        assert tt.Store(executor=holder)["by a task"] == 1
    finally:
        worker.terminate()
        worker.communicate()


def in_store() -> str:
    tt.Store()["by a task"] = 1
    return "written"


def test_a_worker_whose_python_lacks_the_package_says_so(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\necho 'No module named tidings' >&2\nexit 1\n")
    (tmp_path / "python").chmod(0o755)
    words = ["worker", "--store", "memory:", "--python", str(tmp_path / "python")]
    ended = subprocess.run(
        [programs.tidings(), *words], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "No module named tidings): install the package `tidings`" in ended.stderr
