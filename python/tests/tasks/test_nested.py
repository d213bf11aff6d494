"""Tasks that submit tasks, also where all slots have tasks that wait."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings.tasks as tt

from . import programs

# The longest wait for what does not happen at all if it is wrong, in seconds.
WAIT = 120


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[tt.Executor]:
    """Make an executor with one slot."""
    with tt.Executor(f"file:{tmp_path / 'store'}", workers=1) as executor:
        yield executor


def fibonacci(number: int) -> int:
    if number < 2:
        return number
    executor = tt.current_executor()
    parts = [executor.submit(fibonacci, number - before) for before in (1, 2)]
    return sum(part.result() for part in parts)


def test_tasks_that_wait_for_tasks_end_with_one_slot(alone: tt.Executor) -> None:
    assert alone.submit(fibonacci, 7).result(WAIT) == 13


@tt.task
def negative(number: int) -> int:
    """Call it with a number."""
    return -number


def in_all_ways() -> list[object]:
    executor = tt.current_executor()
    first = negative.submit(1)
    sums = executor.submit(operator.add, first, negative.submit(2))
    ended = tt.as_completed([executor.submit(abs, number) for number in (-1, -2)], timeout=WAIT)
    failed = executor.submit(operator.truediv, 1, 0).exception()
    return [
        tt.gather([sums, first]),
        list(executor.map(abs, (-5, 6))),
        sorted(one.result() for one in ended),
        type(failed).__name__,
        list(negative.map((3, 4))),
    ]


def test_what_is_waited_for_is_done(alone: tt.Executor) -> None:
    expected = [[-3, -1], [5, 6], [1, 2], "ZeroDivisionError", [-3, -4]]
    assert alone.submit(in_all_ways).result(WAIT) == expected


def meet(path: Path) -> int:
    path.write_text("here")
    return os.getpid()


def with_another(path: Path) -> tuple[int, int]:
    future = tt.current_executor().submit(meet, path)
    # Nobody else opens it: this waits until another slot does the call.
    assert path.read_text() == "here"
    return os.getpid(), future.result()


def test_calls_go_to_slots_that_are_free(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with tt.Executor(f"file:{tmp_path / 'store'}", workers=2) as executor:
        own, other = executor.submit(with_another, tmp_path / "pipe").result(WAIT)
    assert own != other


def put() -> int:
    tt.Queue("next").put({"n": 1})
    return len(tt.Queue("next"))


def test_queues_are_those_of_the_store_of_the_task(alone: tt.Executor) -> None:
    assert alone.submit(put).result(WAIT) == 1
    with tt.Queue("next", executor=alone).claim(timeout=WAIT) as job:
        assert job.data == {"n": 1}


def test_a_store_in_memory_is_out_of_reach() -> None:
    expected = pytest.raises(tt.StoreError, match="use an executor with file:PATH")
    with tt.Executor(workers=1) as executor, expected:
        executor.submit(fibonacci, 3).result(WAIT)


# What is submitted, and stored, by a task; its process may be killed when the worker ends.
PROGRAM = """
import tidings.tasks as tt

def submitting(number):
    tt.Store()["number"] = number
    return tt.current_executor().submit(abs, -number).result()

if __name__ == "__main__":
    with tt.Executor("file:store", workers=1) as executor:
        print(executor.submit(submitting, 3).result())
"""


def test_the_process_of_a_task_leaves_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    environment = programs.environment(TMPDIR=str(folder))
    command = [sys.executable, "-c", PROGRAM]
    said = subprocess.check_output(command, cwd=tmp_path, env=environment, timeout=WAIT)
    assert said == b"3\n"
    assert list(folder.iterdir()) == []
