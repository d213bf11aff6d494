"""Limits in two parameters: each product of an expectation with a deviation of its own.

Without a deviation, the leading exponent of a product's term in each parameter is halved, as in one
parameter: O(n log p) allows up to O(n^1.5 log^1.5 p). Growth keeps the limit if each of its
products is O(the limit).
"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.scaling.limits import Match, default_deviation
from tidings.scaling.terms import CONSTANT
from tidings.scaling.two_parameters.products import Product, Sum


@dataclass(frozen=True)
class TwoLimits:
    """Growth from `lower` to `upper` is allowed."""

    expected: Sum
    lower: Sum
    upper: Sum

    @classmethod
    def around(cls, expected: Sum, deviation: Sum | None = None) -> TwoLimits:
        """Set limits by a deviation, or by the default one. A deviation below 1 is rejected."""
        if deviation is None:
            pairs = [(product, _default(product)) for product in expected.products]
        elif len(deviation.products) > 1:
            raise ValueError("a deviation is one product, like p^(1/4) n^(1/4): not a sum")
        else:
            pairs = [(product, deviation.products[0]) for product in expected.products]
        for _, allowed in pairs:
            if allowed.first < CONSTANT or allowed.second < CONSTANT:
                raise ValueError(
                    f"a deviation of {Sum((allowed,)).big_o('p, n')} shrinks, so it allows "
                    "nothing: give one that grows, like p^(1/4), or 1"
                )
        return cls(
            expected,
            Sum.of(product / allowed for product, allowed in pairs),
            Sum.of(product * allowed for product, allowed in pairs),
        )

    def match(self, growth: Sum) -> Match:
        """Rank the growth found: total, approximate (limits included), or none."""
        if growth == self.expected:
            return Match.TOTAL
        within = self.upper.covers(growth) and growth.covers(self.lower)
        return Match.APPROXIMATE if within else Match.NONE

    def divergence(self, growth: Sum) -> Sum:
        """Return δ: the product of the growth that exceeds most, by the nearest one expected."""
        beyond = [product for product in growth.products if not self.upper.bounds(product)]
        product = (beyond or list(growth.products))[0]
        nearest = min(self.expected.products, key=lambda expected: _excess(product / expected))
        return Sum((product / nearest,))


def _default(product: Product) -> Product:
    return Product(default_deviation(product.first), default_deviation(product.second))


def _excess(ratio: Product) -> float:
    """Return by how much a product grows or shrinks in both parameters; logarithms count little."""
    terms = (ratio.first, ratio.second)
    return sum(abs(1e3 * float(t.rate) + float(t.power) + 1e-2 * float(t.logs)) for t in terms)
