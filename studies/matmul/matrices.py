"""The matrices that all programs multiply, made from their places, and the check of a product.

An element is a hash of its place, so that every rank makes its own part, and summa.c the same
numbers (the hash is lowbias32 of https://nullprogram.com/blog/2018/07/31/). A product is checked as
Freivalds did: with a random vector x, A (B x) is computed by two products with a vector, and
compared with C x.

Source: R. Freivalds, Probabilistic machines can use less running time, IFIP Congress 1977.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

SEEDS = {"a": 1, "b": 2}

GOLDEN = 0x9E3779B9
"""Keeps the places of matrices apart."""

VECTORS = 4
"""By which a product is checked: each has 1 or -1 in each place."""


def block(name: str, size: int, rows: range, columns: range) -> Matrix:
    """Return a part of a matrix of so many rows and columns."""
    down = np.arange(rows.start, rows.stop, dtype=np.uint32)[:, np.newaxis] * np.uint32(size)
    place = down + np.arange(columns.start, columns.stop, dtype=np.uint32)
    place += np.uint32(SEEDS[name] * GOLDEN % 2**32)
    place ^= place >> 16
    place *= np.uint32(0x7FEB352D)
    place ^= place >> 15
    place *= np.uint32(0x846CA68B)
    place ^= place >> 16
    return place / 2.0**32 - 0.5


def whole(name: str, size: int) -> Matrix:
    """Return a matrix in one piece."""
    return block(name, size, range(size), range(size))


def error(product: Matrix) -> float:
    """Return how far a product is from the right one, as a share of the largest element of C x."""
    size = len(product)
    random = np.random.default_rng(size)
    vectors = random.choice([-1.0, 1.0], (size, VECTORS))
    expected = whole("a", size) @ (whole("b", size) @ vectors)
    return float(np.abs(product @ vectors - expected).max() / np.abs(expected).max())
