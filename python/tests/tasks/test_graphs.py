"""Graphs: calls that wait for others, whose results go from task to task."""

from __future__ import annotations

import base64
import concurrent.futures
import dataclasses
import fcntl
import functools
import operator
import os
import pickle
import queue
import signal
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidings.tasks as tt
from tidings.tasks import inputs
from tidings.tasks.collector import Collector
from tidings.tasks.seal import Seal

from . import programs

# The longest wait for what does not happen at all if it is wrong, in seconds.
WAIT = 120


@pytest.fixture(scope="module")
def executor() -> Iterator[tt.Executor]:
    with tt.Executor(workers=2) as executor:
        yield executor


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with (tmp_path / "gate").open("w") as held:
        yield Gate(held)


class Gate:
    """What calls wait at until the test opens it: a file that it has locked."""

    def __init__(self, held: Any) -> None:
        self.path = Path(held.name)
        self.held = held
        fcntl.flock(held, fcntl.LOCK_EX)

    def open(self) -> None:
        fcntl.flock(self.held, fcntl.LOCK_UN)


def passed(gate: Path, value: int) -> int:
    with gate.open() as shared:
        fcntl.flock(shared, fcntl.LOCK_SH)
    return value


@dataclasses.dataclass
class Pair:
    """What has futures as attributes."""

    left: Any
    right: Any


def same(value: Any) -> Any:
    return value


def traced(file: Path, *_: Any) -> None:
    """Leave a trace of the call."""
    file.touch()


def failing(*_: Any) -> None:
    raise LookupError("no such row", 3)


def is_one(left: Any, right: list[Any]) -> bool:
    return all(left is one for one in right)


def killed_once(file: Path, value: int) -> int:
    """End the process the first time."""
    if not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def test_futures_stand_for_their_results_wherever_they_are(
    executor: tt.Executor, gate: Gate
) -> None:
    one, two = (executor.submit(passed, gate.path, number) for number in (1, 2))
    nested = {"all": [one, (two, Pair(one, {"deep": [two]}))]}
    whole = executor.submit(same, nested)
    partial = executor.submit(functools.partial(divmod, 7), two)
    gate.open()
    assert whole.result(WAIT) == {"all": [1, (2, Pair(1, {"deep": [2]}))]}
    assert partial.result(WAIT) == (3, 1)


def test_one_future_is_one_object(executor: tt.Executor, gate: Gate) -> None:
    waiting = executor.submit(passed, gate.path, 1)
    value = executor.submit(lambda _: [1], waiting)
    once = executor.submit(is_one, value, [value, value])
    gate.open()
    assert once.result(WAIT)


def test_what_has_ended_goes_with_the_call(executor: tt.Executor) -> None:
    ended = executor.submit(pow, 2, 3)
    assert ended.result(WAIT) == 8
    assert executor.submit(operator.add, ended, 1).result(WAIT) == 9


def test_results_of_any_length_go_from_call_to_call(executor: tt.Executor) -> None:
    for length in (0, 1, 16_000, 17_000, 5_000_000):
        data = os.urandom(length)
        first = executor.submit(bytes, data)
        second = executor.submit(same, [first])
        assert executor.submit(operator.add, second, [first]).result(WAIT) == [data, data]


def test_long_chains_and_wide_joins_end(executor: tt.Executor) -> None:
    total: Any = 0
    for number in range(300):
        total = executor.submit(operator.add, total, number)
    # More than a record can name.
    squares = [executor.submit(pow, number, 2) for number in range(400)]
    joined = executor.submit(sum, squares)
    assert total.result(WAIT) == sum(range(300))
    assert joined.result(WAIT) == sum(number * number for number in range(400))


def test_map_takes_futures(executor: tt.Executor, gate: Gate) -> None:
    waiting = [executor.submit(passed, gate.path, number) for number in range(5)]
    doubled = executor.map(operator.mul, waiting, [2] * 5)
    chunks = executor.map(operator.mul, waiting, [3] * 5, chunksize=2)
    gate.open()
    assert list(doubled) == [0, 2, 4, 6, 8]
    assert list(chunks) == [0, 3, 6, 9, 12]


