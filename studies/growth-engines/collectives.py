"""Measured collectives of two MPI libraries, and whether a verdict depends on the statistic.

    python collectives.py mpi_data.csv --output . \
        --extra-p /path/to/extrap-venv/bin/python

The file is tests/data/mpi_data.csv of https://github.com/extra-p/extrap (BSD-3-Clause); it is not
stored here: seven collectives of Intel MPI and Open MPI on 32 to 512 ranks, each of about 2,000
repetitions given as mean, median, minimum and more. Each series is held against the paper's
expectation with its deviation sqrt p, once by each statistic; then the two guidelines of the paper
are held against the medians. Writes collectives.csv.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from compare import ExtraP
from drawing.manifest import Table, given
from growths import Growth
from suite import SQUARE_ROOT, Case
from tidings.scaling import rules, verdict
from tidings.scaling.engines.bayes import BayesEngine, BayesModel
from tidings.scaling.expectation import Expectation
from tidings.scaling.limits import Limits
from tidings.scaling.measurement import Measurement

EXPECTED = {
    "Barrier": "log p",
    "Bcast": "log p",
    "Reduce": "log p",
    "Allreduce": "log p",
    "Gather": "p",
    "Allgather": "p",
    "Alltoall": "p log p",
}
SOURCE = "https://github.com/extra-p/extrap, tests/data/mpi_data.csv (BSD-3-Clause)"
STATISTICS = ("mean", "median", "min")
GUIDELINES = ("Allreduce <= Reduce + Bcast", "Allgather <= Gather + Bcast")
TARGET = 2.0**20

Series = dict[tuple[str, str], list[dict[str, str]]]


def read(path: Path) -> Series:
    """Return the rows of each library and collective."""
    found: Series = defaultdict(list)
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["mpi"], row["variable"].removeprefix("MPI_")].append(row)
    return found


def measurement(rows: list[dict[str, str]], statistic: str) -> Measurement:
    """Return one value a size."""
    sizes = [float(row["Ranks"]) for row in rows]
    return Measurement.of_values(sizes, [float(row[statistic]) for row in rows])


def evaluated(name: str, rows: list[dict[str, str]], other: ExtraP | None) -> dict[str, object]:
    """Return the verdict of each statistic, and what each tool named."""
    term = Expectation.parse(EXPECTED[name]).term
    line: dict[str, object] = {"expected": term.text("p")}
    for statistic in STATISTICS:
        values = measurement(rows, statistic)
        model = BayesEngine().fit(values, term)
        one = verdict.evaluate([model], [Limits.around(term, SQUARE_ROOT)])[0]
        line[statistic] = one.outcome.value
        line[f"{statistic}_p"] = f"{one.probability:.3f}"
        line[f"{statistic}_growth"] = model.growth.text("p")
        line[f"{statistic}_extra_p"] = named(other, values) if other else ""
    return line


def named(other: ExtraP, values: Measurement) -> str:
    """Return the growth that Extra-P names."""
    table = np.array([[row.value] for row in values.rows])
    case = Case(Growth("mpi", SQUARE_ROOT), "", values.sizes(), table, (0.0, 1.0), (0.0,))
    growth = other(case).growth
    assert growth is not None
    return growth.text("p")


def guideline(source: str, models: dict[str, BayesModel]) -> dict[str, object]:
    """Return how a guideline fares on the medians."""
    found = rules.weigh(rules.Rule.parse(source), models, TARGET)
    return {
        "collective": source,
        "median": found.outcome(verdict.ALPHA),
        "median_p": f"{found.measured:.2g}",
        "expected": f"largest ratio {found.worst_ratio:.2f} at {found.worst_size:g}",
    }


def agreement(lines: list[dict[str, object]]) -> None:
    """Print in how many series the statistics agree."""

    def same(line: dict[str, object], names: tuple[str, ...], apart: set[str]) -> bool:
        return len({str(line[name]) for name in names} - apart) <= 1

    count = len(lines)
    for names in (STATISTICS, STATISTICS[1:]):
        plain = sum(same(line, names, {"undecided"}) for line in lines)
        loose = sum(same(line, names, {"undecided", "misfit"}) for line in lines)
        print(f"{', '.join(names)}: same or undecided in {plain} of {count}", end="")
        print(f"; in {loose} if a misfit is no decision either")
    for suffix in ("growth", "extra_p"):
        moved = sum(len({line[f"{name}_{suffix}"] for name in STATISTICS}) > 1 for line in lines)
        print(f"{suffix}: the growth named differs in {moved} of {count}")


def main() -> None:
    """Evaluate, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="mpi_data.csv")
    parser.add_argument("--extra-p", help="python of an environment with extrap")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    table = Table(options.output / "collectives.csv") if options.output else None
    other = ExtraP(options.extra_p, "mean", False) if options.extra_p else None
    series = read(options.file)
    lines = [
        {"library": library, "collective": name, **evaluated(name, rows, other)}
        for (library, name), rows in series.items()
    ]
    agreement(lines)
    rulings = []
    for library in dict.fromkeys(library for library, _ in series):
        models = {
            name: BayesEngine().fit(measurement(rows, "median"))
            for (of, name), rows in series.items()
            if of == library
        }
        rulings += [{"library": library, **guideline(text, models)} for text in GUIDELINES]
    for line in [*lines, *rulings]:
        print(" ".join(f"{value!s:>14s}" for value in line.values()))
    if table:
        rows = [[line.get(column, "") for column in lines[0]] for line in [*lines, *rulings]]
        table.write_rows(
            list(lines[0]),
            rows,
            added={"extrap": "4.2.5"} if options.extra_p else None,
            inputs=[given(options.file, SOURCE)],
        )


if __name__ == "__main__":
    main()
