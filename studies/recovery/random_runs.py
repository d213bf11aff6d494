#!/usr/bin/env python3
"""Runs phases of real ranks that die at random, and says how each run ended.

    studies/recovery/random_runs.py --mpirun target/openmpi-5.0.11/bin/mpirun
        --program target/mpi/tidings-mpi-recover.mpi --runs 100

A run is drawn from its seed: ranks, tasks, blocks, phases, scheme, copies, and who dies when. Half
of the deaths are inside a task, by the rank's own count; the others come from outside, when so many
tasks of the job have begun. A seed draws the same again; the schedule of real processes is another.

Each run ends in one of these ways: *exact* (all blocks of all phases are right), *refused* (a block
is lost and named, and its owner and all copies did die), *wrong*, *hung*. Exit status: 0 all runs
were exact or refused, 1 one was wrong or hung, 2 wrong arguments.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ranks import Ended, Kill, Launcher, options, surviving

if TYPE_CHECKING:
    from drawing.manifest import Table

SCHEMES = ("lazy", "collective", "non-collective")
LOST = re.compile(r"block \d+ (of array `sums` )?is lost: its owner")


class Drawn(NamedTuple):
    """A run: the words of the program, and who is killed from outside."""

    ranks: int
    words: tuple[str, ...]
    phases: int
    kills: tuple[Kill, ...]
    deaths: int
    is_copied: bool


def drawn(seed: int) -> Drawn:
    """Return the run of a seed."""
    draw = random.Random(seed)
    ranks, phases = draw.randint(3, 6), draw.randint(1, 3)
    tasks, is_copied = draw.randint(200, 2000), draw.random() < 0.8
    words = ["--scheme", draw.choice(SCHEMES), "--tasks", str(tasks), "--phases", str(phases)]
    words += ["--task-us", str(draw.choice((20, 100, 300)))]
    words += ["--blocks", str(draw.randint(1, 96)), "--words", str(draw.choice((1, 8, 400)))]
    if not is_copied:
        words.append("--alone")
    if draw.random() < 0.2:
        words.append("--refuse")
    dead = draw.sample(range(ranks), draw.randint(1, ranks - 2))
    kills = []
    for rank in dead:
        if draw.random() < 0.5:
            words += ["--kill", f"{rank},{draw.randint(1, tasks * phases // ranks)}"]
        else:
            begun = draw.randint(1, tasks * phases)
            kills.append(Kill(rank, begun, draw.choice((0.0, 0.001, 0.01))))
    kills.sort(key=lambda kill: kill.begun)
    return Drawn(ranks, tuple(words), phases, tuple(kills), len(dead), is_copied)


def verdict(run: Drawn, ended: Ended) -> str:
    """Return how a run ended."""
    if ended.status is None:
        return "hung"
    are_right = all(line["right"] for line in ended.lines)
    # Who was to print a line may have been killed before it could.
    if ended.status == 0 and are_right and (run.kills or len(ended.lines) == run.phases):
        return "exact"
    may_lose = run.deaths > 1 or not run.is_copied
    if ended.status == 5 and are_right and may_lose and LOST.search(ended.said):
        return "refused"
    return "wrong"


class Row(NamedTuple):
    """A run as a table has it."""

    seed: int
    how: str
    ranks: int
    scheme: str
    phases: int
    copies: int
    deaths: int
    outside: int
    """Of the deaths."""
    seconds: str


def try_one(launcher: Launcher, seed: int, limit_s: float) -> Row:
    """Run the run of a seed, and say how it ended; what it printed, if it should not have."""
    run = drawn(seed)
    ended = launcher.run(run.ranks, run.words, run.kills, limit_s)
    how, deaths = verdict(run, ended), len(ended.killed) + (ended.head.killed if ended.head else 0)
    outside = ", ".join(f"{kill.rank} after {kill.begun}" for kill in run.kills) or "nobody"
    words = " ".join(run.words)
    print(f"{seed}: {how}, {deaths} died; {run.ranks} ranks, {words}; from outside: {outside}")
    if how in ("wrong", "hung"):
        print(f"status {ended.status}, after {ended.seconds:.1f} s:\n{ended.said}")
    sys.stdout.flush()
    scheme, copies, from_outside = run.words[1], int(run.is_copied), len(ended.killed)
    seconds = f"{ended.seconds:.1f}"
    return Row(seed, how, run.ranks, scheme, run.phases, copies, deaths, from_outside, seconds)


def announced(folder: Path, seed: int) -> Table:
    """Return the table that is about to be made."""
    from drawing.manifest import Table  # The test runs without it.

    return Table(folder / "random.csv", command="studies/recovery/run random", seed=seed)


def main() -> int:
    """Run them all; the exit status."""
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument(
        "--seed", type=int, default=1, help="of the first run; the next has one more"
    )
    parser.add_argument("--limit-s", type=float, default=60, help="when a run hangs")
    given = parser.parse_args()
    launcher = surviving(given.mpirun, given.program)
    table = announced(given.output, given.seed) if given.output else None
    seeds = range(given.seed, given.seed + given.runs)
    rows = [try_one(launcher, seed, given.limit_s) for seed in seeds]
    if table:
        table.write_rows(Row._fields, rows)
    ways, deaths = Counter(row.how for row in rows), sum(row.deaths for row in rows)
    counts = ", ".join(f"{ways[how]} {how}" for how in ("exact", "refused", "wrong", "hung"))
    print(f"{given.runs} runs, {deaths} deaths: {counts}")
    return 1 if ways["wrong"] or ways["hung"] else 0


if __name__ == "__main__":
    sys.exit(main())