def test_a_failure_is_passed_down_as_it_was_raised(executor: tt.Executor, tmp_path: Path) -> None:
    failed = executor.submit(failing)
    between = executor.submit(traced, tmp_path / "between", [failed])
    last = executor.submit(traced, tmp_path / "last", between, executor.submit(pow, 2, 2))
    for future in (failed, between, last):
        with pytest.raises(LookupError, match="no such row") as raised:
            future.result(WAIT)
        assert isinstance(raised.value.__cause__, tt.RemoteTraceback)
    after = executor.submit(traced, tmp_path / "after", failed)
    assert isinstance(after.exception(WAIT), LookupError)
    assert not list(tmp_path.iterdir()), "nothing behind it was called"


class Ends:
    """A client that takes what a test says."""

    def __init__(self) -> None:
        self.said: queue.Queue[list[tuple[bytes, str, Any]]] = queue.Queue()

    def take(self) -> list[tuple[bytes, str, Any]]:
        return self.said.get()

    def wake(self) -> None:
        self.said.put([])

    def cancel(self, task: bytes) -> None:
        """Nobody does it."""

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_ends_may_be_known_in_any_order(tmp_path: Path, end: str) -> None:
    ends: Any = Ends()
    collector = Collector(ends, Seal(None), str(tmp_path / "scratch"))
    first, between, last, other = (collector.reserve(bytes([n]) * 16)[0] for n in range(4))
    between.inputs, last.inputs = (first,), (between, other)
    by_input = [(0, "input", "input 00 has failed", "", b"")]
    for future in (last, between):
        ends.said.put([(future._task, "failed", by_input)])
    if end == "failed":
        ends.said.put([(first._task, "failed", [(1, "error", "no such row", "h", b"")])])
        assert str(first.exception(WAIT)).endswith("no such row")
        assert last.exception(WAIT) is between.exception(WAIT) is first.exception(WAIT)
    else:
        assert first.cancel()
        for future in (between, last):
            with pytest.raises(concurrent.futures.CancelledError):
                future.result(WAIT)
    assert other.cancel()
    collector.shut_down(wait=True, cancel=False)


def test_cancellation_of_an_input_is_passed_down(gate: Gate, tmp_path: Path) -> None:
    with tt.Executor(workers=1) as executor:
        first = executor.submit(passed, gate.path, 1)
        second = executor.submit(passed, gate.path, 2)
        behind = executor.submit(traced, tmp_path / "behind", [second])
        last = executor.submit(traced, tmp_path / "last", {"of": behind})
        assert second.cancel()
        for future in (behind, last):
            with pytest.raises(concurrent.futures.CancelledError):
                future.result(WAIT)
            assert future.cancelled()
        after = executor.submit(traced, tmp_path / "after", second)
        assert after.cancelled()
        gate.open()
        assert first.result(WAIT) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["gate"]


def test_a_call_that_waits_is_cancelled(gate: Gate, tmp_path: Path) -> None:
    with tt.Executor(workers=1) as executor:
        first = executor.submit(passed, gate.path, 1)
        behind = executor.submit(traced, tmp_path / "behind", first)
        assert behind.cancel()
        gate.open()
        assert first.result(WAIT) == 1
    assert not (tmp_path / "behind").exists()


def test_futures_of_another_executor_are_waited_for(executor: tt.Executor, gate: Gate) -> None:
    with tt.Executor(workers=1) as other:
        foreign = other.submit(passed, gate.path, 5)
        own = executor.submit(operator.neg, foreign)
        behind = executor.submit(operator.add, [own, foreign], [own])
        gate.open()
        assert behind.result(WAIT) == [-5, 5, -5]
        failed = other.submit(failing)
        assert isinstance(executor.submit(same, [failed]).exception(WAIT), LookupError)


@tt.task(delay=0.01)
def delayed(number: int) -> int:
    """Come a little later."""
    return number + 1


def test_a_delay_begins_when_the_inputs_are_there(executor: tt.Executor, gate: Gate) -> None:
    first = executor.submit(passed, gate.path, 1)
    later = executor.submit(delayed, first)
    gate.open()
    assert later.result(WAIT) == 2


