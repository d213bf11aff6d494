"""The table of a check: one line per expectation, for a terminal or as Markdown."""

from __future__ import annotations

import math

from tidings.scaling.checking import Checked, CheckedRule, Report, mark_of
from tidings.scaling.two_parameters.products import SEPARATOR
from tidings.scaling.verdict import Outcome

HEADINGS = ("function", "expected", "found", "δ", "match", "P", "at", "95 % interval", "verdict")
_COLORS = {"holds": "32", "violated": "31", "undecided": "33", "misfit": "35"}


def number(value: float) -> str:
    """Return a number with three digits."""
    return "∞" if math.isinf(value) else f"{value:.3g}"


def cells(one: Checked) -> list[str]:
    """Return the cells of one expectation."""
    variable = one.expectation.variable
    evaluation = one.evaluation
    unit = f" {one.measurement.unit}" if one.measurement.unit else ""
    low, high = one.interval
    return [
        one.stated.name,
        str(one.expectation),
        evaluation.growth.big_o(variable),
        evaluation.divergence.big_o(variable),
        mark_of(one),
        f"{evaluation.probability:.3f}",
        at_text(one),
        f"{number(low)} … {number(high)}{unit}",
        evaluation.outcome.value + (" (recorded)" if one.recorded else ""),
    ]


def at_text(one: Checked) -> str:
    """Return the size that is predicted, or both sizes."""
    sizes = one.target if isinstance(one.target, tuple) else (one.target,)
    names = one.expectation.variable.split(SEPARATOR)
    return ", ".join(f"{name}={size:g}" for name, size in zip(names, sizes))


def remarks(one: Checked) -> list[str]:
    """Return the remarks below the table: reasons, blame, the next measurement."""
    evaluation, name = one.evaluation, one.stated.name
    variable = one.expectation.variable
    said = [f"{name}: {reason}" for reason in (*evaluation.reasons, *one.measurement.warnings)]
    if evaluation.outcome is Outcome.VIOLATED:
        low, high = (term.big_o(variable) for term in evaluation.divergence_band)
        upper = evaluation.limits.upper.big_o(variable)
        band = low if low == high else f"between {low} and {high}"
        said.append(f"{name}: grows faster than {upper}, the limit; δ is {band} with 95 %")
    form = one.model.form(variable)
    if form:
        said.append(f"{name}: exactly {form}")
    if one.blame:
        said.append(f"{name}: {one.blame}")
    design = evaluation.next_design
    if design:
        runs = "run" if design.runs == 1 else "runs"
        said.append(
            f"{name}: measure {variable}={design.size:g} next, {design.runs} {runs}: "
            f"decides with probability {design.decides:.2f}"
        )
    return said


def rule_line(one: CheckedRule) -> str:
    """Return a rule's line."""
    result = one.result
    crossing = f", crossed at {result.crossing:.4g}" if result.crossing is not None else ""
    return (
        f"rule {result.rule.source}: {one.outcome}; ratio {result.worst_ratio:.3g} at "
        f"{result.worst_size:g} (P {result.measured:.3f}); at {result.target:g} "
        f"P {result.at_target:.3f}{crossing}"
    )


def terminal(report: Report, color: bool = False) -> str:
    """Return the table as text in columns."""
    rows = [list(HEADINGS), *(cells(one) for one in report.checked)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = []
    for row in rows:
        padded = [cell.ljust(width) for cell, width in zip(row, widths)]
        if color and row[-1].split()[0] in _COLORS:
            padded[-1] = f"\x1b[{_COLORS[row[-1].split()[0]]}m{row[-1]}\x1b[0m"
        lines.append("  ".join(padded).rstrip())
    lines += [remark for one in report.checked for remark in remarks(one)]
    lines += [rule_line(one) for one in report.rules]
    return "\n".join([*lines, summary(report)]) + "\n"


def summary(report: Report) -> str:
    """Return the last line: how many of each verdict, at which rate of false alarms."""
    outcomes = report.outcomes()
    counted = [(o.value, outcomes.count(o.value)) for o in Outcome]
    said = ", ".join(f"{count} {name}" for name, count in counted if count) or "nothing to check"
    return (
        f"{said}; false alarms of the whole suite: at most {100 * report.alpha:g} %, "
        "as measured on synthetic suites"
    )


def markdown(report: Report) -> str:
    """Return the table as Markdown, for a comment of a review."""
    lines = [f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
    lines += [f"| {' | '.join(cells(one))} |" for one in report.checked]
    said = [remark for one in report.checked for remark in remarks(one)]
    said += [rule_line(one) for one in report.rules]
    lines += ["", *(f"- {remark}" for remark in said)] if said else []
    return "\n".join([*lines, "", summary(report)]) + "\n"
