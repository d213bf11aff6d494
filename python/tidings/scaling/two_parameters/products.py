"""Products and sums: growth in two parameters, as big O notation keeps it.

A product is a term in the first parameter times one in the second, f(p)·g(n). A sum keeps the
products that none of its others exceeds: n log p + p + n is n log p + p. The parameters grow
independently of each other, so a product is O(another) only if it is in both. It is O(e + f) also
where it lies between them: p^(1/2) n^(1/2) is O(p + n), as a mean e^s f^(1-s) is at most the sum.

Terms are compared by one number, in which exponents of x count a thousand times those of log x. It
is linear in exponents, so the shares s for which a product is below a mean are an interval.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from tidings.scaling.terms import CONSTANT, Exponent, Term

_ROUNDING = 1e-6
SEPARATOR = ", "
"""Between the names of both parameters, where they are written as one text."""


@dataclass(frozen=True)
class Product:
    """A term in the first parameter times a term in the second."""

    first: Term = CONSTANT
    second: Term = CONSTANT

    def __mul__(self, other: Product) -> Product:
        return Product(self.first * other.first, self.second * other.second)

    def __truediv__(self, other: Product) -> Product:
        return Product(self.first / other.first, self.second / other.second)

    def __pow__(self, by: Exponent) -> Product:
        return Product(self.first**by, self.second**by)

    def __hash__(self) -> int:
        return hash(self.order)

    @cached_property
    def order(self) -> tuple[float, float]:
        """A number for each term, which orders it by growth."""
        return (_order(self.first), _order(self.second))

    def grows_at_most(self, other: Product) -> bool:
        """Whether this is O(other)."""
        mine, its = self.order, other.order
        return mine[0] <= its[0] + _ROUNDING and mine[1] <= its[1] + _ROUNDING

    def text(self, variables: tuple[str, str], short: bool = False) -> str:
        """Return the product in notation that can be read: ``p log p n^2``."""
        parts = [
            term.text(name, short)
            for term, name in zip((self.first, self.second), variables)
            if not term.is_constant
        ]
        parts = [f"({part})" if _divides(part) and len(parts) > 1 else part for part in parts]
        parts.sort(key=lambda part: part.startswith("log"))
        between = " · " if len(parts) > 1 and "log" in parts[0] else " "
        return between.join(parts)


def _order(term: Term) -> float:
    return 1e7 * float(term.rate) + 1e3 * float(term.power) + float(term.logs)


def _between(product: Product, one: Product, other: Product) -> bool:
    """Whether a product is O(one^s other^(1-s)) for some s from 0 to 1."""
    low, high = 0.0, 1.0
    for mine, a, b in zip(product.order, one.order, other.order):
        spare, slope = mine - b - _ROUNDING, a - b
        if slope > 0:
            low = max(low, spare / slope)
        elif slope < 0:
            high = min(high, spare / slope)
        elif spare > 0:
            return False
    return low <= high


ONE = Product()


@dataclass(frozen=True)
class Sum:
    """A sum of products, none of which is O(the others)."""

    products: tuple[Product, ...] = (ONE,)

    @classmethod
    def of(cls, products: Iterable[Product]) -> Sum:
        """Keep the products that no other exceeds."""
        kept = list(dict.fromkeys(products))
        for product in sorted(kept, key=lambda product: product.order):
            others = [other for other in kept if other != product]
            if others and Sum(tuple(others)).bounds(product):
                kept = others
        return cls(tuple(sorted(kept, key=lambda product: product.order, reverse=True)))

    def __add__(self, other: Sum) -> Sum:
        return Sum.of((*self.products, *other.products))

    def __mul__(self, other: Sum) -> Sum:
        return Sum.of(a * b for a in self.products for b in other.products)

    def __truediv__(self, other: Product) -> Sum:
        return Sum.of(product / other for product in self.products)

    def __pow__(self, by: Exponent) -> Sum:
        return Sum.of(product**by for product in self.products)

    @property
    def is_constant(self) -> bool:
        """Whether this is O(1)."""
        return self.products == (ONE,)

    def bounds(self, product: Product) -> bool:
        """Whether a product is O(this sum)."""
        if any(product.grows_at_most(own) for own in self.products):
            return True
        return any(_between(product, one, other) for one, other in combinations(self.products, 2))

    def covers(self, other: Sum) -> bool:
        """Whether another sum is O(this one)."""
        return all(self.bounds(product) for product in other.products)

    def multiplied(self) -> Sum:
        """Return the product of the fastest terms in either parameter."""
        first = max(product.first for product in self.products)
        return Sum((Product(first, max(product.second for product in self.products)),))

    def added(self) -> Sum:
        """Return the sum of the fastest terms in either parameter."""
        (product,) = self.multiplied().products
        return Sum.of((Product(product.first), Product(second=product.second)))

    def text(self, variables: tuple[str, str], short: bool = False) -> str:
        """Return the sum as text."""
        return " + ".join(product.text(variables, short) or "1" for product in self.products)

    def big_o(self, variables: str, short: bool = False) -> str:
        """Return the sum in big O notation; `variables` are both names, as in ``p, n``."""
        first, _, second = variables.partition(SEPARATOR)
        return f"O({self.text((first, second), short)})"


def _divides(text: str) -> bool:
    return " / " in text or text.startswith("1/")
