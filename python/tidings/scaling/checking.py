"""Checking: the expectations of a scaling.toml against measurements, all of a suite at once.

Each expectation is matched with the measurement of its function and metric. If an expectation gives
no growth, the growth found is recorded in a file beside scaling.toml, and later checks are held to
it. A deviation is attributed to the machine where a trusted reference beside it (`litmus`) deviates
too, or where the count of its work (`count`) is as expected while its time is not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Union

from tidings.scaling import rules, verdict, whole
from tidings.scaling.engines.bayes import BayesEngine, BayesModel
from tidings.scaling.expectation import Expectation, TwoExpectation
from tidings.scaling.limits import Limits, Match
from tidings.scaling.measurement import Measurement, MeasurementError
from tidings.scaling.specification import Specification, Stated, StatedRule
from tidings.scaling.verdict import Evaluation, Outcome

if TYPE_CHECKING:
    from tidings.scaling.two_parameters.engine import TwoModel
    from tidings.scaling.two_parameters.limits import TwoLimits
    from tidings.scaling.two_parameters.points import PointsMeasurement

Target = Union[float, tuple[float, float]]
FAR = 64.0
"""The size that is predicted is so many times the largest measured one."""

FAR_IN_EACH = 8.0
"""The same in each of two parameters."""


@dataclass(frozen=True)
class Checked:
    """One expectation with its measurement, model and verdict.

    `interval` is that of the expected value at `target`, a size or a point; `recorded` says that
    the growth was found and recorded now; `blame` is empty, or states whether code or machine
    deviates.
    """

    stated: Stated
    expectation: Expectation | TwoExpectation
    measurement: Measurement | PointsMeasurement
    model: BayesModel | TwoModel
    evaluation: Evaluation
    target: Target
    interval: tuple[float, float]
    recorded: bool = False
    blame: str = ""


@dataclass(frozen=True)
class CheckedRule:
    """One rule with its result."""

    stated: StatedRule
    result: rules.RuleResult
    outcome: str


@dataclass
class Report:
    """All that a check found; `path` is that of scaling.toml."""

    path: Path
    alpha: float
    checked: list[Checked] = field(default_factory=list)
    rules: list[CheckedRule] = field(default_factory=list)

    def outcomes(self) -> list[str]:
        """Return the outcomes of all expectations and rules."""
        return [c.evaluation.outcome.value for c in self.checked] + [r.outcome for r in self.rules]

    def exit_code(self, strict: bool = False) -> int:
        """Return 0 (holds), 1 (violated), or 3 (a misfit; undecided with `strict`)."""
        outcomes = self.outcomes()
        if Outcome.VIOLATED.value in outcomes:
            return 1
        if Outcome.MISFIT.value in outcomes:
            return 3
        return 3 if strict and Outcome.UNDECIDED.value in outcomes else 0


def check(
    specification: Specification,
    measurements: Sequence[Measurement | PointsMeasurement],
    record: bool = True,
    update: bool = False,
) -> Report:
    """Check all expectations and rules of a specification; `update` forgets what was recorded."""
    alpha = specification.alpha or verdict.ALPHA
    known = {} if update else _read_recorded(specification)
    pairs = [
        (stated, _measurement_of(stated, measurements)) for stated in specification.expectations
    ]
    found = [
        _fitted(stated, measurement, known.get(stated.name), specification)
        for stated, measurement in pairs
    ]
    sides = [stated.two_sided for stated, _ in pairs]
    evaluations = verdict.evaluate(
        [one.model for one in found], [one.limits for one in found], alpha, sides
    )
    report = Report(specification.path, alpha)
    for (stated, measurement), one, evaluation in zip(pairs, found, evaluations):
        report.checked.append(
            Checked(
                stated, one.expectation, measurement, one.model, evaluation, one.target,
                one.interval, one.recorded,
            )
        )  # fmt: skip
    report.checked = [_blamed(one, report.checked) for one in report.checked]
    report.rules = _rules(specification, measurements, alpha)
    if record:
        _record(specification, report)
    return report


@dataclass(frozen=True)
class _Fitted:
    """A model of what an expectation is about, in one parameter or in two."""

    expectation: Expectation | TwoExpectation
    model: BayesModel | TwoModel
    limits: Limits | TwoLimits
    target: Target
    interval: tuple[float, float]
    recorded: bool


def _fitted(
    stated: Stated,
    measurement: Measurement | PointsMeasurement,
    known: Expectation | TwoExpectation | None,
    specification: Specification,
) -> _Fitted:
    expectation = stated.expectation or known
    if not isinstance(measurement, Measurement):
        return _fitted_in_two(stated, measurement, expectation, specification)
    if isinstance(expectation, TwoExpectation) or isinstance(stated.within, TwoExpectation):
        raise MeasurementError(
            f"{specification.path}:{stated.line}: the growth of {stated.name} is stated in two "
            f"variables, but measured in one, {measurement.parameter}: give both in `params`"
        )
    model = BayesEngine().fit(measurement, expectation.term if expectation else None)
    new = expectation is None
    if expectation and expectation.term.is_constant:
        expectation = replace(expectation, variable=measurement.parameter)
    if expectation is None:
        term = model.growth
        expectation = Expectation(term, measurement.parameter, term.big_o(measurement.parameter))
    limits = stated.limits or Limits.around(expectation.term)
    target = specification.target or FAR * float(model.summary.sizes[-1])
    return _Fitted(expectation, model, limits, target, model.interval(target), new)


def _fitted_in_two(
    stated: Stated,
    measurement: PointsMeasurement,
    expectation: Expectation | TwoExpectation | None,
    specification: Specification,
) -> _Fitted:
    from tidings.scaling.two_parameters import engine
    from tidings.scaling.two_parameters.limits import TwoLimits

    names = measurement.parameters
    try:
        asked = TwoExpectation.lifted(expectation, names) if expectation else None
        within = TwoExpectation.lifted(stated.within, names).growth if stated.within else None
        model = (
            engine.fit(measurement, asked.growth, asked.stated)
            if asked
            else engine.fit(measurement)
        )
        text = model.growth.big_o(measurement.parameter)
        found = asked or TwoExpectation(model.growth, names, text)
        limits = TwoLimits.around(found.growth, within)
    except ValueError as error:
        raise MeasurementError(f"{specification.path}:{stated.line}: {error}") from None
    largest = measurement.points.max(axis=0) * FAR_IN_EACH
    target = (float(largest[0]), float(largest[1]))
    return _Fitted(found, model, limits, target, model.interval(target), asked is None)


def _measurement_of(
    stated: Stated, measurements: Sequence[Measurement | PointsMeasurement]
) -> Measurement | PointsMeasurement:
    matching = [
        m for m in measurements if m.function == stated.function and stated.metric in ("", m.metric)
    ]
    if len(matching) == 1:
        return matching[0]
    if matching:
        metrics = ", ".join(m.metric for m in matching)
        raise MeasurementError(
            f"{stated.function}, stated on line {stated.line}, has several metrics ({metrics}): "
            "name one with `metric`"
        )
    there = ", ".join(sorted(m.name for m in measurements)) or "none at all"
    raise MeasurementError(
        f"no measurement of {stated.name}, stated on line {stated.line}; there are: {there}"
    )


def _rules(
    specification: Specification,
    measurements: Sequence[Measurement | PointsMeasurement],
    alpha: float,
) -> list[CheckedRule]:
    checked = []
    engine = BayesEngine()
    for stated in specification.rules:
        _require_one_parameter(specification, stated, measurements)
        models = {
            m.function: engine.fit(m)
            for m in measurements
            if isinstance(m, Measurement)
            and stated.metric in ("", m.metric)
            and m.function in stated.rule.functions
        }
        try:
            result = rules.weigh(stated.rule, models, specification.target)
        except rules.RuleError as error:
            raise MeasurementError(f"{specification.path}:{stated.line}: {error}") from None
        share = alpha / len(specification.rules)
        checked.append(CheckedRule(stated, result, result.outcome(share)))
    return checked


def _require_one_parameter(
    specification: Specification,
    stated: StatedRule,
    measurements: Sequence[Measurement | PointsMeasurement],
) -> None:
    for m in measurements:
        named = m.function in stated.rule.functions and stated.metric in ("", m.metric)
        if named and not isinstance(m, Measurement):
            raise MeasurementError(
                f"{specification.path}:{stated.line}: {m.name} is measured in {m.parameter}: a "
                "rule compares functions in one parameter; keep the other one fixed"
            )


def _blamed(one: Checked, all_checked: Sequence[Checked]) -> Checked:
    """Say whether code or machine deviates, where there is a reference to compare with."""
    if one.evaluation.outcome is not Outcome.VIOLATED:
        return one
    function, metric = one.stated.function, one.stated.metric
    for other in all_checked:
        is_litmus = one.stated.litmus and other.stated.function == one.stated.litmus
        is_count = (
            one.stated.count
            and other.stated.function == function
            and other.stated.metric == one.stated.count != metric
        )
        if not (is_litmus or is_count):
            continue
        what = f"litmus test {other.stated.function}" if is_litmus else f"count {one.stated.count}"
        outcome = other.evaluation.outcome
        if outcome is Outcome.UNDECIDED or outcome is Outcome.MISFIT:
            return replace(one, blame=f"not clear: {what} is {outcome.value}")
        machine = (outcome is Outcome.VIOLATED) == bool(is_litmus)
        side = "machine" if machine else "code"
        deviates = "deviates too" if outcome is Outcome.VIOLATED else "is as expected"
        return replace(one, blame=f"{side}: {what} {deviates}")
    return one


def _recorded_path(specification: Specification) -> Path:
    return specification.path.parent / specification.recorded


def _read_recorded(specification: Specification) -> dict[str, Expectation | TwoExpectation]:
    """Return the growth that was recorded by earlier checks."""
    path = _recorded_path(specification)
    if not path.exists():
        return {}
    try:
        entries: Mapping[str, str] = json.loads(path.read_text(encoding="utf-8"))["growth"]
        return {name: Expectation.read(text) for name, text in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MeasurementError(f"{path}: {error}; remove it to record again") from None


def _record(specification: Specification, report: Report) -> None:
    """Record the growth found where none was given, if it is neither a misfit nor undecided."""
    fresh = {
        one.stated.name: str(one.expectation)
        for one in report.checked
        if one.recorded and one.evaluation.outcome is Outcome.HOLDS
    }
    if not fresh:
        return
    known = {name: str(e) for name, e in _read_recorded(specification).items()}
    text = json.dumps({"growth": {**known, **fresh}}, indent=2, sort_keys=True, ensure_ascii=False)
    whole.write(_recorded_path(specification), text + "\n")


def mark_of(one: Checked) -> str:
    """Return the paper's mark, with an arrow where growth is slower than the limits."""
    match = one.evaluation.match
    return match.value + ("↓" if match is Match.NONE and one.evaluation.faster else "")
