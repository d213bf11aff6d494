"""Wall time of fast functions beside a busy machine: verdicts of one run after the other.

    python timing.py --runs 100 --minutes 60 --output .

Busy loops, one for each core, run beside. Each run times a lookup in a dict against O(1), `sorted`
against n log n and a bisection against log n, which are true, and a quadratic loop against n log n,
which is not, as the fixture of pytest does: eight sizes, five repetitions, more of them while there
is no verdict. What depends on the data gets other data for each call, which is the fixture's
default: a processor learns the branches of a list of up to two thousand numbers that is sorted
again and again, and is slower by a factor of 2.5 beyond. Functions take turns, so that what else
runs changes for all. Writes timing.csv; after so many minutes with the runs that there were until
then.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from drawing.manifest import Table
from tidings.scaling import verdict
from tidings.scaling.counters.timing import APART, Timing, in_rounds
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.expectation import Expectation
from tidings.scaling.limits import Limits
from tidings.scaling.measurement import Measurement, Row

ROUNDS = 5
Function = Callable[[Any], Any]


def shuffled(n: int) -> list[float]:
    """Return numbers in an order drawn at random."""
    return [random.random() for _ in range(n)]


def quadratic(values: list[float]) -> int:
    """Count pairs that are out of order, the long way."""
    return sum(a > b for i, a in enumerate(values) for b in values[i:])


CASES: dict[str, tuple[Function, Function, str, str, bool, list[int]]] = {
    "dict lookup": (
        lambda table: table[0],
        lambda n: dict.fromkeys(range(n)),
        "batch",
        "1",
        True,
        [2**k for k in range(8, 16)],
    ),
    "sorted": (sorted, shuffled, "call", "n log n", True, [2**k for k in range(8, 16)]),
    "bisect": (
        lambda values: bisect_left(values, 0.3),
        lambda n: sorted(shuffled(n)),
        "batch",
        "log n",
        True,
        [2**k for k in range(8, 16)],
    ),
    "quadratic": (quadratic, shuffled, "call", "n log n", False, [2**k for k in range(3, 10)]),
}


def outcome(name: str) -> str:
    """Return the verdict of one run."""
    function, setup, per, growth, _, sizes = CASES[name]
    term = Expectation.parse(growth).term

    def judge(values: list[tuple[int, int, float]]) -> verdict.Outcome:
        rows = [Row(float(size), "", str(round_), value) for size, round_, value in values]
        model = BayesEngine().fit(replace(Measurement.of(rows), apart=APART), term)
        return verdict.evaluate([model], [Limits.around(term)])[0].outcome

    timer = Timing(function, setup, per)
    return in_rounds(timer, sizes, ROUNDS, judge, lambda told: told.is_open).value


def spin() -> None:
    """Keep a core busy."""
    while True:
        pass


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no run after these")
    parser.add_argument("--output", type=Path, required=True, help="folder of timing.csv")
    options = parser.parse_args()
    table = Table(options.output / "timing.csv")
    busy = [multiprocessing.Process(target=spin, daemon=True) for _ in range(os.cpu_count() or 1)]
    for process in busy:
        process.start()
    end = time.monotonic() + 60 * options.minutes
    counted: dict[str, Counter[str]] = {name: Counter() for name in CASES}
    for done in range(options.runs):
        if time.monotonic() > end:
            break
        for name, counts in counted.items():
            counts[outcome(name)] += 1
        print(done + 1, *(dict(counts) for counts in counted.values()), flush=True)
    for process in busy:
        process.kill()
    kinds = [kind.value for kind in verdict.Outcome]
    lines = [
        (name, CASES[name][3], "true" if CASES[name][4] else "broken", *(c[k] for k in kinds))
        for name, c in counted.items()
    ]
    for line in lines:
        print(*line)
    table.write_rows(("function", "expected", "is", *kinds), lines)


if __name__ == "__main__":
    main()
