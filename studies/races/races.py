"""Checked runs of four programs beside plain ones, with each way to common ancestors.

    studies/races/run

The program `races` of crates/races makes the rows: in each repetition a plain and a checked run
with each way. It is run with two threads and with sixteen, which steal more often.

Written are `races.csv`, a row for each checked run, and its manifest.

Exit status: 0 done, 1 a run failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from drawing.manifest import Table, first_line

COLUMNS = (
    "program",
    "threads",
    "repetition",
    "way",
    "plain_ms",
    "plain_processors_ms",
    "checked_ms",
    "checked_processors_ms",
    "pairs",
    "climbed",
    "nodes",
    "phases",
)
THREADS = (2, 16)
RUN_S = 1200


def rows(text: str) -> Iterator[list[str]]:
    """Yield the rows of a table as the program prints it; ``ValueError`` if it is another."""
    head, *lines = text.splitlines()
    if tuple(head.split(",")) != COLUMNS or not lines:
        raise ValueError(f"not the table that was expected: {head}")
    for line in lines:
        cells = line.split(",")
        if len(cells) != len(COLUMNS):
            raise ValueError(f"not as many cells as the heading has: {line}")
        yield cells


def main() -> int:
    """Measure all, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="the program `races`")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    table = Table(options.output / "races.csv")
    made: list[list[str]] = []
    for threads in THREADS:
        command = [str(options.program), f"threads={threads}", f"times={options.times}"]
        try:
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=RUN_S
            )
            made += rows(done.stdout)
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            print(f"races: {error}", file=sys.stderr)
            return 1
    table.write_rows(COLUMNS, made, added={"rustc": first_line(["rustc", "--version"])})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
