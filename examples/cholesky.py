"""Factors a matrix by tiles: a graph of calls whose arguments are results of others.

    python3 examples/cholesky.py [--tiles 32] [--size 32] [--store STORE] [--workers N]

A = L L^T, and each of the n (n + 1) (n + 2) / 6 calls makes a tile of L or takes a product from a
tile of A. A call is submitted at once, with the futures of those whose results it reads; it begins
when they are there, and they go from call to call. Processes that do calls may be killed: what
they had begun is done again, and what had ended is not.

Source: A. Buttari, J. Langou, J. Kurzak and J. Dongarra, A class of parallel tiled linear algebra
algorithms for multicore architectures, Parallel Computing 35 (2009) 38-53.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import tidings.tasks as tt
from numpy.typing import NDArray

Tile = NDArray[np.float64]


def triangle(tile: Tile) -> Tile:
    """Factor a tile of the diagonal (potrf)."""
    return np.linalg.cholesky(tile)


def solved(factor: Tile, tile: Tile) -> Tile:
    """Return X of X factor^T = tile (trsm)."""
    return np.linalg.solve(factor, tile.T).T


def reduced(tile: Tile, left: Tile, right: Tile) -> Tile:
    """Return tile - left right^T (syrk and gemm)."""
    return tile - left @ right.T


def factor(submit: Callable[..., Any], tiles: list[list[Any]]) -> list[list[Any]]:
    """Submit the graph for the lower half of a matrix. Return the futures of the tiles of L."""
    size = len(tiles)
    for k in range(size):
        tiles[k][k] = submit(triangle, tiles[k][k])
        for i in range(k + 1, size):
            tiles[i][k] = submit(solved, tiles[k][k], tiles[i][k])
        for i in range(k + 1, size):
            for j in range(k + 1, i + 1):
                tiles[i][j] = submit(reduced, tiles[i][j], tiles[i][k], tiles[j][k])
    return tiles


def matrix(order: int) -> Tile:
    """Return a symmetric matrix that is positive definite, always the same."""
    random = np.random.default_rng(1).random((order, order))
    return random @ random.T + order * np.eye(order)


def cut(whole: Tile, tiles: int) -> list[list[Any]]:
    """Return the tiles of the lower half, a row each."""
    size = len(whole) // tiles

    def tile(i: int, j: int) -> Tile:
        return whole[i * size : (i + 1) * size, j * size : (j + 1) * size].copy()

    return [[tile(i, j) for j in range(i + 1)] for i in range(tiles)]


def joined(tiles: list[list[Tile]]) -> Tile:
    """Return the lower half whose tiles these are, with zeros above it."""
    empty = np.zeros_like(tiles[0][0])
    rows = [row + [empty] * (len(tiles) - len(row)) for row in tiles]
    return np.block(rows)


def error(whole: Tile, lower: Tile) -> float:
    """Return |A - L L^T| / |A|, by Frobenius's norm."""
    return float(np.linalg.norm(whole - lower @ lower.T) / np.linalg.norm(whole))


def main() -> None:
    """Run it as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tiles", type=int, default=32, help="of a row (32)")
    parser.add_argument("--size", type=int, default=32, help="numbers of a row of a tile (32)")
    parser.add_argument("--store", default="memory:", help="memory:, file:PATH or usual")
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    if options.tiles < 1 or options.size < 1:
        parser.error("a matrix has at least one tile, and a tile one number")
    whole = matrix(options.tiles * options.size)
    with tt.Executor(options.store, workers=options.workers) as executor:
        futures = factor(executor.submit, cut(whole, options.tiles))
        lower = joined([[future.result() for future in row] for row in futures])
    calls = options.tiles * (options.tiles + 1) * (options.tiles + 2) // 6
    print(f"calls {calls}")
    print(f"error {error(whole, lower):.1e}")


if __name__ == "__main__":
    main()
