"""Verdicts on functions with a step, as where a cache ends: false alarms, and broken ones caught.

    python steps.py --seeds 5100 5103 --output .

Each list is drawn by a seed of its own, without exponentials, at six to ten sizes with 2, 5 or 10 %
of noise or spikes. From one size on, with two sizes or more on either side, values are 1.4 to 3
times as large. The same cases without a step are evaluated beside that. Writes steps.csv, a line
for each noise and one for all. The prior of a step was chosen on the lists of seeds 700 to 702.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import growths
import numpy as np
import verdicts
from drawing.manifest import Table
from suite import SUITES, Case

NOISES = ("2", "5", "10", "spiky")
FACTORS = (1.4, 3.0)
SIDE = 2
OUTCOMES = ("violated", "undecided", "misfit", "holds")
COLUMNS = (
    "step", "noise", "true", "alarms", "undecided", "misfits", "held",
    "broken", "caught", "broken_undecided", "broken_misfits", "broken_held",
)  # fmt: skip
Row = tuple[bool, str, bool, str]
"""Whether there is a step; the noise; whether the expectation is true; the verdict."""


def cases(seed: int) -> Iterator[tuple[Case, Case]]:
    """Yield the cases of a list, without and with a step."""
    listed = [growth for growth in growths.drawn(seed) if not growth.term.rate]
    suite = replace(SUITES["drawn"], growths=listed, sizes=(6, 10))
    rng = np.random.default_rng([seed, 77])
    low, high = np.log(FACTORS)
    for case in suite.cases(seed, 1, NOISES):
        place = int(rng.integers(SIDE, len(case.sizes) - SIDE + 1))
        values = case.values.copy()
        values[place:] *= np.exp(rng.uniform(low, high))
        yield case, replace(case, values=values)


def evaluated(seed: int) -> Iterator[Row]:
    """Yield the verdicts on a list."""
    for pair in cases(seed):
        for stepped, case in enumerate(pair):
            for kind, one in verdicts.evaluated(case, (verdicts.TRUE, verdicts.BROKEN)):
                yield (
                    bool(stepped),
                    case.noise,
                    kind == verdicts.TRUE,
                    one.outcome.value,
                )


def listed(seed: int) -> list[Row]:
    """Return all of a list, as another process does."""
    return list(evaluated(seed))


def line(stepped: bool, noise: str, rows: list[Row]) -> list[object]:
    """Return how many of each verdict there are."""
    made: list[object] = ["yes" if stepped else "no", noise]
    for true in (True, False):
        own = [row[3] for row in rows if row[0] is stepped and row[2] is true]
        made += [len(own), *(own.count(outcome) for outcome in OUTCOMES)]
    return made


def main() -> None:
    """Evaluate, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, required=True, help="first and last list")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--output", type=Path, required=True, help="folder of steps.csv")
    options = parser.parse_args()
    first, last = options.seeds
    table = Table(options.output / "steps.csv", seed=range(first, last + 1))
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = [row for rows in pool.map(listed, range(first, last + 1)) for row in rows]
    lines = []
    for stepped in (True, False):
        lines.append(line(stepped, "all", rows))
        lines += [line(stepped, n, [row for row in rows if row[1] == n]) for n in NOISES]
    for row in lines:
        print(*row)
    table.write_rows(COLUMNS, lines)


if __name__ == "__main__":
    main()
