"""Reports for machines: JSON, JUnit XML and SARIF.

JSON has the schema docs/reference/scaling.schema.json. JUnit: a violation is a failure, a misfit an
error, an undecided one is skipped. SARIF points at the expectation's line in scaling.toml.
"""

from __future__ import annotations

import json
import math
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from tidings.scaling.checking import Checked, CheckedRule, Report
from tidings.scaling.measurement import Measurement
from tidings.scaling.reports import table
from tidings.scaling.verdict import Outcome

SCHEMA = "tidings-scaling-1"
_SARIF_LEVELS = {"violated": "error", "misfit": "warning", "undecided": "note"}


def entry(one: Checked) -> dict[str, Any]:
    """Return one expectation as an object."""
    evaluation, variable = one.evaluation, one.expectation.variable
    design = evaluation.next_design
    low, high = one.interval
    return {
        "function": one.stated.function,
        "metric": one.measurement.metric,
        "unit": one.measurement.unit,
        "parameter": variable,
        "line": one.stated.line,
        "expected": str(one.expectation),
        "upper_limit": evaluation.limits.upper.big_o(variable),
        "lower_limit": evaluation.limits.lower.big_o(variable),
        "found": evaluation.growth.big_o(variable),
        "form": one.model.form(variable),
        "divergence": evaluation.divergence.big_o(variable),
        "divergence_band": [term.big_o(variable) for term in evaluation.divergence_band],
        "match": {"✓": "total", "≈": "approximate", "✗": "none"}[evaluation.match.value],
        "probability": evaluation.probability,
        "target": one.target,
        "interval": [bound if math.isfinite(bound) else None for bound in (low, high)],
        "verdict": evaluation.outcome.value,
        "recorded": one.recorded,
        "reasons": list(evaluation.reasons),
        "warnings": list(one.measurement.warnings),
        "blame": one.blame,
        "next": None
        if design is None
        else {"size": design.size, "runs": design.runs, "decides": design.decides},
        "sizes": _sizes(one),
        "spikes": one.model.summary.spikes,
        "growth_probabilities": one.model.likely(variable),
    }


def _sizes(one: Checked) -> list[float] | list[list[float]]:
    """Return the sizes, or the points of two parameters."""
    if isinstance(one.measurement, Measurement):
        return list(one.model.summary.sizes.tolist())
    return list(one.measurement.points.tolist())


def rule_entry(one: CheckedRule) -> dict[str, Any]:
    """Return one rule as an object."""
    result = one.result
    return {
        "rule": result.rule.source,
        "line": one.stated.line,
        "verdict": one.outcome,
        "worst_size": result.worst_size,
        "worst_ratio": result.worst_ratio,
        "probability_measured": result.measured,
        "target": result.target,
        "probability_at_target": result.at_target,
        "crossing": result.crossing,
    }


def as_json(report: Report) -> str:
    """Return the report as JSON."""
    whole = {
        "schema": SCHEMA,
        "specification": str(report.path),
        "alpha": report.alpha,
        "expectations": [entry(one) for one in report.checked],
        "rules": [rule_entry(one) for one in report.rules],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def as_junit(report: Report) -> str:
    """Return the report as JUnit XML."""
    cases = [
        _junit_case(one.stated.name, one.evaluation.outcome.value, _said(one))
        for one in report.checked
    ]
    cases += [
        _junit_case(r.result.rule.source, r.outcome, table.rule_line(r)) for r in report.rules
    ]
    outcomes = report.outcomes()
    counts = (
        f'tests="{len(outcomes)}" failures="{outcomes.count("violated")}" '
        f'errors="{outcomes.count("misfit")}" skipped="{outcomes.count("undecided")}"'
    )
    body = "\n".join(cases)
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return (
        f'{head}\n<testsuites>\n<testsuite name="scaling" {counts}>\n{body}\n'
        "</testsuite>\n</testsuites>\n"
    )


def _junit_case(name: str, outcome: str, said: str) -> str:
    element = {"violated": "failure", "misfit": "error", "undecided": "skipped"}.get(outcome)
    inner = f"<{element} message={quoteattr(said)}/>" if element else ""
    out = f"<system-out>{escape(said)}</system-out>"
    return f'<testcase classname="scaling" name={quoteattr(name)}>{inner}{out}</testcase>'


def _said(one: Checked) -> str:
    remarks = table.remarks(one)
    found = (
        f"expected {one.expectation}, "
        f"found {one.evaluation.growth.big_o(one.expectation.variable)}, "
        f"P {one.evaluation.probability:.3f}"
    )
    return "; ".join([found, *remarks])


def as_sarif(report: Report) -> str:
    """Return the report as SARIF 2.1.0; what holds has no result."""
    results = [
        _sarif_result(report, one.evaluation.outcome.value, one.stated.line, _said(one))
        for one in report.checked
        if one.evaluation.outcome is not Outcome.HOLDS
    ]
    results += [
        _sarif_result(report, one.outcome, one.stated.line, table.rule_line(one))
        for one in report.rules
        if one.outcome != Outcome.HOLDS.value
    ]
    described = {
        "violated": "Growth is faster than the limits of the expectation allow.",
        "misfit": "No growth describes the measurements.",
        "undecided": "The measurements do not decide.",
    }
    rules = [
        {"id": f"scaling/{name}", "shortDescription": {"text": text}}
        for name, text in described.items()
    ]
    driver = {"name": "tidings-scaling", "rules": rules}
    whole = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _sarif_result(report: Report, outcome: str, line: int, said: str) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": report.path.as_posix()},
        "region": {"startLine": line},
    }
    return {
        "ruleId": f"scaling/{outcome}",
        "level": _SARIF_LEVELS[outcome],
        "message": {"text": said},
        "locations": [{"physicalLocation": place}],
    }
