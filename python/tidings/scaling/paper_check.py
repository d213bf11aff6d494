"""Checks by the paper's method alone: G, adjusted R², δ and match; no probability, no interval.

An expectation is violated where the growth found does not match and is faster than the limits, or
with both sides slower, too. The search space is the paper's, and reaches past the limit: in a space
that ends before it every growth matches. There is no `undecided` and no stated rate of false
alarms.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidings.scaling import search_space
from tidings.scaling.engines.paper import PaperEngine, PaperModel
from tidings.scaling.expectation import Expectation
from tidings.scaling.limits import Match
from tidings.scaling.measurement import Measurement, MeasurementError
from tidings.scaling.specification import Specification, Stated

SCHEMA = "tidings-scaling-paper-1"
_MATCHES = {Match.TOTAL: "total", Match.APPROXIMATE: "approximate", Match.NONE: "none"}


@dataclass(frozen=True)
class PaperChecked:
    """One expectation with the paper's model, as texts in its variable."""

    stated: Stated
    model: PaperModel
    match: Match
    violated: bool
    variable: str
    expected: str
    found: str
    divergence: str


def check_paper(
    specification: Specification, measurements: Sequence[Measurement]
) -> list[PaperChecked]:
    """Evaluate all expectations."""
    return [_checked(stated, measurements) for stated in specification.expectations]


def _checked(stated: Stated, measurements: Sequence[Measurement]) -> PaperChecked:
    expectation = stated.expectation
    if not isinstance(expectation, Expectation) or stated.limits is None:
        raise MeasurementError(f"{stated.name}: the paper's engine needs a growth, in one variable")
    found = [
        m for m in measurements if m.function == stated.function and stated.metric in ("", m.metric)
    ]
    if len(found) != 1:
        raise MeasurementError(f"{stated.name}: {len(found)} measurements; one is needed")
    term, limits = expectation.term, stated.limits
    variable = found[0].parameter if term.is_constant else expectation.variable
    model = PaperEngine(search_space.past(limits)).fit(found[0])
    match = limits.match(model.growth)
    beyond = model.growth > limits.upper or stated.two_sided
    return PaperChecked(
        stated,
        model,
        match,
        match is Match.NONE and beyond,
        variable,
        term.big_o(variable),
        model.growth.big_o(variable, short=True),
        limits.divergence(model.growth).big_o(variable, short=True),
    )


def exit_code(checked: Sequence[PaperChecked]) -> int:
    """Return 1 where one is violated, else 0."""
    return int(any(one.violated for one in checked))


def as_table(checked: Sequence[PaperChecked]) -> str:
    """Return a line for each expectation."""
    lines = ["function  expected  found  R²  δ  match"]
    for one in checked:
        r2 = "-" if one.model.adjusted_r2 is None else f"{one.model.adjusted_r2:.2f}"
        cells = (one.stated.name, one.expected, one.found, r2, one.divergence, one.match.value)
        lines.append("  ".join(cells))
    return "\n".join(lines) + "\n"


def as_json(path: Path, checked: Sequence[PaperChecked]) -> str:
    """Return all as JSON."""
    entries = [
        {
            "function": one.stated.function,
            "metric": one.stated.metric,
            "parameter": one.variable,
            "line": one.stated.line,
            "expected": one.expected,
            "found": one.found,
            "adjusted_r2": one.model.adjusted_r2,
            "divergence": one.divergence,
            "match": _MATCHES[one.match],
            "verdict": "violated" if one.violated else "holds",
        }
        for one in checked
    ]
    whole = {"schema": SCHEMA, "specification": str(path), "expectations": entries}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
