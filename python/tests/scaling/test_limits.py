"""Limits and search spaces: the paper's rules, and its worked example."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tidings.scaling import search_space
from tidings.scaling.expectation import Expectation
from tidings.scaling.limits import Limits, Match, default_deviation
from tidings.scaling.terms import CONSTANT, Term


def term(text: str) -> Term:
    """Read a term."""
    return Expectation.parse(text).term


@pytest.mark.parametrize(
    ("expected", "deviation"),
    [
        ("p", "sqrt p"),
        ("log p", "log^0.5 p"),
        ("log^2 p", "log p"),
        ("n log n", "n^0.5"),
        ("k^3 2^k", "2^(k/2)"),
        ("1", "1"),
        ("1/p", "sqrt p"),
    ],
)
def test_default_deviation_halves_the_leading_exponent(expected: str, deviation: str) -> None:
    assert default_deviation(term(expected)) == term(deviation)


def test_limits_are_allowed() -> None:
    limits = Limits.around(term("p"))
    assert (limits.lower, limits.upper) == (term("p^0.5"), term("p^1.5"))
    assert limits.bounds == (CONSTANT, term("p^2"))
    assert limits.match(term("p")) is Match.TOTAL
    assert limits.match(term("p^1.5")) is Match.APPROXIMATE
    assert limits.match(term("p^0.5")) is Match.APPROXIMATE
    assert limits.match(term("p^1.5 log p")) is Match.NONE
    assert limits.match(term("log p")) is Match.NONE


def test_a_deviation_that_shrinks_is_rejected() -> None:
    with pytest.raises(ValueError, match="shrinks"):
        Limits.around(term("p"), term("1/p"))


def test_the_paper_s_example() -> None:
    """Section 2.3: {1, log p, p^1/4, p^1/4 log p, sqrt p, ..., p^7/4 log p, p^2}."""
    powers = [Fraction(i, 4) for i in range(8)]
    expected = [Term(power=power, logs=Fraction(logs)) for power in powers for logs in (0, 1)]
    assert search_space.around(term("p")) == [*expected, term("p^2")]


def test_resolution_can_be_set() -> None:
    coarse = search_space.around(term("p"), rounds=1, small=[])
    assert coarse == [term(t) for t in ("1", "p^0.5", "p", "p^1.5", "p^2")]
    fine = search_space.around(term("p"), rounds=3, small=[0.5, 1])
    assert term("p^1.125 log^0.5 p") in fine


def test_spaces_of_the_other_classes() -> None:
    logarithmic = search_space.around(term("log p"))
    assert logarithmic == [Term(logs=Fraction(i, 4)) for i in range(9)]
    exponential = search_space.around(term("k^3 2^k"))
    for text in ("1", "2^k", "k^2 2^k", "k^3 2^k", "k^4 2^k", "k^6 4^k", "2^(k/2)"):
        assert term(text) in exponential
    assert max(exponential) == term("k^6 4^k")
    decay = search_space.around(term("1/p"))
    assert (min(decay), max(decay)) == (term("p^-2"), CONSTANT)


def test_the_constant_is_searched_among_logarithms() -> None:
    """Section 3.3: O(1) counts as F1, so that its bounds are wider than itself."""
    assert search_space.around(CONSTANT) == [Term(logs=Fraction(i, 2)) for i in range(5)]


def test_the_mpi_study_s_space() -> None:
    """Section 3.3: multiples of 1/4 and 1/3 to 2, times logarithms to the powers 0 and 1."""
    space = search_space.mpi()
    assert len(space) == 26
    assert term("p^(5/3) log p") in space
    assert max(space) == term("p^2 log p")
