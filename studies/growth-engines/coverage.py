"""Coverage of the default engine's 95 % intervals by family of growth, on lists drawn by chance.

    python coverage.py --seed 5400 --cases 2000 --output .

Each list is drawn by a seed of its own, from the given one on, which also draws its cases, one of
each function and noise. Lists have few constants and many powers: so of each family as many lists
are used as have so many cases, that each family's share is known as well. Writes coverage.csv, the
share of intervals that hold the true value at 4 and at 64 times the largest size (1 and 4 more
where growth is exponential), and a manifest beside it. `all` is the mean by the families'
frequencies in a list.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import growths
import scores
from drawing.manifest import Table
from scores import Outcome
from suite import NOISES, SUITES, Case
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.measurement import Measurement

FACTORS = (4.0, 64.0)
COLUMNS = ("family", "cases", "covered_4", "covered_64")
Marks = dict[str, float]
Made = TypeVar("Made")


def in_a_list(seed: int) -> Counter[str]:
    """Return how many cases of each family a list has; all have as many."""
    families = Counter(growth.family for growth in growths.drawn(seed))
    return Counter({family: count * len(NOISES) for family, count in families.items()})


def lists(seed: int, cases: int) -> dict[str, int]:
    """Return how many lists are used of each family."""
    return {family: -(-cases // count) for family, count in in_a_list(seed).items()}


def used(first: int, cases: int, seed: int) -> Iterator[Case]:
    """Yield the cases of a list whose families use it."""
    wanted = lists(first, cases)
    suite = replace(SUITES["drawn"], growths=growths.drawn(seed))
    for case in suite.cases(seed, 1):
        if seed - first < wanted[case.growth.family]:
            yield case


def marked(first: int, cases: int, seed: int) -> list[tuple[str, Marks]]:
    """Return family and marks of the cases of a list."""
    found = []
    for case in used(first, cases, seed):
        model = BayesEngine().fit(Measurement.of_values(case.sizes, case.values))
        intervals = {factor: model.interval(scores.beyond(case, factor)) for factor in FACTORS}
        outcome = Outcome(model.growth, intervals=intervals)
        found.append((case.growth.family, scores.marks(case, outcome)))
    return found


def of_all(
    of_list: Callable[[int, int, int], list[Made]], first: int, cases: int, jobs: int
) -> list[Made]:
    """Return what is made of the cases of all lists, which are shared among processes."""
    seeds = range(first, first + max(lists(first, cases).values()))
    with ProcessPoolExecutor(jobs) as pool:
        return [one for made in pool.map(partial(of_list, first, cases), seeds) for one in made]


def main() -> None:
    """Count, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True, help="of the first list")
    parser.add_argument("--cases", type=int, default=2000, help="of each family, at least")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--output", type=Path, required=True, help="folder of coverage.csv")
    options = parser.parse_args()
    first, cases = options.seed, options.cases
    count = max(lists(first, cases).values())
    table = Table(options.output / "coverage.csv", seed=range(first, first + count))
    by_family: dict[str, list[Marks]] = defaultdict(list)
    for family, marks in of_all(marked, first, cases, options.jobs):
        by_family[family].append(marks)
    means = {
        family: [sum(m[name] for m in rows) / len(rows) for name in COLUMNS[2:]]
        for family, rows in by_family.items()
    }
    share = in_a_list(first)
    every = [sum(share[f] * means[f][at] for f in means) / share.total() for at in (0, 1)]
    total = sum(len(rows) for rows in by_family.values())
    lines = [("all", total, *every)]
    lines += [(family, len(by_family[family]), *means[family]) for family in sorted(means)]
    for line in lines:
        print(*line[:2], *(f"{value:.5g}" for value in line[2:]))
    table.write_rows(COLUMNS, [(*line[:2], *(f"{v:.5g}" for v in line[2:])) for line in lines])


if __name__ == "__main__":
    main()
