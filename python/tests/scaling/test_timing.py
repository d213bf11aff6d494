"""Timing of calls: batches by the clock's resolution, arguments of `setup`, cold and warm.

The clock is one that the test turns, so that nothing here depends on the machine.
"""

from __future__ import annotations

import os
import time

import pytest

from tidings.scaling.counters import timing
from tidings.scaling.counters.timing import Timing


class Clock:
    """A clock that calls turn on; reading it costs nothing, and its steps are 50 ns."""

    def __init__(self) -> None:
        self.now = 0.0
        self.reads = 0

    def __call__(self) -> float:
        """Read it."""
        self.reads += 1
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for name in ("perf_counter", "process_time", "thread_time"):
        monkeypatch.setattr(time, name, made)
    monkeypatch.setattr(timing, "resolution", lambda _clock: 50e-9)
    return made


def test_fast_calls_are_repeated_until_the_clock_can_tell(clock: Clock) -> None:
    called = []

    def fast(size: float) -> None:
        called.append(size)
        clock.now += 1e-6 if len(called) > 1 else 1e-4

    timer = Timing(fast)
    assert timer.value(8) == pytest.approx(1e-6)
    assert 1000 <= timer.calls[8] <= 2000
    calibrated = timer.calls[8]
    before = len(called)
    timer.value(8)
    assert timer.calls[8] == calibrated, "calibrated once"
    batches = (len(called) - before) / calibrated
    assert batches * calibrated * 1e-6 >= timing._SPREAD_S, "over some milliseconds"
    assert batches <= timing._MOST_BATCHES


def test_a_slow_call_is_made_once_a_repetition(clock: Clock) -> None:
    called = []

    def slow(size: float) -> None:
        called.append(size)
        clock.now += 0.1

    timer = Timing(slow)
    assert timer.value(8) == pytest.approx(0.1)
    before = len(called)
    assert timer.value(8) == pytest.approx(0.1)
    assert len(called) - before == 1


def test_batches_that_agree_while_the_processor_is_slow_are_not_the_least(clock: Clock) -> None:
    """A processor may be slower by a tenth for some milliseconds: three batches agree then."""
    slow_until = 0.0

    def lookup(_size: float) -> None:
        clock.now += 1.1e-6 if clock.now < slow_until else 1e-6

    timer = Timing(lookup)
    timer.value(8)
    slow_until = clock.now + 6e-3
    assert timer.value(8) == pytest.approx(1e-6)


def test_the_least_of_batches_counts_once_another_is_as_short(clock: Clock) -> None:
    """Beside a busy machine three batches may all be disturbed."""
    batches = iter([2e-3, 2e-3, 9e-3, 3e-3, 7e-3, 2e-3, 5e-3, 2.01e-3])

    def disturbed(_size: float) -> None:
        clock.now += next(batches)

    assert Timing(disturbed).value(8) == pytest.approx(2e-3)
    assert list(batches) == []


def test_each_call_has_an_argument_of_its_own(clock: Clock) -> None:
    """A sort in place: the second call with the same list would find it sorted."""
    seen = []

    def sorts(values: list[int]) -> None:
        seen.append(values == sorted(values))
        values.sort()
        clock.now += 1e-5

    timer = Timing(sorts, lambda n: list(range(int(n), 0, -1)))
    timer.value(8)
    assert not any(seen)


def test_a_batch_may_share_its_argument(clock: Clock) -> None:
    made = []

    def look_up(_table: object) -> None:
        clock.now += 1e-7

    def setup(n: float) -> object:
        made.append(n)
        return object()

    timer = Timing(look_up, setup, "batch")
    timer.value(8)
    assert timer.calls[8] >= 10_000
    assert len(made) < 20
    assert timer.remarks("n") == []


def test_short_calls_with_own_arguments_are_told(clock: Clock) -> None:
    timer = Timing(lambda _n: None, lambda n: n)
    timer.value(8)
    assert timer.calls[8] == 256
    (remark,) = timer.remarks("n")
    assert remark.startswith("calls are too short for the clock at n=8: say per=")


def test_cold_is_the_first_call_alone(clock: Clock) -> None:
    called = []

    def cached(size: float) -> None:
        clock.now += 1e-6 if size in called else 1e-3
        called.append(size)

    assert Timing(cached, metric="cold").value(8) == pytest.approx(1e-3)
    assert len(called) == 1
    assert Timing(cached).value(8) == pytest.approx(1e-6)


def test_a_loaded_machine_is_told(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Clock()
    monkeypatch.setattr(time, "thread_time", busy)
    monkeypatch.setattr(os, "getloadavg", lambda: (64.0, 64.0, 64.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def waits(_size: float) -> None:
        clock.now += 2e-3
        busy.now += 1e-3

    timer = Timing(waits)
    timer.value(8)
    assert timer.remarks("n") == ["the machine is loaded: calls waited 50 % of the time"]
    monkeypatch.setattr(os, "getloadavg", lambda: (0.5, 0.5, 0.5))
    assert timer.remarks("n") == []


def test_the_clock_has_a_resolution() -> None:
    assert 0 < timing.resolution(time.perf_counter) < 1e-3


def test_what_a_thread_waits_for_a_processor_is_taken_off(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of 10 ms among others is never undisturbed: none of its batches is."""
    waits = [0.0]
    monkeypatch.setattr(timing, "waited", lambda: waits[0])
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)

    def crowded(_size: float) -> None:
        clock.now += 0.04
        waits[0] += 0.03

    assert Timing(crowded).value(8) == pytest.approx(0.01)
    assert Timing(crowded, metric="cpu").value(8) == pytest.approx(0.04)


def test_waits_are_told_by_the_system() -> None:
    before = timing.waited()
    assert 0.0 <= before <= timing.waited()


def test_a_clock_that_drifts_is_no_growth(clock: Clock) -> None:
    """Sizes have an order of their own in each round, so none is always the last."""

    def slower_and_slower(_size: int) -> None:
        clock.now += 1e-3 * (1 + clock.now)

    def first_and_last(values: list[tuple[int, int, float]]) -> tuple[float, float]:
        times: dict[int, list[float]] = {}
        for size, _, value in values:
            times.setdefault(size, []).append(value)
        assert all(len(at_size) == 20 for at_size in times.values())
        return sum(times[1]), sum(times[8])

    timer = Timing(slower_and_slower)
    one, eight = timing.in_rounds(timer, range(1, 9), 20, first_and_last, lambda _: False)
    assert eight == pytest.approx(one, rel=0.2)


@pytest.mark.parametrize(("opens", "rounds"), [(0, 5), (1, 10), (9, 40)])
def test_what_is_open_is_timed_again(clock: Clock, opens: int, rounds: int) -> None:
    """Up to eight times as often."""
    judged = []

    def call(_size: int) -> None:
        clock.now += 0.02

    def judge(values: list[tuple[int, int, float]]) -> int:
        judged.append(len(values))
        return len(judged)

    timer = Timing(call)
    timing.in_rounds(timer, [1, 2], 5, judge, lambda number: number <= opens)
    assert judged[-1] == 2 * rounds
    assert len(judged) == rounds // 5


def test_what_takes_long_is_not_timed_again(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[list[tuple[int, int, float]]] = []

    def call(_size: int) -> None:
        clock.now += 1.0

    monkeypatch.setattr(time, "monotonic", clock)
    timing.in_rounds(Timing(call), [1, 2, 4], 5, judged.append, lambda _: True)
    assert len(judged) == 1
