"""What the trace of a schedule costs the threads of a pool: paired laps of UTS T1L.

    studies/traces/run overhead

The program `traced` of crates/fork-join searches the tree on two threads, in turn by a pool that
notes thefts and by one that does not. Said at the end: by how much laps with a trace took longer,
as the median of the pairs with its interval of 95 %.

Written are `overhead.csv`, a row for each pair, and its manifest.

Exit status: 0 done, 1 a lap failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from drawing.manifest import Table

COLUMNS = (
    "tree",
    "pair",
    "traced_wall_ms",
    "traced_processors_ms",
    "plain_wall_ms",
    "plain_processors_ms",
    "thefts",
)
TREES = {"T1L": 24, "T1": 200}
"""Trees, with the pairs that take some two minutes."""

Row = tuple[str, int, float, float, float, float, int]


def rows(tree: str, text: str, pairs: int) -> list[Row]:
    """Return the rows of a tree from what the program printed."""
    found: list[Row] = []
    for pair, line in enumerate(text.splitlines(), 1):
        *times, thefts = line.split()
        traced, spent, plain, plain_spent = map(float, times)
        found.append((tree, pair, traced, spent, plain, plain_spent, int(thefts)))
    if len(found) != pairs:
        raise ValueError(f"{tree}: {len(found)} pairs of {pairs}")
    return found


def middle(values: Iterable[float]) -> tuple[float, float, float]:
    """Return the median and its interval of 95 %, by the ranks of a sign test."""
    ordered = sorted(values)
    out = max(0, int(len(ordered) / 2 - 0.98 * len(ordered) ** 0.5))
    return statistics.median(ordered), ordered[out], ordered[-1 - out]


def longer(laps: list[Row], traced: int, plain: int) -> tuple[float, float, float]:
    """Return by how many per cent laps with a trace took longer: the median and its interval."""
    return middle(100 * (float(row[traced]) / float(row[plain]) - 1) for row in laps)


def main() -> int:
    """Measure, write the table, and say what it comes to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="the program `traced`")
    parser.add_argument("--pairs", type=int, help="of each tree")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    table = Table(options.output / "overhead.csv", command="studies/traces/run overhead")
    made: list[Row] = []
    for tree, usual in TREES.items():
        pairs = options.pairs or usual
        command = [str(options.program), tree, str(pairs)]
        try:
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            own = rows(tree, done.stdout, pairs)
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            print(f"overhead: {error}", file=sys.stderr)
            return 1
        for what, (traced, plain) in {"processors": (3, 5), "wall": (2, 4)}.items():
            found = "{:+.2f} % [{:+.2f}, {:+.2f}]".format(*longer(own, traced, plain))
            print(f"{tree}, {what}: {found}, {pairs} pairs")
        made += own
    table.write_rows(COLUMNS, made)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
