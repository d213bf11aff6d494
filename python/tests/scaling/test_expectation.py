"""Expectations: what can be read, what is rejected, and the caret's position."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tidings.scaling.expectation import Expectation, ExpectationError
from tidings.scaling.terms import Term


@pytest.mark.parametrize(
    ("text", "power", "logs", "rate"),
    [
        ("O(1)", 0, 0, 0),
        ("3", 0, 0, 0),
        ("O(log p)", 0, 1, 0),
        ("O(p^1.25 log^2 p)", 1.25, 2, 0),
        ("n log n", 1, 1, 0),
        ("n*log2(n)", 1, 1, 0),
        ("k^3 2^k", 3, 0, 1),
        ("k³2^k", 3, 0, 1),
        ("4^k", 0, 0, 2),
        ("2^(k/2)", 0, 0, "1/2"),
        ("2^(1.5 k)", 0, 0, "3/2"),
        ("2^-k", 0, 0, -1),
        ("1/p", -1, 0, 0),
        ("p^-0.5", "-1/2", 0, 0),
        ("1/(p log p)", -1, -1, 0),
        ("p^0.33 / log p", "33/100", -1, 0),
        ("sqrt(n)", "1/2", 0, 0),
        ("√p log p", "1/2", 1, 0),
        ("p^(2/3)", "2/3", 0, 0),
        ("p^{0.67} log p", "67/100", 1, 0),
        ("5 n + 3 n^2 + log n", 2, 0, 0),
        ("(n + 1) log n", 1, 1, 0),
        ("log(n^2)", 0, 1, 0),
        ("n - 1", 1, 0, 0),
        ("n (n - 1) / 2", 2, 0, 0),
        ("O(n log n - n + 1)", 1, 1, 0),
        ("Θ(n)", 1, 0, 0),
        ("Theta(n log n)", 1, 1, 0),
    ],
)
def test_growth_is_read(text: str, power: float, logs: float, rate: float) -> None:
    assert Expectation.parse(text).term == Term.of(power, logs, rate)


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("O(p^^2)", 4, "exponent is missing"),
        ("O(p log)", 7, "variable is missing"),
        ("O(p", 3, "`)` is missing"),
        ("O p", 2, "`(` is missing"),
        ("n + m", 4, "two variables"),
        ("nlogn", 0, "one word"),
        ("n!", 1, "a factorial is not among the terms"),
        ("n * m log n", 4, "keep one fixed"),
        ("factorial(n)", 10, "`factorial` is not among the functions"),
        ("1 - n", 2, "must grow more slowly"),
        ("n - n", 2, "must grow more slowly"),
        ("Ω(n)", 0, "states no upper limit"),
        ("n log(log n)", 5, "log log is not among the terms"),
        ("", 0, "a term is missing"),
        ("n +", 3, "a term is missing"),
        ("n log log n", 6, "log log is not among the terms"),
        ("n^(1/0)", 5, "division by zero"),
        ("p^log p", 2, "exponent is missing"),
        ("log n^2", 5, "of a logarithm: log^2 n, or log(n^2)"),
        ("log(n)^2", 6, "of a logarithm: log^2 n, or log(n^2)"),
        ("0 n", 0, "coefficient"),
        ("p)", 1, "not expected"),
        ("2^", 2, "exponent is missing"),
    ],
)
def test_unreadable_text_is_rejected_with_a_caret(text: str, column: int, problem: str) -> None:
    with pytest.raises(ExpectationError) as refused:
        Expectation.parse(text)
    assert problem in refused.value.problem
    assert refused.value.column == column
    lines = str(refused.value).splitlines()
    assert lines[2] == "    " + " " * column + "^"
    assert "write it like" in lines[3]


def test_theta_is_two_sided() -> None:
    assert Expectation.parse("Θ(n)").two_sided
    assert not Expectation.parse("O(n)").two_sided


@pytest.mark.parametrize("power", ["0", "1", "-1", "2/3", "1.25", "-1/2", "0.37"])
@pytest.mark.parametrize("logs", ["0", "1", "2", "-1", "1/2"])
@pytest.mark.parametrize("rate", ["0", "1", "2", "-1", "3/2"])
def test_what_is_written_is_read_again(power: str, logs: str, rate: str) -> None:
    term = Term.of(power, logs, rate)
    assert Expectation.parse(term.big_o("q")).term == term


def test_terms_are_ordered_by_growth_at_large_sizes() -> None:
    listed = ["2^-k", "1/k", "1/log k", "1", "log k", "k^0.01", "k", "k log k", "k^9", "2^(k/9)"]
    terms = [Expectation.parse(text).term for text in listed]
    assert terms == sorted(terms)
    assert [term.class_name for term in terms][2:6] == ["F1", "F1", "F1", "F2"]


def test_values_are_logarithms_so_that_none_overflows() -> None:
    term = Term.of(power=1, rate=1)
    values = term.log_value(np.array([4.0, 1e6]))
    assert values == pytest.approx([math.log(64.0), math.log(1e6) + 1e6 * math.log(2)])


def test_floats_become_near_fractions() -> None:
    assert Term.of(power=0.1).power == Fraction(1, 10)
