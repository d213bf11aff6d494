"""Limits: how far the growth found may be from the one expected, and how well they match.

The rules are those of Shudler et al. (ICS 2015, sections 2.3 and 2.4): a deviation D, by default
the expectation with its leading exponent halved inside its class; limits E/D and E·D, which are
themselves allowed; bounds 1 and E² for the search; the divergence δ = G/E. O(1) has D = 1 by
default, so that any growth exceeds it; give a D where that is too strict.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from tidings.scaling.terms import CONSTANT, Term

FEWEST_SIZES = 5
"""With fewer there is a verdict only of repetitions with little noise."""


class Match(Enum):
    """How the growth found meets the one expected; the value is the paper's mark."""

    TOTAL = "✓"
    APPROXIMATE = "≈"
    NONE = "✗"


def default_deviation(expected: Term) -> Term:
    """Return D: the expectation's leading exponent, halved, in its own class; at least 1."""
    half = abs(expected.leading) / 2
    index = expected.class_index
    none = Fraction(0)
    return Term(
        logs=half if index == 0 else none,
        power=half if index == 1 else none,
        rate=half if index == 2 else none,
    )


@dataclass(frozen=True)
class Limits:
    """The deviation limits of an expectation: growth from `lower` to `upper` is allowed."""

    expected: Term
    deviation: Term

    @classmethod
    def around(cls, expected: Term, deviation: Term | None = None) -> Limits:
        """Set limits by a deviation, or by the default one. A deviation below 1 is rejected."""
        chosen = default_deviation(expected) if deviation is None else deviation
        if chosen < CONSTANT:
            raise ValueError(
                f"a deviation of {chosen.big_o()} shrinks, so it allows nothing: "
                "give one that grows, like p^(1/4), or 1"
            )
        return cls(expected, chosen)

    @property
    def lower(self) -> Term:
        """E/D."""
        return self.expected / self.deviation

    @property
    def upper(self) -> Term:
        """E·D."""
        return self.expected * self.deviation

    @property
    def bounds(self) -> tuple[Term, Term]:
        """The default bounds of the search: 1 and E², in order; for O(1), 1 and log²."""
        square = Term(logs=Fraction(2)) if self.expected.is_constant else self.expected**2
        return (min(CONSTANT, square), max(CONSTANT, square))

    def match(self, growth: Term) -> Match:
        """Rank the growth found: total, approximate (limits included), or none."""
        if growth == self.expected:
            return Match.TOTAL
        within = self.lower <= growth <= self.upper
        return Match.APPROXIMATE if within else Match.NONE

    def divergence(self, growth: Term) -> Term:
        """Return δ = G/E."""
        return growth / self.expected
