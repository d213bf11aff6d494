"""Measures what recovery costs real ranks where nobody dies, at tasks of 1 ms of work.

    studies/recovery/run overhead

In a job recovered and bare phases alternate: the tasks of a bare one do the same work and add
nothing, which leaves stealing alone. Jobs with and without failure mitigation alternate. Exit
status: 0 done, 1 a run was not exact, 2 wrong arguments.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from drawing.manifest import Table
from ranks import Launcher, options, plain, surviving

SCHEMES = ("lazy", "collective", "non-collective")
RANKS, TASKS, TASK_US, WORDS, PAIRS = 2, 500, 1000, 400, 10


class Row(NamedTuple):
    """A recovered phase and the bare one that followed it."""

    scheme: str
    ulfm: int
    repetition: int
    pair: int
    ranks: int
    tasks: int
    task_us: int
    words: int
    recovered_ms: str
    bare_ms: str


def job(launcher: Launcher, scheme: str, ulfm: int, repetition: int) -> list[Row]:
    """Run a job; exits if it is not exact."""
    words = ["--scheme", scheme, "--tasks", str(TASKS), "--task-us", str(TASK_US)]
    words += ["--words", str(WORDS), "--phases", str(2 * PAIRS), "--paired", "--fixed"]
    ended = launcher.run(RANKS, words)
    if ended.status != 0 or [line["right"] for line in ended.lines] != 2 * PAIRS * [True]:
        sys.exit(f"{scheme}: status {ended.status}: {ended.said}")
    took = [f"{1e3 * line['seconds']:.3f}" for line in ended.lines]
    pairs = zip(took[::2], took[1::2], strict=True)
    return [
        Row(scheme, ulfm, repetition, at, RANKS, TASKS, TASK_US, WORDS, *pair)
        for at, pair in enumerate(pairs)
    ]


def main() -> int:
    """Measure and write the table; the exit status."""
    parser = options(__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    given = parser.parse_args()
    launchers = [plain(given.mpirun, given.program), surviving(given.mpirun, given.program)]
    table = Table(given.output / "overhead.csv", command="studies/recovery/run overhead")
    rows = [
        row
        for repetition in range(given.repetitions)
        for scheme in SCHEMES
        for ulfm, launcher in enumerate(launchers)
        for row in job(launcher, scheme, ulfm, repetition)
    ]
    table.write_rows(Row._fields, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
