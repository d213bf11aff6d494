"""The tables of the page, from mpi.csv: the form is the paper's."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

from drawing import measured as table
from drawing import scaling_paper
from drawing.evaluated import Both, both, growth, r2
from drawing.measured import Value
from drawing.pages import markdown, write
from tidings.scaling import Expectation, Limits, Measurement, search_space
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.rules import Rule, weigh

EXPECTED, EXPECTED_MEMORY = scaling_paper.expected(2), scaling_paper.expected(3)
PRINTED = {**scaling_paper.printed(2), **scaling_paper.printed(3)}
RULES = (
    "allreduce <= reduce + bcast",
    "allgather <= gather + bcast_all",
    "allgather <= gather + bcast",
)
TARGET = 2.0**20
SPREAD = ("Juqueen-mpich-1", "Juropa-mpich-1", "Piz-Daint-mpich-1")
PACKED = ("Juqueen-mpich-16", "Juropa-mpich-8", "Piz-Daint-mpich-8")
NAIVE = "Juqueen-default-1"
REAL = {"openmpi": "Open-MPI", "mpich": "MPICH"}
"""Machines of mpi.toml, by their labels; real ones by the names of their tables."""


def evaluated(
    values: Sequence[Value], label: str, metric: str, expected: dict[str, str]
) -> list[Both]:
    """Evaluate all functions of a machine."""
    measured = [table.measurement(values, label, function, metric) for function in expected]
    space = search_space.mpi()
    listed = list(expected.values())
    return both(measured, listed, [space] * len(listed), search_space.MPI_DEVIATION)


def printed(function: str, at: int) -> str:
    """Return what the paper prints of a machine: G and its mark."""
    expected = {**EXPECTED, **EXPECTED_MEMORY}[function]
    term = Expectation.parse(PRINTED[function][at]).term
    limits = Limits.around(Expectation.parse(expected).term, search_space.MPI_DEVIATION)
    return f"{growth(term, 'p')} {limits.match(term).value}"


def own(one: Both) -> list[str]:
    """Return what this study found: by the paper's engine, then by the default one."""
    found = one.paper.growth
    mark = one.limits.match(found).value
    divergence = growth(one.limits.divergence(found), "p")
    verdict = one.verdict
    return [
        f"{growth(found, 'p')} {mark}",
        r2(one.paper),
        divergence,
        f"{growth(verdict.growth, 'p')} {verdict.match.value}",
        f"{verdict.probability:.2f}",
        verdict.outcome.value,
    ]


HEADING = ["", "E", "paper: G", "here: G", "R²", "δ", "default engine: G", "P", "verdict"]


def beside_paper(values: Sequence[Value], label: str, at: int) -> str:
    """Return Table 2 for one machine, the paper's growth beside what is found here."""
    rows = evaluated(values, label, "time", EXPECTED)
    lines = [
        [function, EXPECTED[function], printed(function, at), *own(one)]
        for function, one in zip(EXPECTED, rows, strict=True)
    ]
    return markdown(HEADING, lines)


def alone(values: Sequence[Value], label: str, metric: str, expected: dict[str, str]) -> str:
    """Return the same for a machine that the paper does not have."""
    rows = evaluated(values, label, metric, expected)
    lines = [
        [function, text, *own(one)]
        for (function, text), one in zip(expected.items(), rows, strict=True)
    ]
    return markdown([*HEADING[:2], *HEADING[3:]], lines)


def memory(values: Sequence[Value], label: str) -> str:
    """Return Table 3 for one MPI: whole models, since here coefficients matter."""
    rows = evaluated(values, label, "memory", EXPECTED_MEMORY)
    lines = []
    for function, one in zip(EXPECTED_MEMORY, rows, strict=True):
        three = ", ".join(printed(function, at) for at in range(3))
        measured = table.measurement(values, label, function, "memory")
        ends = [measured.quantile(0.25)[at] for at in (0, -1)]
        sizes = measured.sizes()
        span = f"{ends[0]:,.0f} to {ends[1]:,.0f} B at {sizes[0]:g} to {sizes[-1]:g}"
        lines.append([function, EXPECTED_MEMORY[function], three, span, whole(one), *own(one)])
    return markdown([*HEADING[:3], "measured", "here: model, B", *HEADING[3:]], lines)


def whole(one: Both) -> str:
    """Return the paper's engine's model with its coefficients."""
    model = one.paper
    if model.growth.is_constant:
        return f"{model.constant:,.0f}"
    coefficient = model.coefficient * math.exp(-model.log_scale)
    sign = "+" if coefficient >= 0 else "-"
    return f"{model.constant:,.0f} {sign} {abs(coefficient):.3g}·{growth(model.growth, 'p')}"


def guidelines(values: Sequence[Value], labels: Sequence[str]) -> str:
    """Return both rules, measured and on the models to 2^20 ranks."""
    heading = ["machine", "rule", "worst ratio", "at", "P, measured", "P, at 2^20", "broken from"]
    lines = []
    for label in labels:
        for text in RULES:
            rule = Rule.parse(text)
            models = {
                function: BayesEngine().fit(table.measurement(values, label, function, "time"))
                for function in rule.functions
            }
            found = weigh(rule, models, TARGET)
            crossing = "-" if found.crossing is None else f"p = {found.crossing:.3g}"
            lines.append(
                [
                    label,
                    text.replace("<=", "≤"),
                    f"{found.worst_ratio:.2f}",
                    f"{found.worst_size:g}",
                    f"{found.measured:.3f}",
                    f"{found.at_target:.3f}",
                    crossing,
                ]
            )
    return markdown([*heading], lines)


def microseconds(values: Sequence[Value], labels: Sequence[str]) -> str:
    """Return the times themselves, at the smallest and largest size."""
    heading = ["", *labels]
    lines = []
    for function in (*EXPECTED, "bcast_all"):
        cells = []
        for label in labels:
            measured: Measurement = table.measurement(values, label, function, "time")
            first, *_, last = measured.quantile(0.25) * 1e6
            cells.append(f"{first:.1f} … {last:,.1f}")
        lines.append([function, *cells])
    return markdown(heading, lines)


def main() -> None:
    """Write the tables into the page."""
    page = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("README.md"))
    values = table.read(page.parent / "mpi.csv")
    tables = {}
    for machines in (SPREAD, PACKED):
        for at, label in enumerate(machines):
            tables[f"scaling-mpi-{label}"] = beside_paper(values, label, at)
    tables["scaling-mpi-naive"] = alone(values, NAIVE, "time", EXPECTED)
    for name, label in REAL.items():
        tables[f"scaling-mpi-{name}"] = alone(values, label, "time", EXPECTED)
        tables[f"scaling-mpi-memory-{name}"] = memory(values, label)
    tables["scaling-mpi-times"] = microseconds(values, [*SPREAD, *PACKED])
    labels = [*SPREAD, *PACKED, NAIVE, *REAL.values()]
    tables["scaling-mpi-rules"] = guidelines(values, labels)
    write(page, tables)


if __name__ == "__main__":
    main()
