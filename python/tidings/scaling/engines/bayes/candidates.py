"""Candidates: the terms that the default engine compares, and their prior weights.

The list of Extra-P (constant and 42 terms), some between and beyond, exponents in twentieths,
decays, exponentials where sizes are small enough to distinguish them, and all pairs of a leading
and a lower term of the simpler ones, hundreds, of which `pairs` chooses those that the data do not
rule out. An exponent that is in no list is searched for by the engine itself. Prior weights are
mild and set by kinds of terms, never for single ones: the data of five sizes should outweigh them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.terms import CONSTANT, Term

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

FREE_WEIGHT = 1.0
"""Prior weight of an exponent that is in no list, over all exponents."""

FREE_LOGS = (0.0, 1.0)
"""The logarithms beside such an exponent."""

CONSTANT_WEIGHT = 2.5
"""Prior weight of no growth at all; a term of the list has about 1."""

LARGEST_EXPONENTIAL_SIZE = 128.0
"""Exponentials are weighed where the largest size is at most this."""

_EXTRA_P = (
    ("0", "1 2"),
    ("1/4 1/3", "0 1 2"),
    ("1/2", "0 1 2"),
    ("2/3 3/4", "0 1 2"),
    ("4/5", "0"),
    ("1", "0 1 2"),
    ("5/4 4/3", "0 1"),
    ("3/2", "0 1 2"),
    ("5/3 7/4", "0"),
    ("2", "0 1 2"),
    ("9/4 7/3", "0"),
    ("5/2", "0 1 2"),
    ("8/3 11/4", "0"),
    ("3", "0 1"),
)
_BEYOND = (("5/4 4/3", "2"), ("5/3 7/4 7/3 8/3", "1"), ("0", "1/2 3/2 3"), ("4", "0"))
_TWENTIETHS = range(1, 60)
_TWENTIETH_WEIGHT = 0.1
_HALVING = {Term.of("1.58496"): 0.3, Term.of("2.80735"): 0.3}
"""log2 3 and log2 7: products of numbers and of matrices by halves (Karatsuba, Strassen)."""
_DECAYS = (("-1/4 -1/3 -1/2 -2/3 -3/4 -1 -5/4 -4/3 -3/2 -2", "0"), ("-1/2 -1", "1"), ("0", "-1"))
_POWER_WEIGHTS = {1: 1.2, 2: 1.0, 3: 0.7, 4: 0.7, 5: 0.3}
_LOG_WEIGHTS = {0: 1.0, 1: 0.65, 2: 0.45}
_LOGS_ALONE = {Fraction(1): 1.0, Fraction(2): 0.7}
_RARE_LOGS = 0.6
_RATES = (
    ("1/3", 0.7, 0.3),
    ("1/2", 0.7, 0.5),
    ("1", 2.0, 2.0),
    ("3/2", 0.4, 0.3),
    ("1.585", 0.7, 0.2),
    ("2", 0.7, 0.3),
)
"""Rates of exponentials, and their weights with a power of x up to 1, and of 2 to 4."""
_SHRINKING_WEIGHT = 0.1
_UNEVEN = 0.2
"""Less weight for exponentials where sizes go up by factors: then few of them show any growth."""
PAIRS_WEIGHT = 12.0
"""Prior weight of all sums of two terms together."""

_PAIR_POWERS = {1: 1.0, 2: 0.8, 3: 0.2, 4: 0.3}
_PAIR_LOGS = {Fraction(0): 1.0, Fraction(1): 0.5, Fraction(2): 0.1}
"""Weights of a term in a pair, by its power's denominator and its logarithms; others are in none.

A pair has the product of both its terms' weights, and is omitted if that is below `_RAREST_PAIR`:
two rare terms are seldom in one sum.
"""
_RAREST_PAIR = 0.05
_LARGEST_PAIRED_POWER = 3
_SHARED_OUT = Term.of(-1)
"""The only decay in a pair, as its lower term: work that is divided among processes."""


@dataclass(frozen=True)
class Candidates:
    """Terms with prior weights, slowest first, and pairs of a leading and a lower term.

    `exponents` are (power, logs, rate) of each term; `grows` the indices of all but the constant;
    `leads` and `lowers` the indices of pairs' terms.
    """

    terms: tuple[Term, ...]
    weights: Floats
    exponents: Floats
    grows: Places
    leads: Places
    lowers: Places
    pair_weights: Floats

    @cached_property
    def log_pair_weights(self) -> Floats:
        """Logarithms of the pairs' weights."""
        return np.log(self.pair_weights)

    @cached_property
    def is_growing(self) -> NDArray[np.bool_]:
        """Which terms are none of the constant."""
        return np.asarray(self.exponents.any(axis=1))

    @cached_property
    def growing(self) -> Floats:
        """Exponents of all terms but the constant."""
        return self.exponents[self.grows]

    @cached_property
    def growing_weights(self) -> Floats:
        """Weights of all terms but the constant."""
        return self.weights[self.grows]

    @cached_property
    def families(self) -> tuple[Places, ...]:
        """Indices of the powers of x beside each of the logarithms that a free one may have."""
        power, logs, rate = self.exponents.T
        grows = (rate == 0) & (power != 0)
        return tuple(np.flatnonzero(grows & (logs == family)) for family in FREE_LOGS)

    @cached_property
    def in_pairs(self) -> tuple[Places, Places]:
        """The indices of terms that are in pairs, and pairs' terms among those.

        The latter are two rows: leading terms and lower ones.
        """
        paired, places = np.unique(np.array([self.leads, self.lowers]), return_inverse=True)
        return paired, places.reshape(2, -1).astype(np.intp)

    @property
    def lead_exponents(self) -> Floats:
        """Exponents of the pairs' leading terms."""
        return self.exponents.take(self.leads, axis=0)

    @property
    def lower_exponents(self) -> Floats:
        """Exponents of the pairs' lower terms."""
        return self.exponents.take(self.lowers, axis=0)


