"""Kills one of four real ranks in a phase, often, and writes how soon a lost task began again.

    studies/recovery/run deaths

The kill comes from outside, when a drawn part of the tasks has begun. Two moments are written: when
a task began that was started again, which may have waited in a queue of the dead, and when one
began that had begun before. Exit status: 0 done, 1 a run was not exact, 2 wrong arguments.
"""

from __future__ import annotations

import random
import sys
from typing import NamedTuple

from drawing.manifest import Table
from ranks import Kill, Launcher, options, surviving

SCHEMES = ("lazy", "collective", "non-collective")
RANKS, TASKS, TASK_US = 4, 1000, 1000


class Row(NamedTuple):
    """A run with a death."""

    scheme: str
    seed: int
    ranks: int
    tasks: int
    task_us: int
    killed: int
    begun: int
    again_ms: str
    twice_ms: str
    started: int
    """Tasks that were started again."""
    phase_ms: str


def after(killed_ns: int, when_ns: int) -> str:
    """Return how long after a death something was, in milliseconds; nothing if it was not."""
    return f"{(when_ns - killed_ns) / 1e6:.3f}" if when_ns else ""


def one(launcher: Launcher, scheme: str, seed: int) -> Row:
    """Run one; exits if it is not exact."""
    draw = random.Random(seed)
    kill = Kill(draw.randrange(RANKS), draw.randint(TASKS // 10, 6 * TASKS // 10))
    words = ["--scheme", scheme, "--tasks", str(TASKS), "--task-us", str(TASK_US)]
    ended = launcher.run(RANKS, words, [kill])
    is_exact = ended.status == 0 and [line["right"] for line in ended.lines] == [True]
    if not is_exact or not ended.killed or ended.head is None:
        sys.exit(f"{scheme}, seed {seed}: status {ended.status}: {ended.said}")
    (_, killed_ns), (line,) = ended.killed[0], ended.lines
    again, twice = (after(killed_ns, at) for at in (ended.head.again_ns, ended.head.twice_ns))
    print(f"{scheme} {seed}: rank {kill.rank}, {again} ms, {twice} ms", file=sys.stderr)
    return Row(
        *(scheme, seed, RANKS, TASKS, TASK_US, kill.rank, kill.begun, again, twice),
        *(line["again"], f"{1e3 * line['seconds']:.3f}"),
    )


def main() -> int:
    """Measure and write the table; the exit status."""
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=50, help="of each scheme")
    given = parser.parse_args()
    launcher = surviving(given.mpirun, given.program)
    table = Table(given.output / "deaths.csv", command="studies/recovery/run deaths", seed=1)
    seeds = range(1, given.runs + 1)
    table.write_rows(Row._fields, [one(launcher, s, seed) for seed in seeds for s in SCHEMES])
    return 0


if __name__ == "__main__":
    sys.exit(main())
