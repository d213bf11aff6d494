"""Counts the ways to place queens none of which attacks another: calls that submit calls.

    python3 examples/nqueens.py [--size 10] [--depth 2] [--store STORE] [--workers N]

A call places a queen in the next row, and submits a call for each place; the calls of row DEPTH
count the rest themselves. A call that waits for others does those that nobody has begun, so that
few workers are enough for any depth. The store is a file, since the processes that do calls submit
to it too.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import tidings.tasks as tt


def is_safe(columns: tuple[int, ...], column: int) -> bool:
    """Return whether a queen in the next row is attacked by none of those above it."""
    row = len(columns)
    return all(
        column not in (other, other + row - above, other - row + above)
        for above, other in enumerate(columns)
    )


def placements(size: int, columns: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the columns with one more row, in each way that is safe."""
    return [(*columns, column) for column in range(size) if is_safe(columns, column)]


def count(size: int, columns: tuple[int, ...] = ()) -> int:
    """Return in how many ways the rows below these can be filled."""
    if len(columns) == size:
        return 1
    return sum(count(size, more) for more in placements(size, columns))


def count_shared(size: int, depth: int, columns: tuple[int, ...] = ()) -> int:
    """Return the same, by calls of their own for the first rows."""
    if len(columns) >= depth:
        return count(size, columns)
    executor = tt.current_executor()
    calls = [executor.submit(count_shared, size, depth, more) for more in placements(size, columns)]
    return sum(call.result() for call in calls)


def main() -> None:
    """Run it as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=10, help="rows of the board (10)")
    parser.add_argument("--depth", type=int, default=2, help="rows with calls of their own (2)")
    parser.add_argument("--store", help="file:PATH or usual (a file that is removed)")
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    if options.size < 1 or options.depth < 0:
        parser.error("a board has at least one row, and no number of rows is negative")
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or f"file:{Path(folder) / 'store'}"
        with tt.Executor(store, workers=options.workers) as executor:
            print(executor.submit(count_shared, options.size, options.depth).result())


if __name__ == "__main__":
    main()
