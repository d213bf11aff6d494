"""The tables of the page, from mafia.csv: the form is the paper's."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from drawing import measured as table
from drawing import scaling_paper
from drawing.evaluated import both, growth, r2
from drawing.measured import Value
from drawing.pages import markdown, write
from tidings.scaling import Expectation, Limits, search_space

EXPECTED, PRINTED = scaling_paper.expected(4), scaling_paper.printed(4)
KERNELS = ("gen", "dedup", "pcount", "unjoin")
MACHINE = "MAFIA"
METRICS = ("steps", "instructions", "time")


def evaluated(values: Sequence[Value], metric: str) -> str:
    """Return Table 4 by one metric, the paper's growth beside what is found here."""
    measured = [table.measurement(values, MACHINE, kernel, metric) for kernel in KERNELS]
    expected = [EXPECTED[kernel] for kernel in KERNELS]
    spaces = [search_space.around(Expectation.parse(text).term) for text in expected]
    lines = []
    for kernel, one in zip(KERNELS, both(measured, expected, spaces, None), strict=True):
        paper = Expectation.parse(PRINTED[kernel][0]).term
        found, verdict = one.paper.growth, one.verdict
        low, high = (growth(term, "k") for term in verdict.divergence_band)
        lines.append(
            [
                kernel,
                EXPECTED[kernel],
                f"{growth(paper, 'k')} {Limits.around(one.expectation.term).match(paper).value}",
                f"{growth(found, 'k')} {one.limits.match(found).value}",
                r2(one.paper),
                growth(one.limits.divergence(found), "k"),
                f"{growth(verdict.growth, 'k')} {verdict.match.value}",
                f"{low} … {high}",
                f"{verdict.probability:.2f}",
                verdict.outcome.value,
            ]
        )
    heading = ["", "E", "paper: G", "here: G", "R²", "δ"]
    heading += ["default engine: G", "δ, 95 %", "P", "verdict"]
    return markdown(heading, lines)


def values_at(values: Sequence[Value]) -> str:
    """Return what was measured, at a few sizes."""
    lines = []
    for metric in METRICS:
        for kernel in KERNELS:
            measured = table.measurement(values, MACHINE, kernel, metric)
            first = dict(zip(measured.sizes(), measured.quantile(0.25), strict=True))
            cells = [f"{first[k]:.4g}" if k in first else "-" for k in (3, 6, 9, 12, 14, 16)]
            lines.append([kernel, metric, *cells])
    return markdown(["", "", *(f"k = {k}" for k in (3, 6, 9, 12, 14, 16))], lines)


def main() -> None:
    """Write the tables into the page."""
    page = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("README.md"))
    values = table.read(page.parent / "mafia.csv")
    tables = {f"scaling-mafia-{metric}": evaluated(values, metric) for metric in METRICS}
    tables["scaling-mafia-values"] = values_at(values)
    write(page, tables)


if __name__ == "__main__":
    main()
