"""pytest plugin: the fixture ``scaling`` makes an expectation of growth a test.

``scaling(sort, n=[2**k for k in range(8, 15)]).expect("n log n")`` calls ``sort(size)`` at every
size, repetitions interleaved, and fails the test where the expectation is violated or nothing fits.
Two parameters, ``scaling(exchange, p=[...], n=[...])``, are measured at their pairs.
All expectations of a session share one rate of false alarms, an equal part for each that the
session has collected: a test cannot wait for the others' results, and under xdist it does not see
them. An undecided expectation does not fail a test unless ``--scaling-strict`` is given. A table of
all ends the session; with xdist its lines come from the workers by their reports, so nothing is
shared between processes.

Metrics: those of `counters.timing` and `counters.calls`, measured in this process, and those of
`counters.alone`, for which the test runs once more in a process of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Union

import pytest

from tidings.scaling.counters import alone, calls, processor, timing
from tidings.scaling.counters.library import CounterError

if TYPE_CHECKING:
    from tidings.scaling.expectation import Expectation, TwoExpectation
    from tidings.scaling.measurement import Measurement
    from tidings.scaling.two_parameters.points import PointsMeasurement
    from tidings.scaling.verdict import AnyLimits, Evaluation, Model

    Size = Union[float, tuple[float, float]]
    Value = tuple[Any, int, float]
    """A size or a pair, the number of a repetition, what was measured."""

METRICS = tuple(dict.fromkeys([*timing.METRICS, *calls.METRICS, *alone.METRICS]))
LAYOUTS = ("grid", "cross")
_COUNTS = "instructions or bytecodes"
_PROPERTY = "tidings_scaling"
_EVALUATIONS = pytest.StashKey[list[Any]]()
_REQUEST = pytest.StashKey["alone.Request | None"]()
_ENDED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options."""
    group = parser.getgroup("scaling", "expectations of growth")
    group.addoption(
        "--scaling-alpha",
        type=_share,
        default=0.01,
        help="false alarms of all expectations of the session together (0.01)",
    )
    group.addoption("--scaling-strict", action="store_true", help="fail where one is undecided")
    group.addoption(
        "--scaling-counter",
        choices=("auto", "perf", "callgrind"),
        default="auto",
        help="instructions by the processor (perf), or by callgrind, which needs valgrind; "
        "auto uses callgrind where the processor's counter cannot be read (auto)",
    )


def _share(text: str) -> float:
    """Return a share of false alarms from the command line."""
    share = float(text)
    if not 0 < share <= 0.5:
        raise argparse.ArgumentTypeError(f"{text}: it must be above 0 and at most 0.5")
    return share


def pytest_configure(config: pytest.Config) -> None:
    """Detect whether this process counts for another."""
    config.stash[_REQUEST] = alone.Request.here()


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Record whether a test has come to its end, neither failed nor skipped."""
    if call.when == "call":
        item.stash[_ENDED] = call.excinfo is None


@pytest.fixture
def scaling(request: pytest.FixtureRequest) -> Iterator[Callable[..., Measured]]:
    """Measure a function at several sizes: ``scaling(function, n=sizes).expect("n log n")``."""
    tests = sum("scaling" in getattr(item, "fixturenames", ()) for item in request.session.items)
    alpha = request.config.getoption("--scaling-alpha") / max(tests, 1)
    strict = request.config.getoption("--scaling-strict")
    made: list[Measured] = []

    def measure(
        function: Callable[..., Any],
        setup: Callable[..., Any] | None = None,
        repetitions: int = 5,
        per: str = "call",
        layout: str = "grid",
        **parameters: Iterable[float],
    ) -> Measured:
        if len(parameters) not in (1, 2):
            raise TypeError("give one parameter with its sizes, like n=[256, 512, 1024], or two")
        if per not in timing.PER:
            raise TypeError(f"per={per!r}: it must be {' or '.join(timing.PER)}")
        if layout not in LAYOUTS:
            raise TypeError(f"layout={layout!r}: it must be {' or '.join(LAYOUTS)}")
        names = tuple(parameters)
        listed = _sizes([list(sizes) for sizes in parameters.values()], layout)
        if len(names) == 2 and setup is None:
            function = _of_pairs(function)
        elif len(names) == 2 and setup is not None:
            setup = _of_pairs(setup)
        node = request.node
        made.append(Measured(node, function, setup, repetitions, names, listed, alpha, strict))
        made[-1].per = per
        return made[-1]

    yield measure
    if request.node.stash.get(_ENDED, False) and not all(one.is_expected for one in made):
        pytest.fail("scaling(...) alone measures nothing: add .expect(...)", pytrace=False)


def _sizes(listed: list[list[float]], layout: str) -> list[Size]:
    """Return the sizes of one parameter, or the pairs of two.

    A cross has a line along each, through the smallest value of the other, and the pair of both
    largest, which tells a sum from a product.
    """
    if len(listed) == 1:
        return list(listed[0])
    pairs = [(one, other) for one in listed[0] for other in listed[1]]
    if layout == "grid" or not pairs:
        return list(pairs)
    low, high = tuple(map(min, listed)), tuple(map(max, listed))
    return [at for at in pairs if low[0] == at[0] or low[1] == at[1] or at == high]


def _of_pairs(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a function of a pair that calls one of two arguments."""

    @wraps(function)
    def of_pair(pair: tuple[float, float]) -> Any:  # noqa: ANN401
        return function(*pair)

    return of_pair


