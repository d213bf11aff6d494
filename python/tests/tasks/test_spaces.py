"""Spaces of tuples, between threads, tasks and processes that die."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings.tasks as tt
from tests.tasks import programs

HOLDER = """
import sys
import tidings.tasks as tt

pulled = tt.Space("work", store="file:store").pull("block", int)
print("holds", pulled[1], flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def executor() -> Iterator[tt.Executor]:
    """Make an executor whose store is in memory, the current one."""
    with tt.Executor(workers=1) as executor:
        yield executor


def test_fields_come_back_as_they_were_put(executor: tt.Executor) -> None:
    space = tt.Space("s")
    fields = ("block", 3, -0.5, b"\x00\xff", True)
    space.put(*fields)
    assert space.read(str, int, float, bytes, bool) == fields
    assert [type(one) for one in space.take(tt.ANY, 3, tt.ANY, tt.ANY, True)] == [
        str,
        int,
        float,
        bytes,
        bool,
    ]
    assert space.try_read(*[tt.ANY] * 5) is None


def test_types_are_compared(executor: tt.Executor) -> None:
    space = tt.Space("s")
    space.put(1)
    assert space.try_read(True) is None
    assert space.try_read(1.0) is None
    assert space.try_read(int) == (1,)


def test_a_wait_ends_when_a_tuple_comes_or_the_time_is_over(executor: tt.Executor) -> None:
    space = tt.Space("s")
    with pytest.raises(TimeoutError, match="no tuple that matches came to s"):
        space.read("block", int, timeout=0.01)
    found = []
    waits = threading.Thread(target=lambda: found.append(space.take("block", int)))
    waits.start()
    space.put("block", 1)
    waits.join()
    assert found == [("block", 1)]


def test_what_was_pulled_is_consumed_or_there_again(executor: tt.Executor) -> None:
    space = tt.Space("s")
    space.put("block", 1)
    with pytest.raises(KeyError), space.pull("block", int):
        assert list(space) == []
        raise KeyError
    pulled = space.pull("block", int)
    pulled.give_back()
    pulled.give_back()
    pulled = space.pull("block", int)
    del pulled
    gc.collect()
    with space.pull("block", int) as (name, number):
        assert (name, number) == ("block", 1)
    assert list(space) == []


def test_a_statement_is_all_or_nothing(executor: tt.Executor) -> None:
    space = tt.Space("s")
    space.put("left", 1)
    takes, puts = [("left", int), ("right", int)], [("both", tt.Found(1, 1))]
    with pytest.raises(TimeoutError, match="not all of it was in s"):
        space.execute(takes=takes, puts=puts, timeout=0)
    space.put("right", 2)
    held = space.pull("left", int)
    space.put("left", 3)
    assert space.execute(takes=takes, puts=puts, consumes=[held]) == [("left", 3), ("right", 2)]
    assert list(space) == [("both", 2)]
    with pytest.raises(tt.LostError):
        held.consume()


def test_what_no_tuple_can_be_is_refused(executor: tt.Executor) -> None:
    space = tt.Space("s")
    with pytest.raises(TypeError, match="not list: pickle it"):
        space.put([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no field is a list"):
        space.read(list)
    with pytest.raises(ValueError, match="no integer of 64 bits"):
        space.put(1 << 64)
    with pytest.raises(ValueError, match="1 to 16 fields, this has 17"):
        space.read(*[tt.ANY] * 17)
    with pytest.raises(ValueError, match="at most 16384"):
        space.put(b"x" * 16_385)


def test_the_example_finds_all_primes_though_a_worker_is_killed(tmp_path: Path) -> None:
    example = Path(__file__).parents[3] / "examples" / "tuples.py"
    ended = subprocess.run(
        [sys.executable, example, f"file:{tmp_path / 'store'}"],
        env=programs.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "a worker was killed\n2262 primes below 20000\n"


def pull_and(store: str, fails: bool) -> int:
    """Pull a tuple in a task, and fail or not."""
    pulled = tt.Space("work", store=store).pull("block", int)
    if fails:
        raise ValueError("it fails")
    number = pulled[1]
    assert isinstance(number, int)
    return number


def test_what_a_task_has_pulled_ends_with_it(tmp_path: Path) -> None:
    store = f"file:{tmp_path / 'store'}"
    with tt.Executor(store, workers=1) as executor:
        space = tt.Space("work", executor=executor)
        space.put("block", 7)
        with pytest.raises(ValueError, match="it fails"):
            executor.submit(pull_and, store, True).result()
        assert list(space) == [("block", 7)]
        assert executor.submit(pull_and, store, False).result() == 7
        assert list(space) == []
        assert space.try_pull("block", int) is None


@tt.task(retries=3)
def count_on(store: str, failing: str, fails: int) -> None:
    """Count a tuple on, in place; the first tries fail after they have said what they put."""
    version = tt.Space("work", store=store).pull("cell", int)[1]
    assert isinstance(version, int)
    with tt.effect() as e:
        e.space("work").put("cell", version + 1)
    tries = Path(failing)
    done = len(tries.read_text()) if tries.exists() else 0
    tries.write_text("x" * (done + 1))
    if done == 0 and fails:
        os.kill(os.getpid(), signal.SIGKILL)
    if done < fails:
        raise ValueError("it fails")


def test_a_task_alters_a_tuple_in_place_once_however_often_it_is_tried(tmp_path: Path) -> None:
    store = f"file:{tmp_path / 'store'}"
    with tt.Executor(store, workers=2) as executor:
        space = tt.Space("work", executor=executor)
        space.put("cell", 0)
        futures = [
            executor.submit(count_on, store, str(tmp_path / f"tries{at}"), at % 3)
            for at in range(6)
        ]
        for future in futures:
            future.result()
        assert list(space) == [("cell", 6)]


def test_what_a_job_puts_comes_with_its_completion(executor: tt.Executor) -> None:
    space, jobs = tt.Space("s"), tt.Queue("jobs")
    jobs.put(1)
    with contextlib.suppress(RuntimeError), jobs.claim() as job:
        with job.effect() as e:
            e.space("s").put("none")
        raise RuntimeError("it fails")
    jobs.put(2)
    with jobs.claim() as job:
        with job.effect() as e:
            e.space("s").put("made of", job.data)
        assert list(space) == []
    assert list(space) == [("made of", 2)]


def test_what_a_task_cannot_put_is_refused(executor: tt.Executor) -> None:
    jobs = tt.Queue("jobs")
    jobs.put(1, retries=9)
    job = jobs.claim()
    with pytest.raises(ValueError, match="at most 16 tuples, not 17"), job.effect() as e:
        for at in range(17):
            e.space("s").put(at)
    with job.effect() as e:
        e.space("s").put([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not list: pickle it"):
        job.complete()
    assert list(tt.Space("s")) == []


def test_the_tuple_of_a_killed_process_is_there_again(tmp_path: Path) -> None:
    space = tt.Space("work", store=f"file:{tmp_path / 'store'}")
    space.put("block", 1)
    holder = programs.start(HOLDER, tmp_path)
    assert programs.heard(holder) == "holds 1"
    assert space.try_read("block", int) is None
    programs.kill(holder)
    assert space.take("block", int) == ("block", 1)
