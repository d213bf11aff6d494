"""Results that stay where they are until somebody asks for them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidings.tasks as tt
from tidings.tasks.left import Left

from . import programs

# Longer than what a record has.
LONG = 100_000

# The longest wait for what does not happen at all if it is wrong, in seconds.
WAIT = 120


class Counting:
    """A native client of which the fetches are counted."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.fetched: list[bytes] = []

    def fetch(self, task: bytes) -> None:
        self.fetched.append(task)
        self.client.fetch(task)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


@pytest.fixture
def executor() -> Iterator[tt.Executor]:
    with tt.Executor(workers=2) as executor:
        yield counted(executor)


def counted(executor: tt.Executor) -> tt.Executor:
    collector: Any = executor._collector
    collector._client = Counting(collector._client)
    return executor


def fetched(executor: tt.Executor) -> list[bytes]:
    client: Any = executor._collector._client
    fetched: list[bytes] = client.fetched
    return fetched


def made(number: int, *_: bytes) -> bytes:
    return bytes([number % 256]) * LONG


def raising(_: bytes) -> None:
    raise ValueError("no such row")


def until_all_are_let_go(executor: tt.Executor) -> None:
    """Wait until the records of results that nobody can ask for are released."""
    while executor._collector._left:
        executor.submit(abs, -1).result(WAIT)


def test_what_nobody_asks_for_is_not_brought(executor: tt.Executor) -> None:
    futures = [executor.submit(made, number) for number in range(20)]
    done, _ = concurrent.futures.wait(futures, WAIT)
    assert done == set(futures)
    assert set(tt.as_completed(futures)) == set(futures)
    assert all(one.done() and one.exception() is None for one in futures)
    assert set(tt.as_completed(futures, progress=True)) == set(futures)
    assert fetched(executor) == []
    assert futures[3].result(WAIT) == made(3)
    assert futures[3].result() is futures[3].result()
    assert repr(futures[3]).endswith("state=finished, its result is here>")
    assert repr(futures[4]).endswith("state=finished, its result was not fetched>")
    assert fetched(executor) == [futures[3]._task]
    assert not any(isinstance(one._result, bytes) for one in futures)


def test_who_reads_as_they_end_has_the_next_ones_brought(executor: tt.Executor) -> None:
    """Each was brought when it was asked for, and waited for in turn."""
    futures = [executor.submit(made, number) for number in range(20)]
    concurrent.futures.wait(futures, WAIT)
    for read, future in enumerate(tt.as_completed(futures, WAIT)):
        # The first one shows that they are read; from then on as many are on their way.
        expected = 0 if read == 0 else min(read + 8, len(futures))
        assert len(fetched(executor)) == expected
        assert future.result(WAIT) == made(futures.index(future))
    assert sorted(fetched(executor)) == sorted(one._task for one in futures)


def test_who_stops_reading_has_no_more_brought(executor: tt.Executor) -> None:
    futures = [executor.submit(made, number) for number in range(20)]
    concurrent.futures.wait(futures, WAIT)
    for number, future in enumerate(tt.as_completed(futures)):
        if number == 0:
            future.result(WAIT)
    assert len(fetched(executor)) == 1 + 8


