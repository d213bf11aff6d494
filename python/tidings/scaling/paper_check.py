"""Checks by the paper's method alone: G, adjusted R², δ and match; no probability, no interval.

An expectation is violated where the growth found does not match and is faster than the limits, or
with both sides slower, too. There is no `undecided` and no stated rate of false alarms.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidings.scaling import search_space
from tidings.scaling.engines.paper import PaperEngine
from tidings.scaling.limits import Match
from tidings.scaling.measurement import Measurement, MeasurementError
from tidings.scaling.specification import Specification


def check_paper(
    specification: Specification, measurements: Sequence[Measurement]
) -> tuple[str, int]:
    """Return the table as text, and the exit code."""
    lines = ["function  expected  found  R²  δ  match"]
    code = 0
    for stated in specification.expectations:
        if stated.expectation is None or stated.limits is None:
            raise MeasurementError(f"{stated.name}: the paper's engine needs a growth")
        found = [
            m
            for m in measurements
            if m.function == stated.function and stated.metric in ("", m.metric)
        ]
        if len(found) != 1:
            raise MeasurementError(f"{stated.name}: {len(found)} measurements; one is needed")
        model = PaperEngine(search_space.around(stated.expectation.term)).fit(found[0])
        variable = stated.expectation.variable
        match = stated.limits.match(model.growth)
        r2 = "-" if model.adjusted_r2 is None else f"{model.adjusted_r2:.2f}"
        divergence = stated.limits.divergence(model.growth).big_o(variable, short=True)
        growth = model.growth.big_o(variable, short=True)
        lines.append(
            f"{stated.name}  {stated.expectation}  {growth}  {r2}  {divergence}  {match.value}"
        )
        beyond = model.growth > stated.limits.upper or stated.two_sided
        if match is Match.NONE and beyond:
            code = 1
    return "\n".join(lines) + "\n", code
