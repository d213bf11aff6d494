"""Verdicts by the number of sizes, three to ten: false alarms, and broken expectations caught.

    python few_sizes.py --seeds 900 911 --output .

Each list is drawn by a seed of its own, which also draws its cases: three to ten sizes, four or six
repetitions. Writes few-sizes.csv, a line for each number of sizes and one for all. The thresholds
of `verdict.calibration` were chosen on the lists of seeds 800 to 821 (`--tune` prints shares below
other thresholds); these are not read again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import growths
import numpy as np
from drawing.manifest import Table
from suite import SUITES
from tidings.scaling import verdict
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.limits import Limits
from tidings.scaling.measurement import Measurement

THRESHOLDS = (0.3, 0.25, 0.2, 0.15, 0.12, 0.1, 0.05)
KINDS = ("true", "broken")
COLUMNS = (
    "sizes", "true", "alarms", "undecided", "misfits", "broken", "caught", "held", "broken_misfits",
)  # fmt: skip


def evaluated(seed: int) -> Iterator[tuple[int, str, str, float]]:
    """Yield sizes, kind, verdict and P(holds) of the expectations of a list."""
    suite = replace(SUITES["drawn"], growths=growths.drawn(seed), sizes=(3, 10))
    for case in suite.cases(seed, 1):
        measured = Measurement.of_values(case.sizes, case.values)
        for kind, expected in zip(KINDS, (case.growth.term, case.broken), strict=True):
            if expected is not None:
                model = BayesEngine().fit(measured, expected)
                one = verdict.evaluate([model], [Limits.around(expected, case.deviation)])[0]
                yield len(case.sizes), kind, one.outcome.value, one.probability


def line(name: object, rows: list[tuple[int, str, str, float]]) -> list[object]:
    """Return how many of each verdict there are."""
    true, broken = ([row[2] for row in rows if row[1] == kind] for kind in KINDS)
    of_true = [true.count(kind) for kind in ("violated", "undecided", "misfit")]
    of_broken = [broken.count(kind) for kind in ("violated", "holds", "misfit")]
    return [name, len(true), *of_true, len(broken), *of_broken]


def main() -> None:
    """Evaluate, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, required=True, help="first and last list")
    parser.add_argument("--tune", action="store_true", help="print shares below thresholds")
    parser.add_argument("--output", type=Path, required=True, help="folder of few-sizes.csv")
    options = parser.parse_args()
    first, last = options.seeds
    table = Table(options.output / "few-sizes.csv", seed=range(first, last + 1))
    rows = [row for seed in range(first, last + 1) for row in evaluated(seed)]
    lines = [line("all", rows)]
    for count in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == count]
        lines.append(line(count, own))
        for kind in KINDS if options.tune else ():
            found = np.array([row[3] for row in own if row[1] == kind and row[2] != "misfit"])
            print(count, kind, *(f"{t}: {100 * (found < t).mean():.2f} %" for t in THRESHOLDS))
    for row in lines:
        print(*row)
    table.write_rows(COLUMNS, lines)


if __name__ == "__main__":
    main()
