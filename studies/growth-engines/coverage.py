"""Coverage of the default engine's 95 % intervals by family of growth, on lists drawn by chance.

    python coverage.py --seeds 300 349 --output .

Each list is drawn by a seed of its own, which also draws its cases, one of each function and noise.
Writes coverage.csv, the share of intervals that hold the true value at 4 and at 64 times
the largest size (1 and 4 more where growth is exponential), and a manifest beside it.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import growths
import scores
from drawing.manifest import Table
from scores import Outcome
from suite import SUITES, Case
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.measurement import Measurement

FACTORS = (4.0, 64.0)
COLUMNS = ("family", "cases", "covered_4", "covered_64")


def predicted(case: Case) -> Outcome:
    """Return the intervals of a case."""
    model = BayesEngine().fit(Measurement.of_values(case.sizes, case.values))
    intervals = {factor: model.interval(scores.beyond(case, factor)) for factor in FACTORS}
    return Outcome(model.growth, intervals=intervals)


def of_list(seed: int) -> list[tuple[Case, dict[str, float]]]:
    """Return the cases of the list that a seed draws, with their marks."""
    suite = replace(SUITES["drawn"], growths=growths.drawn(seed))
    return [(case, scores.marks(case, predicted(case))) for case in suite.cases(seed, 1)]


def main() -> None:
    """Count, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, required=True, help="first and last list")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--output", type=Path, required=True, help="folder of coverage.csv")
    options = parser.parse_args()
    first, last = options.seeds
    table = Table(options.output / "coverage.csv", seed=range(first, last + 1))
    with ProcessPoolExecutor(options.jobs) as pool:
        scored = [pair for pairs in pool.map(of_list, range(first, last + 1)) for pair in pairs]
    rows = scores.table(scored, lambda case: case.growth.family)
    lines = [
        (family, rows[family]["cases"], *(f"{rows[family][name]:.5g}" for name in COLUMNS[2:]))
        for family in sorted(rows, key=lambda name: name != "all")
    ]
    for line in lines:
        print(*line)
    table.write_rows(COLUMNS, lines)


if __name__ == "__main__":
    main()
