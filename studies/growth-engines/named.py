"""Growth that is named exactly and nearly, by kind of list: noise, number of sizes, family.

    python named.py --seeds 5500 5503 --extra-p /path/to/python --output .

Each list is drawn by a seed of its own, which also draws its cases: one of each function and noise,
five to ten sizes, four or six repetitions. How much of it is named exactly is decided by the noise,
so that a goal for a list means nothing without it. Mixes are cases with some kinds of noise in
equal parts. Writes named.csv, a line for each tool and group.

`tidings, told` is the default engine with the frequencies by which lists are drawn as prior weights
and nothing else in its list, which no user has. `limit` also knows the ranges of the constants and
the noise (`limit`): what the values of a list tell at most. It has no cases where sizes differ as
runs do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

import growths
import limit
import numpy as np
import scores
from compare import ExtraP
from drawing.manifest import Table
from scores import Outcome
from suite import NOISES, SUITES, Case
from tidings.scaling.engines import bayes
from tidings.scaling.engines.bayes import BayesEngine, free
from tidings.scaling.engines.bayes.candidates import Candidates, Floats, candidates
from tidings.scaling.measurement import Measurement
from tidings.scaling.terms import Term

TOOLS = ("tidings", "tidings, told", "limit", "Extra-P, mean", "Extra-P, median")
NO_LIMIT = ("run-level",)
MIXES = {
    "all seven": NOISES,
    "0, 2, 5, 10 %": ("0", "2", "5", "10"),
    "0, 2, 5, 10 %, spiky": ("0", "2", "5", "10", "spiky"),
    "0, 2, 5 %": ("0", "2", "5"),
    "0, 2, 5 %, spiky": ("0", "2", "5", "spiky"),
}
UNLIKELY = 1e-6
COLUMNS = ("tool", "group", "cases", "exact", "near")
Marked = tuple[Case, Term, dict[str, float]]


def tidings(case: Case) -> Outcome:
    """Ask the default engine."""
    return Outcome(BayesEngine().fit(Measurement.of_values(case.sizes, case.values)).growth)


def told(case: Case) -> Outcome:
    """Ask the default engine with the frequencies of lists as prior weights."""
    with (
        mock.patch.object(bayes, "candidates", _told),
        mock.patch.object(free, "FREE_WEIGHT", UNLIKELY),
    ):
        return tidings(case)


def _told(sizes: Floats, expected: Term | None = None) -> Candidates:
    """Return the candidates with the frequencies of `growths.drawn`; others are unlikely."""
    listed = candidates(sizes, expected)
    often = growths.frequencies()
    odd = growths.odd_powers()
    often |= {Term(power): growths.ODD / len(odd) for power in odd}
    summed = growths.summed()
    share = often["mixture"] / (len(summed) * (len(summed) - 1) / 2)
    both = [
        listed.terms[lead] in summed and listed.terms[lower] in summed
        for lead, lower in zip(listed.leads, listed.lowers, strict=True)
    ]
    return replace(
        listed,
        weights=np.array([often.get(term, UNLIKELY) for term in listed.terms]),
        pair_weights=np.where(both, share, UNLIKELY),
    )


def at_most(case: Case) -> Outcome:
    """Name what the values tell at most."""
    return Outcome(limit.growth(case))


def of_list(python: str, asked: tuple[str, int]) -> list[Marked]:
    """Return case, growth named and marks of a tool on the list of a seed."""
    tool, seed = asked
    own: dict[str, Callable[[Case], Outcome]] = {TOOLS[1]: told, TOOLS[2]: at_most}
    ask = own.get(tool, tidings)
    if tool.startswith("Extra-P"):
        ask = ExtraP(python, tool.split()[-1], False)
    suite = replace(SUITES["drawn"], growths=growths.drawn(seed))
    found = []
    for case in suite.cases(seed, 1):
        if tool == TOOLS[2] and case.noise in NO_LIMIT:
            continue
        outcome = ask(case)
        assert outcome.growth is not None, "both tools name a growth always"
        bare = replace(case, values=case.values[:0])
        found.append((bare, outcome.growth, scores.marks(case, outcome)))
    return found


def groups(marked: list[Marked]) -> Iterator[tuple[str, list[Marked]]]:
    """Yield mixes, and cases by noise, number of sizes and family."""
    for name, noises in MIXES.items():
        yield f"mix:{name}", [one for one in marked if one[0].noise in noises]
    for noise in NOISES:
        yield f"noise:{noise}", [one for one in marked if one[0].noise == noise]
    for size in sorted({len(one[0].sizes) for one in marked}):
        yield f"sizes:{size}", [one for one in marked if len(one[0].sizes) == size]
    for family in sorted({one[0].growth.family for one in marked}):
        yield (
            f"family:{family}",
            [one for one in marked if one[0].growth.family == family],
        )


def lines(tool: str, marked: list[Marked]) -> list[list[object]]:
    """Return the lines of a tool."""
    made: list[list[object]] = []
    for name, own in groups(marked):
        if not own or (tool == TOOLS[2] and name == "mix:all seven"):
            continue
        means = [sum(one[2][score] for one in own) / len(own) for score in COLUMNS[3:]]
        made.append([tool, name, len(own), *(f"{mean:.5g}" for mean in means)])
    return made


def main() -> None:
    """Ask, count, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, required=True, help="first and last list")
    parser.add_argument("--extra-p", help="python of an environment with extrap")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--output", type=Path, help="folder of named.csv")
    options = parser.parse_args()
    first, last = options.seeds
    seeds = range(first, last + 1)
    table = Table(options.output / "named.csv", seed=seeds) if options.output else None
    tools = TOOLS if options.extra_p else TOOLS[:3]
    asked = [(tool, seed) for tool in tools for seed in seeds]
    with ProcessPoolExecutor(options.jobs) as pool:
        found = dict(zip(asked, pool.map(partial(of_list, options.extra_p), asked), strict=True))
    rows = []
    for tool in tools:
        rows += lines(tool, [one for seed in seeds for one in found[tool, seed]])
    for row in rows:
        print(*row)
    if table:
        added = {"extrap": "4.2.5"} if options.extra_p else None
        table.write_rows(COLUMNS, rows, added=added)


if __name__ == "__main__":
    main()
