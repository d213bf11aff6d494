"""Kills one of eight real ranks early, half-way and late, and writes what runs again.

    studies/recovery/run restarts

Beside the three schemes stands checkpoint-restart: its job ends with the rank, and the same command
starts another, which goes on from the last checkpoint. What ended twice says the witness, which
both jobs share. For checkpoints it is also computed: all that had ended when the rank was killed,
but for what the last checkpoint held. Exit status: 0 done, 1 a run was not exact, 2 wrong
arguments.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from drawing.manifest import Table
from ranks import Ended, Job, Kill, Launcher, options, plain, surviving

RANKS, TASKS, TASK_US, WORDS = 8, 2000, 1000, 400
TIMES = (0, 5, 50, 95)
"""In per cent of the tasks; at 0 nobody dies."""
LIMIT_S = 60.0


class Way(NamedTuple):
    """How a death is survived."""

    scheme: str
    copies: int
    parts: int
    """Of a phase, with a checkpoint after each."""


SCHEMES = ("lazy", "collective", "non-collective")
WAYS = (
    *(Way(scheme, copies, 0) for copies in (1, 0) for scheme in SCHEMES),
    *(Way("checkpoint", 0, parts) for parts in (1, 10)),
)


class Row(NamedTuple):
    """A run with a death, or without."""

    scheme: str
    copies: int
    parts: int
    at_percent: int
    seed: int
    ranks: int
    tasks: int
    task_us: int
    words: int
    ended: int
    """Tasks that had ended at the death."""
    again: int
    """Of those, the ones that ran again."""
    computed: str
    seconds: str
    """From the start of the first job to the end of the last."""


def words_of(way: Way, folder: Path) -> list[str]:
    """Return the words of a job."""
    words = ["--scheme", way.scheme, "--tasks", str(TASKS), "--task-us", str(TASK_US)]
    words += ["--words", str(WORDS), "--witness", str(folder / "witness")]
    if way.parts:
        return [*words, "--folder", str(folder / "checkpoints"), "--parts", str(way.parts)]
    return words if way.copies else [*words, "--alone"]


def job(
    launcher: Launcher, way: Way, folder: Path, at_percent: int, rank: int
) -> tuple[Ended, int]:
    """Run a job to its end; how many tasks had ended when it was disturbed."""
    command = launcher.command(RANKS, words_of(way, folder))
    running = Job(command, folder / "witness", folder)
    until_s = time.monotonic() + LIMIT_S
    ended = 0
    with running.witness:
        if at_percent:
            kill = Kill(rank, at_percent * TASKS // 100)
            running.await_begun(kill.begun, until_s)
            ended = sum(1 for _, count in running.witness.tasks() if count)
            running.kill(kill, until_s)
        return running.end((), LIMIT_S), ended


def one(launchers: dict[bool, Launcher], way: Way, at_percent: int, seed: int) -> Row:
    """Run one, with a second job if the first ends with the rank; exits if it is not exact."""
    rank = random.Random(seed).randrange(RANKS)
    launcher, computed = launchers[way.scheme != "checkpoint"], ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "checkpoints").mkdir()
        last, ended = job(launcher, way, folder, at_percent, rank)
        seconds = last.seconds
        if way.parts and at_percent:
            if last.status == 0:
                sys.exit(f"{way}: the job outlived its rank")
            held = sum(TASKS // way.parts for _ in last.lines)
            computed = str(max(0, ended - held))
            last, _ = job(launcher, way, folder, 0, rank)
            seconds += last.seconds
    if last.status != 0 or not all(line["right"] for line in last.lines):
        sys.exit(f"{way}, seed {seed}: status {last.status}: {last.said}")
    again = sum(max(0, count - 1) for _, count in last.tasks)
    print(
        f"{way} {at_percent} %: {ended} had ended, {again} again, {seconds:.1f} s", file=sys.stderr
    )
    return Row(
        *(*way, at_percent, seed, RANKS, TASKS, TASK_US, WORDS),
        *(ended, again, computed, f"{seconds:.3f}"),
    )


def main() -> int:
    """Measure and write the table; the exit status."""
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    makers = {False: plain, True: surviving}
    launchers = {survives: make(given.mpirun, given.program) for survives, make in makers.items()}
    table = Table(given.output / "restarts.csv", command="studies/recovery/run restarts", seed=1)
    rows = [
        one(launchers, way, at_percent, seed)
        for seed in range(1, given.seeds + 1)
        for at_percent in TIMES
        for way in WAYS
    ]
    table.write_rows(Row._fields, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
