"""Documented complexities of NumPy, SciPy, NetworkX and sortedcontainers, as expectations.

    pip install scipy networkx sortedcontainers
    pytest -p tidings.scaling.pytest_plugin examples/scaling/test_libraries.py

docs/guides/scaling.md says what was found.
"""
# Tests as users write them, without annotations.
# ruff: noqa: ANN001, ANN201

import networkx
import numpy as np
import scipy.fft
import scipy.optimize
import scipy.spatial
from sortedcontainers import SortedList

POWERS = [2**k for k in range(8, 16)]
SMALL = [2**k for k in range(3, 9)]


def numbers(n):
    """Return n numbers drawn at random."""
    return np.random.default_rng(n).random(n)


def points(n):
    """Return n points of a plane."""
    return np.random.default_rng(n).random((n, 2))


def graph(n):
    """Return a graph of n nodes with four edges each."""
    return networkx.random_regular_graph(4, n, seed=1)


def filled(n):
    """Return a sorted list of n numbers; its index is built by the first search by position."""
    values = SortedList(numbers(n).tolist())
    values.bisect_left(0.5)
    return values


def test_numpy_sort(scaling):
    """NumPy: a sort is O(n log n)."""
    scaling(np.sort, setup=numbers, per="batch", n=POWERS).expect("n log n")


def test_numpy_searchsorted(scaling):
    """NumPy: a binary search is O(log n)."""
    scaling(
        lambda values: np.searchsorted(values, 0.3),
        setup=lambda n: np.sort(numbers(n)),
        per="batch",
        n=POWERS,
    ).expect("log n")


def test_scipy_fft(scaling):
    """SciPy: a Fourier transform is O(n log n)."""
    scaling(scipy.fft.fft, setup=numbers, per="batch", n=POWERS).expect("n log n")


def test_scipy_tree(scaling):
    """SciPy: a k-d tree is built in O(n log n)."""
    scaling(scipy.spatial.cKDTree, setup=points, per="batch", n=POWERS).expect("n log n")


def test_scipy_assignment(scaling):
    """SciPy: linear_sum_assignment is O(n^3) at worst."""
    scaling(
        lambda costs: scipy.optimize.linear_sum_assignment(costs),
        setup=lambda n: np.random.default_rng(n).random((n, n)),
        per="batch",
        n=SMALL,
    ).expect("n^3")


def test_networkx_search(scaling):
    """NetworkX: a breadth-first search is O(n + m), here O(n)."""
    scaling(
        lambda g: networkx.single_source_shortest_path_length(g, 0), setup=graph, n=SMALL
    ).expect("n", metric="bytecodes")


def test_networkx_all_pairs(scaling):
    """NetworkX: floyd_warshall is O(n^3)."""
    scaling(networkx.floyd_warshall, setup=graph, n=[8, 12, 16, 24, 32, 48]).expect(
        "n^3", metric="bytecodes"
    )


def test_sortedcontainers_index(scaling):
    """sortedcontainers: SortedList.index is O(log n)."""
    scaling(lambda values: values.bisect_left(0.3), setup=filled, n=POWERS).expect(
        "log n", metric="bytecodes"
    )


def test_sortedcontainers_add(scaling):
    """sortedcontainers: SortedList.add is O(log n), by time."""
    scaling(lambda values: values.add(0.3), setup=filled, n=POWERS).expect("log n", within="n^0.2")