class Measured:
    """A function and the sizes it is to be measured at; `expect` measures and evaluates."""

    def __init__(
        self,
        node: pytest.Item,
        function: Callable[..., Any],
        setup: Callable[[Any], Any] | None,
        repetitions: int,
        parameters: tuple[str, ...],
        sizes: list[Size],
        alpha: float,
        strict: bool,
    ) -> None:
        """Keep what will be measured; nothing is run yet."""
        self.node = node
        self.function = function
        self.setup = setup
        self.repetitions = repetitions
        self.parameters = parameters
        self.sizes = sizes
        self.alpha = alpha
        self.strict = strict
        self.is_expected = False
        self.per = "call"
        self.remarks: list[str] = []

    def expect(
        self, growth: str, metric: str = "time", within: str | None = None, sides: str = ""
    ) -> Evaluation:
        """Measure, evaluate, and fail the test if the growth is violated; return the result.

        `sides` is upper, or both; without it, both where growth is stated as ``Θ(...)``.
        """
        __tracebackhide__ = True
        self.is_expected = True
        evaluation = self._replayed() or self._evaluated(growth, metric, within, sides)
        self.node.stash.setdefault(_EVALUATIONS, []).append(evaluation)
        return evaluation

    def _replayed(self) -> Evaluation | None:
        """In a process that counts for another: that one's results, until it is our turn."""
        request = self.node.config.stash.get(_REQUEST, None)
        if request is None:
            return None
        earlier: list[Evaluation] = request.earlier
        made = len(self.node.stash.get(_EVALUATIONS, []))
        if made < len(earlier):
            return earlier[made]
        request.answer(self.function, self.setup)
        return None

    def _evaluated(self, growth: str, metric: str, within: str | None, sides: str) -> Evaluation:
        __tracebackhide__ = True
        from tidings.scaling import verdict

        with _reported_in_a_line():
            _require_known(metric, sides)
            expectation, limits = _stated(growth, within, self.parameters)
        name = getattr(self.function, "__name__", "function")
        both = sides == "both" or (not sides and expectation.two_sided)

        def judge(values: list[Value]) -> Evaluation:
            measurement = self._measurement(values, name, metric)
            model = _fitted(measurement, expectation)
            return verdict.evaluate([model], [limits], self.alpha, [both])[0]

        evaluation = self._judged(metric, judge)
        variable = ", ".join(self.parameters)
        line = _line(name, metric, variable, str(expectation), evaluation)
        if metric in timing.METRICS and evaluation.outcome is not verdict.Outcome.HOLDS:
            advice = f"times depend on caches and neighbours: a count, metric {_COUNTS}, does not"
            self.remarks.append(advice)
        line = "; ".join([line, *self.remarks])
        self.node.user_properties.append((_PROPERTY, line))
        failing = {verdict.Outcome.VIOLATED, verdict.Outcome.MISFIT}
        if evaluation.outcome in failing or (
            self.strict and evaluation.outcome is verdict.Outcome.UNDECIDED
        ):
            pytest.fail(line, pytrace=False)
        return evaluation

    def _judged(self, metric: str, judge: Callable[[list[Value]], Evaluation]) -> Evaluation:
        """Measure all sizes, one repetition after the other; times until there is a verdict."""
        __tracebackhide__ = True
        if metric not in timing.METRICS:
            return judge(self._values(metric))
        timer = timing.Timing(self.function, self.setup, self.per, metric)
        evaluation = timing.in_rounds(
            timer,
            self.sizes,
            self.repetitions,
            judge,
            lambda evaluation: evaluation.outcome.is_open,
        )
        self.remarks = timer.remarks(", ".join(self.parameters))
        return evaluation

    def _measurement(
        self, values: list[Value], name: str, metric: str
    ) -> Measurement | PointsMeasurement:
        __tracebackhide__ = True
        from tidings.scaling.measurement import Measurement, Row

        apart = timing.APART if metric in timing.METRICS else 0.0
        with _reported_in_a_line():
            if len(self.parameters) == 2:
                made = _at_points(values, name, metric, self.parameters)
                return replace(made, rows=replace(made.rows, apart=apart))
            rows = [Row(float(n), "", str(again), value) for n, again, value in values]
            return replace(Measurement.of(rows, name, metric, self.parameters[0]), apart=apart)

    def _values(self, metric: str) -> list[Value]:
        """Measure all sizes by a count, one repetition after the other."""
        if self._counts_alone(metric):
            return [(n, 0, value) for n, value in zip(self.sizes, self._counted(metric))]
        if metric != "returned":
            # What a first call alone does, such as imports inside it, is no part of growth.
            self.function(self._argument(self.sizes[0]))
        repetitions = 1 if metric in calls.EXACT else self.repetitions
        return self._repeated(repetitions, lambda size: self._value(metric, size))

    def _repeated(self, repetitions: int, measure: Callable[[Any], float]) -> list[Value]:
        return [(size, again, measure(size)) for again in range(repetitions) for size in self.sizes]

    def _counts_alone(self, metric: str) -> bool:
        """Whether a metric is counted in a process of its own."""
        if metric != "instructions":
            return metric in alone.METRICS
        counter = self.node.config.getoption("--scaling-counter")
        refused = processor.refused() if counter != "callgrind" else ""
        if counter == "perf" and refused:
            pytest.fail(f"there is no counter of instructions here ({refused})", pytrace=False)
        return counter == "callgrind" or bool(refused)

    def _counted(self, metric: str) -> list[float]:
        earlier = self.node.stash.get(_EVALUATIONS, [])
        try:
            return alone.counts(self.node, metric, self.sizes, earlier)
        except CounterError as error:
            problem = str(error)
        pytest.fail(problem, pytrace=False)

    def _value(self, metric: str, size: Size) -> float:
        argument = self._argument(size)
        try:
            return calls.METRICS[metric](lambda: self.function(argument))
        except CounterError as error:
            problem = str(error)
        pytest.fail(problem, pytrace=False)

    def _argument(self, size: Size) -> Any:  # noqa: ANN401
        return self.setup(size) if self.setup else size


