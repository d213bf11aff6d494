"""The executor with its worker and its processes."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import fcntl
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings.tasks as tt

from . import programs


@pytest.fixture(scope="module")
def executor() -> Iterator[tt.Executor]:
    with tt.Executor(workers=2) as executor:
        yield executor


class Gate:
    """What tasks wait at until the test opens it: a file that it has locked."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "gate"
        self.held = self.path.open("w")
        fcntl.flock(self.held, fcntl.LOCK_EX)

    def open(self) -> None:
        self.held.close()


def passed(gate: Path) -> str:
    with gate.open() as shared:
        fcntl.flock(shared, fcntl.LOCK_SH)
    return "passed"


def until_cancelled(begun: Path, seen: Path) -> None:
    """Say with a pipe that it has begun, and with another that it was told to stop."""
    begun.write_text("begun")
    while not tt.cancelled():
        pass
    seen.write_text("seen")


def passed_after(begun: Path, gate: Path) -> str:
    begun.write_text("begun")
    return passed(gate)


def raise_value_error() -> None:
    raise ValueError("wrong", 3)


def killed_once(file: Path) -> str:
    """End the process the first time."""
    if not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"attempt {tt.attempt()}"


def test_calls_return_and_raise(executor: tt.Executor) -> None:
    assert executor.submit(pow, 2, 10).result() == 1024
    assert executor.submit(divmod, 7, 2).exception() is None
    with pytest.raises(ValueError, match=r"\('wrong', 3\)") as raised:
        executor.submit(raise_value_error).result()
    cause = raised.value.__cause__
    assert isinstance(cause, tt.RemoteTraceback)
    assert 'raise ValueError("wrong", 3)' in cause.text
    assert "worker_process" not in cause.text
    assert cause.attempts == 1


def number_or_death(number: int) -> int:
    if number == 100:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_process_that_dies_takes_one_call_along(executor: tt.Executor) -> None:
    # Others lie with the process already when it dies: they were not tried.
    futures = [executor.submit(number_or_death, number) for number in range(300)]
    errors = [future.exception() for future in futures]
    assert [number for number, error in enumerate(errors) if error] == [100]
    assert "signal 9" in str(errors[100])


def test_functions_of_any_place_are_called(executor: tt.Executor) -> None:
    offset = 5

    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

        def moved(self) -> Point:
            return Point(self.x + offset)

    moved = executor.submit(Point(1).moved).result()
    assert moved.x == 6
    assert isinstance(moved, Point), "a class that goes there and back is the same"
    assert executor.submit(lambda: offset).result() == 5


def test_data_of_any_length_go_and_come(executor: tt.Executor) -> None:
    for length in (1, 16_000, 17_000, 5_000_000):
        data = os.urandom(length)
        assert executor.submit(bytes, data).result() == data


def test_what_cannot_be_pickled_is_refused_at_once(executor: tt.Executor) -> None:
    with pytest.raises(pickle.PicklingError, match=r"argument 1 of .*:pow \(a lock\) cannot"):
        executor.submit(pow, threading.Lock())
    with pytest.raises(pickle.PicklingError, match=r"argument 1 of .*:sum \(a generator\) cannot"):
        executor.submit(sum, (number for number in range(3)))
    with pytest.raises(TypeError):
        executor.submit(raise_value_error, 1, 2).result()


def test_a_call_that_is_too_large_is_refused_with_what_to_do(executor: tt.Executor) -> None:
    with pytest.raises(ValueError, match=r"at most 67108864 bytes .*`tidings\.tasks\.put`"):
        executor.submit(len, bytes(64 << 20))
    assert executor.submit(len, bytes(1 << 20)).result() == 1 << 20


def generated(count: int) -> Iterator[int]:
    yield from range(count)


def test_a_result_that_cannot_be_pickled_is_an_error(executor: tt.Executor) -> None:
    with pytest.raises(TypeError, match=r"^the result \(a lock\) cannot be pickled: cannot pickle"):
        executor.submit(threading.Lock).result()
    with pytest.raises(TypeError, match=r"^the result \(a generator\) cannot be pickled"):
        executor.submit(generated, 3).result()


