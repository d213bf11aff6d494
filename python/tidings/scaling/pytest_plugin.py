"""pytest plugin: the fixture ``scaling`` makes an expectation of growth a test.

``scaling(sort, n=[2**k for k in range(8, 15)]).expect("n log n")`` calls ``sort(size)`` at every
size, repetitions interleaved, and fails the test where the expectation is violated or nothing fits.
All expectations of a session share one rate of false alarms, an equal part for each that the
session has collected: a test cannot wait for the others' results, and under xdist it does not see
them. Doubt does not fail a test unless ``--scaling-strict`` is given. A table of all ends the
session; with xdist its lines come from the workers by their reports, so nothing is shared between
processes.

Metrics: ``time`` (seconds, time.perf_counter), ``cpu`` (seconds, time.process_time), ``bytecodes``
(Python instructions executed; exact, blind to what C does), ``returned`` (the number that the
function returns), ``allocated`` (peak of bytes that Python allocated meanwhile).
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tidings.scaling.verdict import Judged

METRICS = ("time", "cpu", "bytecodes", "returned", "allocated")
_PROPERTY = "tidings_scaling"
_EXACT = ("bytecodes", "returned")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options."""
    group = parser.getgroup("scaling", "expectations of growth")
    group.addoption(
        "--scaling-alpha",
        type=float,
        default=0.01,
        help="false alarms of all expectations of the session together (0.01)",
    )
    group.addoption("--scaling-strict", action="store_true", help="fail where one is undecided")


@pytest.fixture
def scaling(request: pytest.FixtureRequest) -> Callable[..., Measured]:
    """Measure a function at several sizes: ``scaling(function, n=sizes).expect("n log n")``."""
    tests = sum("scaling" in getattr(item, "fixturenames", ()) for item in request.session.items)
    alpha = request.config.getoption("--scaling-alpha") / max(tests, 1)
    strict = request.config.getoption("--scaling-strict")

    def measure(
        function: Callable[..., Any],
        setup: Callable[[Any], Any] | None = None,
        repetitions: int = 5,
        **parameter: Iterable[float],
    ) -> Measured:
        if len(parameter) != 1:
            raise TypeError("give one parameter with its sizes, like n=[256, 512, 1024]")
        ((variable, sizes),) = parameter.items()
        listed = list(sizes)
        return Measured(request.node, function, setup, repetitions, variable, listed, alpha, strict)

    return measure


class Measured:
    """A function and the sizes it is to be measured at; `expect` measures and judges."""

    def __init__(
        self,
        node: pytest.Item,
        function: Callable[..., Any],
        setup: Callable[[Any], Any] | None,
        repetitions: int,
        variable: str,
        sizes: list[float],
        alpha: float,
        strict: bool,
    ) -> None:
        """Keep what is to be measured; nothing is run yet."""
        self.node = node
        self.function = function
        self.setup = setup
        self.repetitions = repetitions
        self.variable = variable
        self.sizes = sizes
        self.alpha = alpha
        self.strict = strict

    def expect(
        self, growth: str, metric: str = "time", within: str | None = None, sides: str = "upper"
    ) -> Judged:
        """Measure, judge, and fail the test where the growth is violated; return the judgement."""
        __tracebackhide__ = True
        from tidings.scaling import verdict
        from tidings.scaling.engines.bayes import BayesEngine
        from tidings.scaling.expectation import Expectation
        from tidings.scaling.limits import Limits
        from tidings.scaling.measurement import Measurement

        expectation = Expectation.parse(growth)
        deviation = Expectation.parse(within).term if within else None
        limits = Limits.around(expectation.term, deviation)
        rows = self._rows(metric)
        name = getattr(self.function, "__name__", "function")
        measurement = Measurement.of(rows, name, metric, self.variable)
        model = BayesEngine().fit(measurement, expectation.term)
        judged = verdict.judge([model], [limits], self.alpha, [sides == "both"])[0]
        line = _line(name, metric, self.variable, str(expectation), judged)
        self.node.user_properties.append((_PROPERTY, line))
        failing = {verdict.Outcome.VIOLATED, verdict.Outcome.MISFIT}
        if judged.outcome in failing or (
            self.strict and judged.outcome is verdict.Outcome.UNDECIDED
        ):
            pytest.fail(line, pytrace=False)
        return judged

    def _rows(self, metric: str) -> list[Any]:
        """Measure all sizes, one repetition after the other."""
        from tidings.scaling.measurement import Row

        if metric not in METRICS:
            raise ValueError(f"metric `{metric}`: it is one of {', '.join(METRICS)}")
        repetitions = 1 if metric in _EXACT else self.repetitions
        if repetitions > 1:
            self._value("time", self.sizes[0])
        return [
            Row(float(size), "", str(repetition), self._value(metric, size))
            for repetition in range(repetitions)
            for size in self.sizes
        ]

    def _value(self, metric: str, size: float) -> float:
        argument = self.setup(size) if self.setup else size
        if metric == "returned":
            return float(self.function(argument))
        if metric == "bytecodes":
            return float(_bytecodes(self.function, argument))
        if metric == "allocated":
            return float(_allocated(self.function, argument))
        clock = time.process_time if metric == "cpu" else time.perf_counter
        collecting = gc.isenabled()
        gc.disable()
        try:
            began = clock()
            self.function(argument)
            return clock() - began
        finally:
            if collecting:
                gc.enable()


def _bytecodes(function: Callable[..., Any], argument: Any) -> int:  # noqa: ANN401
    """Count the Python instructions of a call."""
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:  # noqa: ANN401
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(argument)
    finally:
        sys.settrace(before)
    return count


def _allocated(function: Callable[..., Any], argument: Any) -> int:  # noqa: ANN401
    """Return the peak of bytes allocated by Python during a call."""
    import tracemalloc

    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        function(argument)
        return max(tracemalloc.get_traced_memory()[1] - before, 1)
    finally:
        tracemalloc.stop()


def _line(name: str, metric: str, variable: str, expected: str, judged: Judged) -> str:
    """Return the one line of a test."""
    said = [
        f"{name} ({metric}): expected {expected}, found {judged.growth.big_o(variable)} "
        f"{judged.match.value}, P {judged.probability:.3f}: {judged.outcome.value}",
        *judged.reasons,
    ]
    if judged.next_design:
        design = judged.next_design
        said.append(f"measure {variable}={design.size:g} next, {design.runs} times")
    return "; ".join(said)


def pytest_terminal_summary(terminalreporter: Any) -> None:  # noqa: ANN401
    """Print a line for each expectation of the session."""
    lines = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == _PROPERTY
    ]
    if lines:
        terminalreporter.section("scaling")
        for line in sorted(lines):
            terminalreporter.write_line(line)
