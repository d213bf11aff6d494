"""Multiplies matrices by blocks that pass through the cells of an array (Cannon's algorithm).

    python3 examples/matmul.py [--blocks 4] [--size 256] [--store STORE] [--workers N]

What a cell does is declared: it takes a block of A and one of B, which move on to its neighbours,
and changes its block of C. Nothing says when a cell runs or where; the graph follows from what it
takes. Blocks are made where they are first used, and stay on the nodes of workers with ``copies``.

Source: L. E. Cannon, A cellular computer to implement the Kalman filter algorithm, 1969; the
declaration is that of FOX-tuple.
"""

from __future__ import annotations

import argparse

import numpy as np
import tidings.tasks as tt
from numpy.typing import NDArray

Block = NDArray[np.float64]


@tt.task(copies=1)
def made(seed: int, row: int, column: int, size: int) -> Block:
    """Return a block of a matrix, always the same."""
    return np.random.default_rng((seed, row, column)).random((size, size))


@tt.task(copies=1)
def multiply(_step: int, _i: int, _j: int, left: Block, right: Block, total: Block) -> Block:
    """Return what a cell makes of its block of the product."""
    total += left @ right
    return total


def product(blocks: int, size: int) -> tt.Dependency:
    """Submit the product of two matrices of so many blocks, and return its blocks."""
    flow = tt.Flow()
    passing = flow.dependency_declare("passing", str, int, int, int)
    cell = flow.dependency_declare("cell", int, int)
    work = flow.task_declare(multiply, int, int, int)
    work.append_migrate_dependency(
        passing,
        lambda step, i, j: ("a", step, i, j),
        to=lambda step, i, j: ("a", step + 1, i, (j - 1) % blocks),
    )
    work.append_migrate_dependency(
        passing,
        lambda step, i, j: ("b", step, i, j),
        to=lambda step, i, j: ("b", step + 1, (i - 1) % blocks, j),
    )
    work.append_inout_dependency(cell, lambda step, i, j: (i, j))
    places = [(i, j) for i in range(blocks) for j in range(blocks)]
    for i, j in places:
        k = (i + j) % blocks
        passing.put("a", 0, i, j, data=made.submit(0, i, k, size))
        passing.put("b", 0, i, j, data=made.submit(1, k, j, size))
        cell.put(i, j, data=np.zeros((size, size)))
    for step in range(blocks):
        for i, j in places:
            work.submit(step, i, j)
    return cell


def whole(seed: int, blocks: int, size: int) -> Block:
    """Return a matrix in one piece."""
    rows = [[made(seed, i, j, size) for j in range(blocks)] for i in range(blocks)]
    return np.block(rows)


def main() -> None:
    """Run it as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=4, help="of a row (4)")
    parser.add_argument("--size", type=int, default=256, help="numbers of a row of a block (256)")
    parser.add_argument("--store", default="memory:", help="memory:, file:PATH or usual")
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    if options.blocks < 1 or options.size < 1:
        parser.error("a matrix has at least one block, and a block one number")
    blocks, size = options.blocks, options.size
    with tt.Executor(options.store, workers=options.workers):
        cell = product(blocks, size)
        found = np.block([[cell.get(i, j) for j in range(blocks)] for i in range(blocks)])
    expected = whole(0, blocks, size) @ whole(1, blocks, size)
    print(f"calls {blocks**3 + 2 * blocks**2}")
    print(f"error {np.linalg.norm(found - expected) / np.linalg.norm(expected):.1e}")


if __name__ == "__main__":
    main()