def test_deaths_of_processes_cost_repetitions_only(executor: tt.Executor, tmp_path: Path) -> None:
    level: list[Any] = list(range(1, 9))
    for _ in range(3):
        pairs = [level[place : place + 2] for place in range(0, len(level), 2)]
        level = [executor.submit(operator.add, *pair) for pair in pairs]
        level = [executor.submit(killed_once, tmp_path / one.id, one) for one in level]
    assert level[0].result(WAIT) == 36
    assert len(list(tmp_path.iterdir())) == 7


class Load:
    """An argument of which a test can tell whether it is held."""


def test_a_program_does_not_hold_the_arguments_of_calls(executor: tt.Executor, gate: Gate) -> None:
    first = executor.submit(passed, gate.path, 1)
    loads = [Load() for _ in range(100)]
    watched = [weakref.ref(load) for load in loads]
    futures: list[Any] = [executor.submit(type, load) for load in loads]
    futures += [executor.submit(isinstance, load, (Load, first)) for load in loads]
    del loads
    try:
        assert not any(load() for load in watched)
    finally:
        gate.open()
    for future in futures:
        future.exception(WAIT)


def test_what_was_not_submitted_is_told_to_those_behind(executor: tt.Executor) -> None:
    refused = executor.submit(tt.task(queue="q" * 300)(same), 1)
    behind = executor.submit(same, refused)
    for future in (refused, behind):
        with pytest.raises(tt.StoreError, match="the name of a queue has 1 to 255 bytes"):
            future.result(WAIT)


def test_results_are_sealed_on_their_way(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"{base64.b64encode(os.urandom(32)).decode()}\n")
    with tt.Executor(f"file:{tmp_path / 'store'}", workers=1, keys=keys) as executor:
        for length in (1, 100_000):
            first = executor.submit(bytes, length)
            assert executor.submit(len, first).result(WAIT) == length


PROGRAM = """
import sys
import tidings.tasks as tt

def add(*parts):
    return sum(parts)

executor = tt.Executor(sys.argv[1], workers=0, queue="graph")
leaves = [executor.submit(pow, 2, number) for number in range(4)]
keyed = tt.task(key=lambda *parts: "total", queue="graph")(add)
total = executor.submit(keyed, *leaves)
others = [executor.submit(add, total, number) for number in range(50)]
last = executor.submit(pow, 1, 1)
# It is taken back once all that came before it is submitted.
assert executor._collector.withdraw(last)
print(total.id, flush=True)
sys.stdin.read()
"""


def test_a_graph_outlives_its_program(tmp_path: Path) -> None:
    """It is submitted before any of its inputs is there; others take the result by its key."""
    store = f"file:{tmp_path / 'store'}"
    program = programs.start(PROGRAM, tmp_path, store)
    try:
        task = programs.heard(program)
    finally:
        programs.kill(program)
    with tt.Executor(store, workers=1, queue="graph") as executor:
        total = tt.task(key=lambda: "total", queue="graph")(len)
        again = executor.submit_as(bytes.fromhex(task), total.options, same, None)
        assert again.result(WAIT) == 15


class Holder:
    """Counts what is held."""

    def __init__(self) -> None:
        self.held: list[bytes] = []

    def hold(self, task: bytes) -> bool:
        self.held.append(task)
        return True

    def let_go(self, task: bytes) -> None:
        self.held.remove(task)

    def cancel(self, task: bytes) -> None:
        """Cancel nothing."""

    def is_running(self, task: bytes) -> bool:
        return False


def future_of(holder: Any, number: int) -> tt.Future[Any]:
    return tt.Future(holder, number.to_bytes(16, "big"))


def test_what_is_not_submitted_holds_nothing() -> None:
    holder: Any = Holder()
    one, two = future_of(holder, 1), future_of(holder, 2)
    _, met = inputs.dump_call(holder, same, ([one, {"two": two, "again": one}],), {})
    assert met is not None
    assert list(met.tasks.values()) == [one, two]
    assert len(holder.held) == 2
    met.release()
    assert holder.held == []
    with pytest.raises(pickle.PicklingError, match=r"argument 1 of .*:same .*cannot be pickled"):
        inputs.dump_call(holder, same, ([one, threading.Lock()],), {})
    assert holder.held == []
    two.settle(7)
    body, met = inputs.dump_call(holder, same, (two,), {})
    assert met is not None
    assert (met.futures, holder.held) == ((), [])
    assert body
    with pytest.raises(TypeError, match="in the arguments of a call only"):
        pickle.dumps(one)
