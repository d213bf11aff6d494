"""Annotations of GitHub: a line for each expectation that does not hold, at its place in the file.

GitHub shows them in a pull request beside the line of scaling.toml, from what a job prints. The
table goes to the job's summary, whose file GitHub names.
"""

from __future__ import annotations

import os
from pathlib import Path

from tidings.scaling.checking import Report
from tidings.scaling.reports import table

_LEVELS = {"violated": "error", "misfit": "warning", "undecided": "notice"}
_IN_TEXT = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_IN_PROPERTIES = (*_IN_TEXT, (":", "%3A"), (",", "%2C"))


def _escaped(text: str, marks: tuple[tuple[str, str], ...]) -> str:
    for mark, code in marks:
        text = text.replace(mark, code)
    return text


def github(report: Report) -> str:
    """Return the annotations as commands that GitHub reads from a job's output."""
    found = [
        (one.evaluation.outcome.value, one.stated.line, one.stated.name, _said(table.remarks(one)))
        for one in report.checked
    ]
    found += [
        (rule.outcome, rule.stated.line, rule.result.rule.source, table.rule_line(rule))
        for rule in report.rules
    ]
    lines = []
    for outcome, line, name, said in found:
        if outcome in _LEVELS:
            title = _escaped(f"{name} {outcome}", _IN_PROPERTIES)
            path = _escaped(report.path.as_posix(), _IN_PROPERTIES)
            text = _escaped(said or outcome, _IN_TEXT)
            lines.append(f"::{_LEVELS[outcome]} file={path},line={line},title={title}::{text}")
    return "".join(f"{line}\n" for line in lines)


def _said(remarks: list[str]) -> str:
    return "\n".join(remarks)


def add_summary(report: Report) -> None:
    """Add the table to the job's summary, if this is a job of GitHub."""
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    if named:
        with Path(named).open("a", encoding="utf-8") as file:
            file.write(table.markdown(report))
