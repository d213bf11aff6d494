"""Calls that no worker fits are told of, and wait until one comes."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import tidings.tasks as tt
from tidings.tasks import meter, unfit

from . import programs

# The longest wait for what does not happen at all if it is wrong, in seconds.
WAIT = 120


@tt.task(where="load1 < 2")
def somewhere(number: int) -> int:
    return number


@tt.task(need={"gpu": 2}, queue="large")
def large(number: int) -> int:
    return number


def test_the_reason_names_what_is_missing_and_the_most_that_there_is() -> None:
    lacks = (2, [("cpus", 8_000, 4_000), ("mem", 8 << 30, 3 << 29)], False, True)
    assert unfit.reason("python", "", lacks) == (
        "none of 2 workers of queue python has cpus=8 (the most is 4) and mem=8GiB (the most is "
        "1.5GiB)"
    )
    command = "tidings worker --store file:x --queue python --python python3"
    assert unfit.remedy("file:x", "python", lacks) == f": start `{command}` on a larger host"
    lacks = (1, [("gpu", 500, 0)], False, True)
    assert unfit.reason("q", "", lacks) == "the only worker has not gpu=0.5 (the most is 0)"
    assert "--python python3 --resource gpu=0.5`" in unfit.remedy("file:x", "q", lacks)
    assert unfit.reason("q", "", (3, [], False, True)).endswith("has all that they need at once")
    lacks = (3, [("python", 1_000, 0)], False, True)
    assert unfit.reason("q", "", lacks) == "none of 3 workers of queue q calls functions of Python"
    assert unfit.reason("q", "", None) == "no worker takes calls of queue q"
    full = [("n1", "no space for a blob in /b: make space there (at least 1048576 bytes)")]
    why = unfit.reason("q", "", (0, [], False, True), full)
    assert why.startswith("the workers that could take them wait for space; on n1: no space for a")
    assert unfit.remedy("file:x", "q", None, full) == ""
    reason = unfit.reason("q", "load1 < 2", (1, [], True, False))
    assert reason.startswith("the only worker is not on a node where load1 < 2: no agent runs")
    assert "start `tidings agent`" in unfit.remedy("memory:", "q", (1, [], True, False))
    assert "on such a node" in unfit.remedy("tcp://h:1", "q", (1, [], True, True))
    assert "a store that others share" in unfit.remedy("memory:", "q", (1, [], True, True))


def until(is_so: Callable[[], bool], executor: tt.Executor) -> None:
    """Wait until something is so, by the time that calls take."""
    while not is_so():
        executor.submit(abs, -1).result(WAIT)


def test_calls_for_nodes_that_nobody_knows_are_told_of_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDINGS_RUNTIME_DIR", str(tmp_path))
    with warnings.catch_warnings(record=True) as told, tt.Executor(workers=1) as executor:
        warnings.simplefilter("always")
        futures = [executor.submit(somewhere, number) for number in range(20)]
        until(lambda: bool(told), executor)
        assert (
            "some wait: the only worker is not on a node where load1 < 2"
            in meter.of(futures, progress=True).line()
        )
        for future in futures:
            assert future.cancel()
        until(lambda: unfit.note() == "", executor)
    assert [one.category for one in told] == [tt.UnfitWarning]
    assert "no agent runs" in str(told[0].message)


def test_a_warning_that_is_an_error_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDINGS_RUNTIME_DIR", str(tmp_path))
    with warnings.catch_warnings(), tt.Executor(workers=1) as executor:
        warnings.simplefilter("error")
        waiting = executor.submit(somewhere, 1)
        until(lambda: unfit.note() != "", executor)
        assert executor.submit(abs, -2).result(WAIT) == 2
        assert waiting.cancel()


@tt.task(queue="large")
def any_of(number: int) -> int:
    return number


class Worker:
    """A worker for the large calls of a store."""

    def __init__(self, store: str, *more: str) -> None:
        command: list[str | Path] = [programs.tidings(), "worker", "--store", store]
        self._process = subprocess.Popen(
            [*command, "--queue", "large", "--python", sys.executable, *more],
            env=programs.environment(),
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> None:
        """Have it running."""

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


def test_it_is_over_when_such_a_worker_comes(tmp_path: Path) -> None:
    store = f"file:{tmp_path / 'store'}"
    with warnings.catch_warnings(record=True) as told, tt.Executor(store, workers=1) as executor:
        warnings.simplefilter("always")
        waiting = executor.submit(any_of, 7)
        until(lambda: bool(told), executor)
        assert "no worker takes calls of queue large: start `tidings worker" in str(told[0].message)
        with Worker(store):
            assert waiting.result(WAIT) == 7
            until(lambda: unfit.note() == "", executor)
            waiting = executor.submit(large, 8)
            until(lambda: len(told) > 1, executor)
            lacks = (
                "calls wait, since the only worker has not gpu=2 (the most is 0): start `tidings"
            )
            assert str(told[1].message).startswith(lacks)
            with Worker(store, "--resource", "gpu=2"):
                assert waiting.result(WAIT) == 8
                until(lambda: unfit.note() == "", executor)
    assert len(told) == 2
