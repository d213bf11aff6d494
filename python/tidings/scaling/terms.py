"""Terms of growth: x^a · log2(x)^b · 2^(c·x), without a coefficient, as exact fractions.

A term is what big O notation keeps. The three classes of Shudler et al. (ICS 2015, section 2.3) are
F1 = log2(x)^i, F2 = x^i and F3 = 2^(i·x); a term belongs to the highest class that it has a part
of, and O(1) to F1 with exponent 0. Terms multiply and divide by adding exponents, so a divergence
G/E is a term again, and they are ordered by how fast they grow at large sizes: first by c, then a,
then b.

Values are returned as natural logarithms: 2^x is beyond a float from x = 1024 on, its logarithm is
not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, total_ordering
from typing import Union

import numpy as np
from numpy.typing import NDArray

Exponent = Union[int, float, str, Fraction]
"""What is accepted as an exponent: a float becomes the nearest fraction."""

CLASSES = ("F1", "F2", "F3")
_LARGEST_DENOMINATOR = 10_000
_PLAIN_DECIMALS = 3


def exponent(value: Exponent) -> Fraction:
    """Return an exponent as an exact fraction."""
    if isinstance(value, float):
        return Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    return Fraction(value)


def exponent_text(value: Fraction) -> str:
    """Return an exponent as it is usually written: ``2``, ``1.25``, ``(2/3)``."""
    if value.denominator == 1:
        return str(value.numerator)
    if 10**_PLAIN_DECIMALS % value.denominator == 0:
        return f"{float(value):g}"
    if value.denominator > 64:
        return f"{float(value):.4g}"
    return f"({value.numerator}/{value.denominator})"


def exponent_short(value: Fraction) -> str:
    """Return an exponent with two decimals at most, as the tables of the paper print it."""
    return f"{float(value):.2f}".rstrip("0").rstrip(".")


@total_ordering
@dataclass(frozen=True)
class Term:
    """x^power · log2(x)^logs · 2^(rate·x); all three exponents may be negative: a decay."""

    power: Fraction = Fraction(0)
    logs: Fraction = Fraction(0)
    rate: Fraction = Fraction(0)

    @classmethod
    def of(cls, power: Exponent = 0, logs: Exponent = 0, rate: Exponent = 0) -> Term:
        """Make a term of any numbers."""
        return cls(exponent(power), exponent(logs), exponent(rate))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """The hash, kept: that of fractions takes some microseconds."""
        return hash(self.order)

    @property
    def order(self) -> tuple[Fraction, Fraction, Fraction]:
        """The order of terms by growth at large sizes."""
        return (self.rate, self.power, self.logs)

    @property
    def class_name(self) -> str:
        """The class of the paper: ``F1``, ``F2`` or ``F3``."""
        return CLASSES[self.class_index]

    @property
    def class_index(self) -> int:
        """The class as a number: 0 for F1, 1 for F2, 2 for F3."""
        if self.rate:
            return 2
        return 1 if self.power else 0

    @property
    def leading(self) -> Fraction:
        """The exponent inside the term's own class."""
        return (self.logs, self.power, self.rate)[self.class_index]

    @property
    def is_constant(self) -> bool:
        """Whether this is O(1)."""
        return not (self.rate or self.power or self.logs)

    def __lt__(self, other: Term) -> bool:
        return self.order < other.order

    def __mul__(self, other: Term) -> Term:
        return Term(self.power + other.power, self.logs + other.logs, self.rate + other.rate)

    def __truediv__(self, other: Term) -> Term:
        return Term(self.power - other.power, self.logs - other.logs, self.rate - other.rate)

    def __pow__(self, by: Exponent) -> Term:
        factor = exponent(by)
        return Term(self.power * factor, self.logs * factor, self.rate * factor)

    def log_value(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln of the term at each size; -inf where the term is 0, as log x at x = 1."""
        values: NDArray[np.float64] = log_values([self], x)[0]
        return values

    def text(self, variable: str = "x", short: bool = False) -> str:
        """Return the term in notation that can be read: ``p^1.25 log p``, ``k^3 2^k``, ``1/p``."""
        above, below = self._factors(variable, short)
        if not below:
            return " ".join(above) or "1"
        under = below[0] if len(below) == 1 else f"({' '.join(below)})"
        slash = "/" if not above else " / "
        return f"{' '.join(above) or '1'}{slash}{under}"

    def big_o(self, variable: str = "x", short: bool = False) -> str:
        """Return the term in big O notation."""
        return f"O({self.text(variable, short)})"

    def _factors(self, variable: str, short: bool) -> tuple[list[str], list[str]]:
        write = exponent_short if short else exponent_text
        above: list[str] = []
        below: list[str] = []
        for value, bare in ((self.power, variable), (self.logs, "log")):
            if value:
                magnitude = write(abs(value))
                factor = bare if magnitude == "1" else f"{bare}^{magnitude}"
                factor = f"log{factor[3:]} {variable}" if bare == "log" else factor
                (above if value > 0 else below).append(factor)
        if self.rate:
            (above if self.rate > 0 else below).append(
                _exponential_text(self.rate, variable, write)
            )
        return above, below


def _exponential_text(rate: Fraction, variable: str, write: object) -> str:
    """Return 2^(rate·x) with a whole base where there is one: ``2^k``, ``3^k``, ``2^(1.5 k)``."""
    assert callable(write)
    magnitude = abs(rate)
    base = 2.0 ** float(magnitude)
    if magnitude == 1:
        return f"2^{variable}"
    if abs(base - round(base)) < 1e-3 * base and round(base) > 2:
        return f"{round(base)}^{variable}"
    return f"2^({write(magnitude)} {variable})"


CONSTANT = Term()
"""O(1)."""


def log_values(terms: Sequence[Term], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln of each term (rows) at each size (columns, positive numbers)."""
    exponents = np.array([[float(t.power), float(t.logs), float(t.rate)] for t in terms])
    return log_values_of(exponents.reshape(-1, 3), x)


def log_values_of(exponents: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln of x^a · log2(x)^b · 2^(c·x) for rows (a, b, c), at each size.

    Below 1, where a logarithm is negative, it counts as 0.
    """
    if (x > 1.0).all():
        # The usual case, where all terms are finite: no row needs to be left out.
        logs = exponents[:, 1:2] * np.log(np.log2(x))
        return np.asarray(_log_values_without_logs(exponents, x) + logs)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_log = np.log(np.maximum(np.log2(x), 0.0))
        values = _log_values_without_logs(exponents, x)
        has_log = exponents[:, 1] != 0
        values[has_log] += exponents[has_log, 1:2] * log_log
    return values


def _log_values_without_logs(
    exponents: NDArray[np.float64], x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ln of x^a · 2^(c·x) for rows (a, b, c), at each size."""
    return np.asarray(exponents[:, :1] * np.log(x) + exponents[:, 2:] * (x * math.log(2.0)))