class HoldingError(Exception):
    """An exception that cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("it holds a lock")
        self.lock = threading.Lock()


class PickyError(Exception):
    """An exception that is made of other arguments than it has."""

    def __init__(self, left: int, right: int) -> None:
        super().__init__(f"{left} is not {right}")


def raised(kind: type[Exception], *arguments: int) -> None:
    raise kind(*arguments)


def test_exceptions_that_cannot_be_passed_on_are_told(executor: tt.Executor) -> None:
    for arguments, text in (
        ((HoldingError,), "HoldingError: it holds a lock"),
        ((PickyError, 1, 2), "1 is not 2"),
    ):
        with pytest.raises(tt.RemoteError, match=text) as told:
            executor.submit(raised, *arguments).result()
        assert told.value.cause == "error"
        assert isinstance(told.value.__cause__, tt.RemoteTraceback)


def fallen(depth: int) -> int:
    return fallen(depth + 1)


def test_recursion_without_end_is_an_error(executor: tt.Executor) -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(RecursionError):
        executor.submit(fallen, 0).result()
    with pytest.raises(pickle.PicklingError, match=r"argument 1 of .*:len"):
        executor.submit(len, nested)
    assert executor.submit(abs, -1).result() == 1


def test_a_loop_that_was_closed_is_told_nothing(
    executor: tt.Executor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(tmp_path)
    futures = [executor.submit(passed, gate.path) for _ in range(3)]

    async def begin() -> None:
        first = tt.as_completed(futures).__aiter__().__anext__()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(first, 0.01)

    asyncio.run(begin())
    gate.open()
    assert [one.result() for one in futures] == ["passed"] * 3
    assert not caplog.records


def test_calls_come_from_several_threads(executor: tt.Executor) -> None:
    def submit(number: int) -> list[int]:
        futures = [executor.submit(pow, number, power) for power in range(30)]
        return [future.result() for future in futures]

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        results = list(threads.map(submit, range(16)))
    assert results == [[number**power for power in range(30)] for number in range(16)]


def test_another_detector_is_chosen_or_refused() -> None:
    with tt.Executor(workers=1, detector="phi:4:50") as executor:
        assert executor.submit(abs, -3).result() == 3
    with pytest.raises(tt.StoreError, match="`psi` is no detector"):
        tt.Executor(workers=1, detector="psi")


def test_map_is_that_of_the_standard_library(executor: tt.Executor) -> None:
    numbers = list(range(100))
    squares = [number * number for number in numbers]
    assert list(executor.map(pow, numbers, [2] * 100)) == squares
    assert list(executor.map(pow, numbers, [2] * 100, chunksize=7)) == squares
    assert list(executor.map(pow, numbers, [2] * 100, buffersize=3, chunksize=2)) == squares
    results = executor.map(divmod, [4, 4], [2, 0])
    assert next(results) == (2, 0)
    with pytest.raises(ZeroDivisionError):
        next(results)
    with pytest.raises(ValueError, match="chunksize"):
        executor.map(pow, [1], [1], chunksize=0)


def test_map_stops_waiting(executor: tt.Executor, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    results = executor.map(passed, [gate.path], timeout=0.1)
    with pytest.raises(concurrent.futures.TimeoutError):
        next(results)
    gate.open()


def test_the_functions_of_concurrent_futures_take_our_futures(executor: tt.Executor) -> None:
    futures: dict[concurrent.futures.Future[int], int]
    futures = {executor.submit(pow, 2, n): n for n in range(20)}
    for future in concurrent.futures.as_completed(futures):
        assert future.result() == 2 ** futures[future]
    done, pending = concurrent.futures.wait(futures)
    assert (len(done), len(pending)) == (20, 0)
    assert set(tt.as_completed(futures)) == set(futures)


def test_futures_as_arguments_make_a_graph(executor: tt.Executor) -> None:
    parts = [executor.submit(pow, 2, n) for n in range(5)]
    pair = executor.submit(max, parts[3], parts[4])
    assert tt.gather(executor.submit(divmod, pair, parts[1])) == (8, 0)
    assert tt.gather(parts, {"pair": pair}) == [[1, 2, 4, 8, 16], {"pair": 16}]
    failed = executor.submit(raise_value_error)
    with pytest.raises(ValueError, match="wrong"):
        executor.submit(pow, failed, 2).result()


def test_futures_are_awaited(executor: tt.Executor) -> None:
    async def results() -> list[int]:
        first = await executor.submit(pow, 2, 3)
        several = await asyncio.gather(*(executor.submit(pow, n, 2) for n in range(3)))
        futures = [executor.submit(abs, -n) for n in range(3)]
        ended = [await future async for future in tt.as_completed(futures)]
        return [first, *several, *sorted(ended)]

    assert asyncio.run(results()) == [8, 0, 1, 4, 0, 1, 2]


def test_a_task_that_runs_is_cancelled(executor: tt.Executor, tmp_path: Path) -> None:
    """It is told to stop, and its process does the next one."""
    begun, seen = programs.pipe(tmp_path / "begun"), programs.pipe(tmp_path / "seen")
    future = executor.submit(until_cancelled, begun, seen)
    assert begun.read_text() == "begun"
    assert future.running()
    assert future.cancel()
    assert future.cancel()
    assert future.cancelled()
    assert not future.running()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    assert seen.read_text() == "seen"
    assert executor.submit(pow, 2, 2).result() == 4


def test_a_task_that_waits_is_cancelled(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    with tt.Executor(workers=1) as executor:
        first = executor.submit(passed, gate.path)
        second = executor.submit(passed, gate.path)
        after = executor.submit(pow, second, 2)
        assert second.cancel()
        assert after.cancelled() or after.cancel()
        gate.open()
        assert first.result() == "passed"
        assert not first.cancel()


def test_a_process_that_dies_costs_a_repetition(executor: tt.Executor, tmp_path: Path) -> None:
    assert executor.submit(killed_once, tmp_path / "killed").result() == "attempt 2"
    with pytest.raises(tt.RemoteError) as raised:
        executor.submit(os._exit, 7).result()
    assert raised.value.cause == "exit"


def test_each_process_is_set_up() -> None:
    with tt.Executor(workers=2, initializer=os.putenv, initargs=("SET_UP", "yes")) as executor:
        script = "import os, sys; sys.exit(os.environ.get('SET_UP') != 'yes')"
        codes = executor.map(subprocess.call, [[sys.executable, "-c", script]] * 4)
        assert list(codes) == [0] * 4


def test_processes_that_cannot_be_set_up_break_the_executor() -> None:
    executor = tt.Executor(workers=1, initializer=raise_value_error)
    first = executor.submit(pow, 1, 1)
    with pytest.raises(concurrent.futures.BrokenExecutor, match=r"wrong.*in the initializer"):
        first.result()
    executor.shutdown()
    with pytest.raises(concurrent.futures.BrokenExecutor):
        executor.submit(pow, 1, 1)


def test_submit_waits_while_as_many_calls_are_pending_as_may_be(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    with tt.Executor(workers=1, pending=3) as executor:
        collector = executor._collector
        submitted: list[concurrent.futures.Future[str]] = []

        def submit() -> None:
            submitted.extend(executor.submit(passed, gate.path) for _ in range(10))

        thread = threading.Thread(target=submit)
        thread.start()
        while not collector._waiting:
            thread.join(0.001)
        assert len(collector._pending) == 3
        # Who is called by what settles futures does not wait: nobody would settle more.
        more: concurrent.futures.Future[str] = concurrent.futures.Future()

        def chain(_: object) -> None:
            one = executor.submit(passed, gate.path)
            one.add_done_callback(lambda ended: more.set_result(ended.result()))

        next(iter(collector._pending.values())).add_done_callback(chain)
        gate.open()
        thread.join()
        assert {one.result() for one in submitted} == {"passed"}
        assert more.result() == "passed"


def test_who_waits_to_submit_is_told_of_the_shutdown(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    executor = tt.Executor(workers=1, pending=1)
    executor.submit(passed, gate.path)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(executor.submit, passed, gate.path)
        while not executor._collector._waiting:
            concurrent.futures.wait([waiting], 0.001)
        executor.shutdown(wait=False)
        with pytest.raises(RuntimeError, match="after shutdown"):
            waiting.result()
    gate.open()
    executor.shutdown()


def test_shutdown_waits_or_cancels(tmp_path: Path) -> None:
    gate, begun = Gate(tmp_path), programs.pipe(tmp_path / "begun")
    executor = tt.Executor(workers=1)
    first = executor.submit(passed_after, begun, gate.path)
    others = [executor.submit(passed, gate.path) for _ in range(20)]
    assert begun.read_text() == "begun"
    assert first.running()
    executor.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in others)
    gate.open()
    executor.shutdown()
    assert first.result() == "passed"
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(pow, 1, 1)
    executor.shutdown()


def test_an_executor_that_nobody_holds_does_what_it_has_and_ends(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    executor = tt.Executor(workers=1)
    thread = executor._collector._thread
    future = executor.submit(passed, gate.path)
    del executor
    gc.collect()
    assert thread.is_alive()
    gate.open()
    assert future.result() == "passed"
    thread.join()


def test_the_interpreter_ends_after_its_tasks(tmp_path: Path) -> None:
    program = (
        "import pathlib, tidings.tasks as tt\n"
        f"tt.Executor(workers=1).submit(pathlib.Path({str(tmp_path / 'done')!r}).touch)\n"
    )
    subprocess.run([sys.executable, "-c", program], env=environment(), check=True)
    assert (tmp_path / "done").exists()


def test_an_executor_does_not_outlive_a_fork() -> None:
    program = (
        "import os, tidings.tasks as tt\n"
        "executor = tt.Executor(workers=1)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        executor.submit(pow, 1, 1)\n"
        "    except RuntimeError as error:\n"
        "        os._exit('fork' not in str(error))\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert executor.submit(pow, 2, 1).result() == 2\n"
        "child = None\n"
        "with executor:\n"
        "    child = os.fork()\n"
        "if child:\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], env=environment(), check=True)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def test_a_queue_of_the_usual_store_is_joined_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDINGS_STORE", f"file:{tmp_path}/usual")
    serving = tt.Executor("usual", workers=1, queue="physics")
    with serving, tt.Executor("queue://physics") as joined:
        assert (joined.store, joined.queue, joined.workers) == (serving.store, "physics", 0)
        assert joined.submit(os.getppid).result() == os.getpid()


def test_mistakes_are_told_at_once(tmp_path: Path) -> None:
    for store, queue in (("queue://", None), ("queue://a", "b")):
        with pytest.raises(ValueError, match="names the queue: write queue://NAME"):
            tt.Executor(store, queue=queue)
    with pytest.raises(tt.StoreError, match="is no store"):
        tt.Executor("tasks")
    with pytest.raises(tt.StoreError, match=str(tmp_path)):
        tt.Executor(f"file:{tmp_path}/none/store", workers=1)
    for store in ("tcp://127.0.0.1:1", "etcd://127.0.0.1:1/tasks"):
        with pytest.raises(tt.StoreError, match=f"{store} is a store of several hosts"):
            tt.Executor(store, workers=1)
    (tmp_path / "store").touch(mode=0o666)
    (tmp_path / "store").chmod(0o666)
    with pytest.raises(tt.StoreError, match="others can write it"):
        tt.Executor(f"file:{tmp_path}/store", workers=1)
    with pytest.raises(ValueError, match="no other workers"):
        tt.Executor(workers=0)
    with pytest.raises(ValueError, match="or more"):
        tt.Executor(workers=-1)
    with pytest.raises(TypeError, match="for so many workers write workers="):
        tt.Executor(4)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="callable"):
        tt.Executor(workers=1, initializer=3)  # type: ignore[arg-type]