@pytest.mark.parametrize("how", ["gather", "map"])
def test_who_reads_in_order_has_the_next_ones_brought(
    how: str, executor: tt.Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When one is waited for, the next eight are on their way."""
    numbers = range(20)
    read, found = Left.result, []

    def counted_result(left: Left, timeout: float | None = None) -> Any:
        found.append(len(fetched(executor)))
        return read(left, timeout)

    monkeypatch.setattr(Left, "result", counted_result)
    results: Any
    if how == "gather":
        futures = [executor.submit(made, number) for number in numbers]
        concurrent.futures.wait(futures, WAIT)
        results = tt.gather(futures)
    else:
        results = executor.map(made, numbers)
        pending = list(executor._collector._pending.values())
        concurrent.futures.wait(pending, WAIT)
    assert list(results) == [made(number) for number in numbers]
    # The first one itself was not brought before.
    expected = [8, *(min(number + 9, 20) for number in numbers[1:])]
    assert found[:: len(found) // 20] == expected


def test_as_completed_takes_its_time_and_no_more(executor: tt.Executor) -> None:
    never: concurrent.futures.Future[int] = concurrent.futures.Future()
    ended = executor.submit(abs, -1)
    concurrent.futures.wait([ended], WAIT)
    found = iter(tt.as_completed([never, ended], 0.01))
    assert next(found) is ended
    with pytest.raises(concurrent.futures.TimeoutError, match="1 futures have not ended"):
        next(found)
    never.cancel()
    assert set(tt.as_completed([never, ended])) == {never, ended}


def test_short_results_come_with_the_news(executor: tt.Executor) -> None:
    future = executor.submit(bytes, 1_000)
    assert future.result(WAIT) == bytes(1_000)
    assert future.is_here
    assert fetched(executor) == []


def test_results_go_from_call_to_call_without_the_program(executor: tt.Executor) -> None:
    last = executor.submit(made, 0)
    for number in range(1, 6):
        last = executor.submit(made, number, last)
    concurrent.futures.wait([last], WAIT)
    # These have ended, and are inputs all the same.
    behind = executor.submit(len, last)
    again = [executor.submit(made, 7, last), executor.submit(made, 8, last)]
    assert behind.result(WAIT) == LONG
    assert str(executor.submit(raising, last).exception(WAIT)) == "no such row"
    assert fetched(executor) == []
    assert [one.result(WAIT)[0] for one in again] == [7, 8]
    # What is here goes with the call.
    assert executor.submit(len, again[0]).result(WAIT) == LONG


def in_a_task(length: int) -> tuple[int, list[int]]:
    executor = tt.current_executor()
    first = executor.submit(bytes, length)
    others = [executor.submit(bytes, length) for _ in range(3)]
    return executor.submit(len, first).result(), [len(one.result()) for one in others]


@tt.task(delay=0.01)
def delayed(data: bytes) -> int:
    return len(data)


def test_what_cannot_be_referred_to_is_brought(tmp_path: Path) -> None:
    with tt.Executor(f"file:{tmp_path / 'store'}", workers=1) as executor:
        assert executor.submit(in_a_task, LONG).result(WAIT) == (LONG, [LONG] * 3)
        first = executor.submit(made, 1)
        concurrent.futures.wait([first], WAIT)
        # A record has inputs or a delay.
        assert executor.submit(delayed, first).result(WAIT) == LONG
        with tt.Executor(workers=1) as other:
            assert other.submit(len, executor.submit(made, 2)).result(WAIT) == LONG
        # More than a record can name.
        many = [executor.submit(bytes, 20_000) for _ in range(260)]
        assert executor.submit(len, many).result(WAIT) == 260


def test_what_nobody_holds_is_let_go(executor: tt.Executor) -> None:
    futures = [executor.submit(made, number) for number in range(10)]
    tasks = [one._task for one in futures]
    concurrent.futures.wait(futures, WAIT)
    assert executor._collector.hold(tasks[0])
    executor._collector.let_go(tasks[0])
    gone = weakref.ref(futures[0])
    del futures
    until_all_are_let_go(executor)
    assert gone() is None
    assert fetched(executor) == []
    assert not any(executor._collector.hold(task) for task in tasks), "their records are forgotten"


def test_what_was_brought_is_let_go_too(executor: tt.Executor) -> None:
    future = executor.submit(made, 1)
    assert future.result(WAIT) == made(1)
    until_all_are_let_go(executor)
    assert not executor._collector.hold(future._task)
    assert future.result() == made(1)


def test_threads_that_ask_at_once_have_one_object(executor: tt.Executor) -> None:
    future = executor.submit(made, 1)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda _: future.result(WAIT), range(8)))
    assert all(one is results[0] for one in results)
    assert len(fetched(executor)) == 1


def test_a_callback_has_the_result_here(executor: tt.Executor) -> None:
    """It may be called by the thread that brings results, which must not wait for itself."""
    told: concurrent.futures.Future[bytes] = concurrent.futures.Future()
    other = executor.submit(made, 1)
    concurrent.futures.wait([other], WAIT)

    def tell(future: tt.Future[bytes]) -> None:
        assert future.is_here
        told.set_result(future.result() + other.result())

    executor.submit(made, 2).add_done_callback(tell)
    assert told.result(WAIT) == made(2) + made(1)
    late: concurrent.futures.Future[bytes] = concurrent.futures.Future()
    third = executor.submit(made, 3)
    concurrent.futures.wait([third], WAIT)
    third.add_done_callback(lambda future: late.set_result(future.result()))
    assert late.result(WAIT) == made(3)


def test_coroutines_have_the_result_here(executor: tt.Executor) -> None:
    """What the loop is told is here, so that nothing in it waits for a file or another host."""

    async def awaited() -> list[bytes]:
        loop = asyncio.get_running_loop()
        done = executor.submit(made, 3)
        await loop.run_in_executor(None, concurrent.futures.wait, [done])
        ended = [one async for one in tt.as_completed([executor.submit(made, 4)])]
        assert all(one.is_here for one in ended)
        first = await loop.run_in_executor(executor, made, 1)
        return [first, await executor.submit(made, 2), await done, await ended[0]]

    assert asyncio.run(awaited()) == [made(number) for number in (1, 2, 3, 4)]


def test_results_can_be_had_after_the_shutdown(tmp_path: Path) -> None:
    with tt.Executor(workers=1) as executor:
        futures = [executor.submit(made, number) for number in range(3)]
    collector = executor._collector
    scratch = Path(collector._scratch)
    assert scratch.exists()
    assert futures[0].result(WAIT) == made(0)
    assert futures[1].exception() is None
    assert tt.gather(futures[1:]) == [made(1), made(2)]
    collector._thread.join(WAIT)
    assert not scratch.exists(), "nobody can ask for anything"
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(made, 1)


def test_nothing_of_what_was_not_asked_for_stays_behind(tmp_path: Path) -> None:
    program = (
        "import tidings.tasks as tt\n"
        "with tt.Executor(workers=1) as executor:\n"
        f"    futures = [executor.submit(bytes, {LONG}) for _ in range(3)]\n"
        "other = tt.Executor(workers=1).submit(bytes, 100_000)\n"
    )
    environment = programs.environment(TMPDIR=str(tmp_path))
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_had_now_can_be_asked_for_again(tmp_path: Path) -> None:
    with tt.Executor(f"file:{tmp_path / 'store'}", workers=1) as executor:
        future = executor.submit(made, 1)
        concurrent.futures.wait([future], WAIT)
        blobs = next(path for path in tmp_path.iterdir() if path.is_dir())
        moved = blobs.rename(tmp_path / "away")
        blobs.mkdir()
        with pytest.raises(tt.StoreError):
            future.result(WAIT)
        for path in list(blobs.iterdir()):
            subprocess.run(["rm", "-r", path], check=True)
        blobs.rmdir()
        moved.rename(blobs)
        assert future.result(WAIT) == made(1)


class Stubborn:
    """What cannot be unpickled, and is long."""

    def __init__(self) -> None:
        self.data = bytes(LONG)

    def __setstate__(self, _: object) -> None:
        raise ValueError("not here")


def test_what_cannot_be_unpickled_is_told_where_it_is_asked_for(executor: tt.Executor) -> None:
    future = executor.submit(Stubborn)
    concurrent.futures.wait([future], WAIT)
    with pytest.raises(tt.RemoteError, match="its result cannot be unpickled here: not here"):
        future.result(WAIT)
    assert isinstance(future.exception(), tt.RemoteError)


def test_a_key_is_one_result_for_all(executor: tt.Executor) -> None:
    keyed = tt.task(key=lambda number: f"made/{number}")(made)
    first, second = executor.submit(keyed, 5), executor.submit(keyed, 5)
    assert first.result(WAIT) == second.result(WAIT) == made(5)
    assert executor.submit(keyed, 5).result(WAIT) == made(5)


FORK = """
import concurrent.futures, os
import tidings.tasks as tt

future = tt.Executor(workers=1).submit(bytes, 100_000)
concurrent.futures.wait([future])
child = os.fork()
if child == 0:
    try:
        future.result()
    except RuntimeError as error:
        os._exit("after a fork" not in str(error))
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
assert future.result() == bytes(100_000)
"""


def test_a_fork_is_told() -> None:
    subprocess.run([sys.executable, "-c", FORK], env=programs.environment(), check=True)


# Calls that each return a megabyte, and what the program takes of memory for them.
MEMORY = """
import concurrent.futures, resource, sys
import tidings.tasks as tt

def made(number, *_):
    return bytes([number % 256]) * 1_000_000

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024

if __name__ == "__main__":
    count, is_chain = int(sys.argv[1]), sys.argv[2] == "chain"
    with tt.Executor(workers=2) as executor:
        first = [executor.submit(made, number) for number in range(8)]
        assert [one.result()[0] for one in first] == list(range(8))
        before, futures = peak(), first
        for number in range(count):
            inputs = futures[-1:] if is_chain else []
            futures.append(executor.submit(made, number, *inputs))
        concurrent.futures.wait(futures)
        assert all(one.exception() is None for one in futures)
        print(peak() - before, futures[-1].result()[0])
"""


@pytest.mark.parametrize("how", ["chain", "apart"])
def test_the_memory_of_a_program_is_not_that_of_results_nobody_read(
    tmp_path: Path, how: str
) -> None:
    count = 200
    command = [sys.executable, "-c", MEMORY, str(count), how]
    program = subprocess.run(
        command, env=programs.environment(), check=True, capture_output=True, text=True
    )
    growth, last = map(int, program.stdout.split())
    assert last == count - 1
    assert growth < count * 1_000_000 // 4