def candidates(sizes: Floats, expected: Term | None = None) -> Candidates:
    """Return the candidates for ascending sizes; an expectation joins the list."""
    exponential = 0.0
    if sizes[-1] <= LARGEST_EXPONENTIAL_SIZE:
        steps = np.diff(sizes)
        exponential = 1.0 if steps.max() <= 1.01 * steps.min() else _UNEVEN
    plain = _candidates(exponential, None)
    if expected is None or expected in _listed_terms(exponential):
        return plain
    return _candidates(exponential, expected)


@lru_cache(maxsize=64)
def _candidates(exponential_weight: float, expected: Term | None) -> Candidates:
    weights = {CONSTANT: CONSTANT_WEIGHT}
    weights.update({Term(Fraction(part, 20)): _TWENTIETH_WEIGHT for part in _TWENTIETHS})
    weights.update(_HALVING)
    weights.update(_listed(_EXTRA_P, 1.0))
    weights.update(_listed(_BEYOND, 0.15))
    weights.update(_listed(_DECAYS, 0.7))
    if exponential_weight:
        weights.update(_exponentials(exponential_weight))
    if expected is not None and expected not in weights:
        weights[expected] = 0.5
    terms = tuple(sorted(weights))
    leads, lowers, pair_weights = _pairs(terms)
    return Candidates(
        terms,
        np.array([weights[term] for term in terms]),
        np.array([[float(t.power), float(t.logs), float(t.rate)] for t in terms]),
        np.array([index for index, term in enumerate(terms) if not term.is_constant]),
        leads,
        lowers,
        pair_weights,
    )


@lru_cache(maxsize=4)
def _listed_terms(exponential_weight: float) -> frozenset[Term]:
    """Return the terms as a set, in which one is found without comparing it with all."""
    return frozenset(_candidates(exponential_weight, None).terms)


def _pairs(terms: tuple[Term, ...]) -> tuple[Places, Places, Floats]:
    """Return the indices of leading and of lower terms of all pairs, and the pairs' weights."""
    shares = np.array([pair_share(term) for term in terms])
    paired = np.flatnonzero(shares)
    first, second = np.triu_indices(len(paired), 1)
    weights = shares[paired[second]] * shares[paired[first]]
    met = weights >= _RAREST_PAIR - 1e-9
    weights = weights[met] * (PAIRS_WEIGHT / weights[met].sum())
    return paired[second][met], paired[first][met], weights


def pair_share(term: Term) -> float:
    """Return the weight of a term in a pair; 0 where it is in none."""
    grows = term > CONSTANT and not term.rate and term.power <= _LARGEST_PAIRED_POWER
    if not grows and term != _SHARED_OUT:
        return 0.0
    return _PAIR_POWERS.get(term.power.denominator, 0.0) * _PAIR_LOGS.get(term.logs, 0.0)


def _listed(groups: tuple[tuple[str, str], ...], factor: float) -> dict[Term, float]:
    return {
        Term(power, logs): factor * _weight(power, logs)
        for powers, logs_of in groups
        for power in map(Fraction, powers.split())
        for logs in map(Fraction, logs_of.split())
    }


def _weight(power: Fraction, logs: Fraction) -> float:
    """Return the weight of a listed term: the simpler its exponents, the more."""
    if power == 0:
        return _LOGS_ALONE.get(logs, _RARE_LOGS)
    return _POWER_WEIGHTS[power.denominator] * _LOG_WEIGHTS.get(int(logs), _RARE_LOGS)


def _exponentials(factor: float) -> dict[Term, float]:
    listed = {
        Term.of(power, 0, rate): factor * (low if power < 2 else high)
        for rate, low, high in _RATES
        for power in range(5)
    }
    listed[Term.of(0, 0, -1)] = factor * _SHRINKING_WEIGHT
    return listed