def _require_known(metric: str, sides: str) -> None:
    if metric not in METRICS:
        raise ValueError(f"metric `{metric}`: it must be one of {', '.join(METRICS)}")
    if sides not in ("", "upper", "both"):
        raise ValueError(f"sides `{sides}`: it must be upper or both")


def _stated(
    growth: str, within: str | None, parameters: tuple[str, ...]
) -> tuple[Expectation | TwoExpectation, AnyLimits]:
    """Return what an expectation states, or raise ValueError with what is wrong in it."""
    from tidings.scaling.expectation import Expectation, TwoExpectation
    from tidings.scaling.limits import Limits

    if len(parameters) == 1:
        expectation = Expectation.parse(growth)
        deviation = Expectation.parse(within).term if within else None
        return expectation, Limits.around(expectation.term, deviation)
    from tidings.scaling.two_parameters.limits import TwoLimits

    names = (parameters[0], parameters[1])
    stated = TwoExpectation.lifted(Expectation.read(growth), names)
    allowed = TwoExpectation.lifted(Expectation.read(within), names).growth if within else None
    return stated, TwoLimits.around(stated.growth, allowed)


def _fitted(
    measurement: Measurement | PointsMeasurement, expectation: Expectation | TwoExpectation
) -> Model:
    """Return the model of a measurement, in as many parameters as the expectation."""
    from tidings.scaling.engines.bayes import BayesEngine
    from tidings.scaling.expectation import Expectation
    from tidings.scaling.measurement import Measurement

    if isinstance(expectation, Expectation) and isinstance(measurement, Measurement):
        return BayesEngine().fit(measurement, expectation.term)
    from tidings.scaling.two_parameters import engine

    assert not isinstance(expectation, Expectation), "the fixture states both in two parameters"
    assert not isinstance(measurement, Measurement), "the fixture states both in two parameters"
    return engine.fit(measurement, expectation.growth, expectation.stated)


def _at_points(
    values: list[Value], function: str, metric: str, parameters: tuple[str, ...]
) -> PointsMeasurement:
    """Return what was measured at pairs."""
    from tidings.scaling.two_parameters.points import of_points

    found: dict[Any, list[float]] = {}
    for point, _, value in values:
        found.setdefault(point, []).append(value)
    names = (parameters[0], parameters[1])
    return of_points(names, list(found), list(found.values()), function, metric)


@contextmanager
def _reported_in_a_line() -> Iterator[None]:
    """Fail the test with the error's own message, without the package's source."""
    __tracebackhide__ = True
    try:
        yield
    except ValueError as error:
        # Not pytest.fail: pytest would print the error as well, as one during whose handling ...
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def _line(name: str, metric: str, variable: str, expected: str, evaluation: Evaluation) -> str:
    """Return the one line of a test."""
    limits = evaluation.limits
    allowed = f"at most {limits.upper.big_o(variable)}"
    if evaluation.two_sided:
        allowed = f"{limits.lower.big_o(variable)} to {limits.upper.big_o(variable)}"
    said = [
        f"{name} ({metric}): expected {expected}, {allowed}, found "
        f"{evaluation.growth.big_o(variable)} {evaluation.match.value}, "
        f"P {evaluation.probability:.3f}: {evaluation.outcome.value}",
        *evaluation.reasons,
    ]
    if evaluation.next_design:
        design = evaluation.next_design
        runs = "run" if design.runs == 1 else "runs"
        said.append(f"measure {variable}={design.size:g} next, {design.runs} {runs}")
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
