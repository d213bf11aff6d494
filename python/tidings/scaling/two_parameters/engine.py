"""The engine for two parameters: Bayesian model averaging over sums of terms in both.

A model has a term f in the first parameter and g in the second, and is one of the sums of 1, f, g
and f·g that grow; or it has f·g and a second term h in one of the parameters, as n log p + p has.
Coefficients are positive. All combinations of likely terms are weighed (`candidates`), by their
evidence (`fits`), with the noise of the engine for one parameter. The prior depends on the kind of
sum, and on its terms.

Whether f and g multiply shows only where both are larger: on a cross, whose lines meet at the
smallest values, sum and product of terms are the same, and the verdict says that it needs a point
beside the lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import averaging
from tidings.scaling.engines.bayes.averaging import NEAR, NEAR_SHARE, probability
from tidings.scaling.engines.bayes.evidence import Problem
from tidings.scaling.engines.bayes.noise import noise_of
from tidings.scaling.engines.bayes.posterior import (
    BEYOND_EXPONENTIAL,
    BEYOND_LOG,
    BEYOND_REACH,
    EXPECTED_SHARE,
)
from tidings.scaling.engines.bayes.summary import Summary, summarize
from tidings.scaling.terms import CONSTANT, log_values
from tidings.scaling.two_parameters import fits
from tidings.scaling.two_parameters.candidates import Axis, axis
from tidings.scaling.two_parameters.points import MOST_POINTS, PointsMeasurement
from tidings.scaling.two_parameters.products import ONE, Product, Sum

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Odds = tuple[float, float]
"""Ln of the mean evidence of growth that keeps limits, and of all other."""

_F, _G, _FG, _OTHER = "f", "g", "fg", "h"
_KINDS: tuple[tuple[tuple[str, ...], int, float], ...] = (
    ((_F,), 1, 0.02),
    (("1", _F), 1, 0.08),
    ((_G,), 1, 0.02),
    (("1", _G), 1, 0.08),
    ((_F, _G), 2, 0.10),
    (("1", _F, _G), 2, 0.15),
    ((_FG,), 1, 0.10),
    (("1", _FG), 1, 0.15),
    ((_F, _FG), 1, 0.06),
    ((_G, _FG), 1, 0.06),
    (("1", _F, _FG), 1, 0.05),
    (("1", _G, _FG), 1, 0.05),
    ((_F, _G, _FG), 1, 0.03),
    (("1", _F, _G, _FG), 1, 0.03),
)
"""Sums of terms, the leading ones last; how many lead; and the prior of each sum."""

_KINDS_OF_PAIRS: tuple[tuple[tuple[str, ...], int, float], ...] = (
    ((_OTHER, _FG), 2, 0.02),
    (("1", _OTHER, _FG), 2, 0.02),
    ((_OTHER, _FG), 1, 0.01),
    (("1", _OTHER, _FG), 1, 0.01),
)
"""The same with a second term h in one parameter: faster than that in the product, or slower."""

_CONSTANT_PRIOR = 0.05
_STATED_PRIOR = math.log(3e-6)
"""Ln of the prior of the sum that is stated: too little to dilute the kinds that are searched."""
_MOST_PRODUCTS = 5
_LARGEST_LOG = 300.0
_NEGLIGIBLE = 1e-5
_LIKELY = 1e-4
_SPREAD = np.array([-2.8, -1.9, -1.2, -0.6, 0.0, 0.6, 1.2, 1.9, 2.8])
_SPREAD_WEIGHTS = np.exp(-(_SPREAD**2) / 2) * np.gradient(_SPREAD)


@dataclass(frozen=True)
class _Kind:
    """All models of one sum: indices of f, g and h (-1: none), and their fits.

    `side` is the parameter that h is in. The sum that is stated has `products` instead.
    """

    terms: tuple[str, ...]
    leads: int
    side: int
    first: Places
    second: Places
    other: Places
    fits: fits.Fits
    products: tuple[Product, ...] = ()

    def places(self, models: Places) -> tuple[Places, Places, Places]:
        """Return the indices of some models' f, g and h."""
        return self.first[models], self.second[models], self.other[models]

    def growth(self, at: tuple[int, int, int], axes: tuple[Axis, Axis]) -> Sum:
        """Return the growth of a model: the sum of its leading terms."""
        if self.products:
            return Sum.of(self.products[-self.leads :])
        own = (axes[0], axes[1], axes[self.side])
        f, g, h = (axis.terms[i] if i >= 0 else CONSTANT for axis, i in zip(own, at))
        products = {
            "1": Product(),
            _F: Product(f),
            _G: Product(second=g),
            _FG: Product(f, g),
            _OTHER: Product(second=h) if self.side else Product(h),
        }
        return Sum.of(products[name] for name in self.terms[-self.leads :])


@dataclass(frozen=True)
class TwoModel:
    """The posterior of growth in two parameters."""

    measurement: PointsMeasurement
    summary: Summary
    problem: Problem
    axes: tuple[Axis, Axis]
    kinds: tuple[_Kind, ...]
    middle: int
    log_prior: Floats
    log_evidence: Floats
    weigh: Callable[[Problem], TwoModel]

    @cached_property
    def wider_noise(self) -> float:
        """The probability that points scatter more than their repetitions."""
        best = min(float(kind.fits.squares.min()) for kind in self.kinds)
        return self.problem.noise.wider(best)

    @cached_property
    def shares(self) -> Floats:
        """The probability of each model."""
        return averaging.shares(self.log_prior, self.log_evidence)

    @cached_property
    def _grown(self) -> tuple[tuple[Sum, ...], Places]:
        """The different growths, and the place of each model's among them."""
        places: dict[Sum, int] = {}
        known: dict[tuple[object, ...], int] = {}
        listed = []
        for kind in self.kinds:
            leading = kind.terms[-kind.leads :]
            for at in zip(kind.first.tolist(), kind.second.tolist(), kind.other.tolist()):
                key = (leading, kind.side, *at)
                if key not in known:
                    growth = kind.growth(at, self.axes)
                    known[key] = places.setdefault(growth, len(places))
                listed.append(known[key])
        return tuple(places), np.array(listed)

    @cached_property
    def by_growth(self) -> dict[Sum, float]:
        """The probability of each growth, the largest first."""
        growths, places = self._grown
        shares = np.bincount(places, self.shares, len(growths)).tolist()
        return dict(sorted(zip(growths, shares), key=lambda pair: -pair[1]))

    @cached_property
    def growth(self) -> Sum:
        """The growth that the data favour: with the most probability in and closely around it."""
        likely = [growth for growth, share in self.by_growth.items() if share > _LIKELY]
        mass = np.array([self.by_growth[growth] for growth in likely])
        near = np.array([[_near(one, other) for other in likely] for one in likely], dtype=float)
        return likely[int((mass + NEAR_SHARE * ((near - np.eye(len(likely))) @ mass)).argmax())]

    def likely(self, variables: str, count: int = 5) -> dict[str, float]:
        """Return the likeliest growths as text, with their probabilities."""
        listed = list(self.by_growth.items())[:count]
        return {growth.big_o(variables): share for growth, share in listed}

    def form(self, _variable: str = "") -> str:
        """Return the form of exact counts: none is looked for in two parameters."""
        return ""

    def probability(self, expected: Sum, lower: Sum | None, upper: Sum) -> float:
        """Return P(limits are kept), with even prior odds for and against the expectation."""
        return between(self.for_and_against(expected, lower, upper))

    def for_and_against(self, expected: Sum, lower: Sum | None, upper: Sum) -> list[Odds]:
        """Return ln of the mean evidence of growth that keeps the limits, and of all other.

        Where sum and product of terms are not told apart, there are two such pairs: each model is
        taken for the faster and for the slower one.
        """
        below, (growths, places) = _Cached(upper), self._grown

        def asked(question: Callable[[Sum], bool]) -> NDArray[np.bool_]:
            return np.array([question(growth) for growth in growths])[places]

        beyond = np.zeros(len(places))
        if lower is None:
            beyond = -np.array([below.distance(growth) for growth in growths])[places]
        kept = asked(lambda g: below.covers(g) and (lower is None or g.covers(lower)))
        exact = asked(lambda g: g == expected)
        if self.measurement.has_corner:
            return [self._odds(kept, exact, beyond)]
        strict = kept & asked(lambda g: below.covers(g.multiplied()))
        lenient = kept | asked(lambda g: lower is None and below.covers(g.added()))
        return [self._odds(strict, exact & strict, beyond), self._odds(lenient, exact, beyond)]

    def _odds(self, kept: NDArray[np.bool_], exact: NDArray[np.bool_], beyond: Floats) -> Odds:
        return averaging.for_and_against(
            self.log_prior, self.log_evidence, kept, exact, EXPECTED_SHARE, beyond / BEYOND_REACH
        )

    def likely_values(self) -> Floats:
        """Return ln of the values at all points (columns) by models that are not unlikely."""
        found, begin = [], 0
        for kind in self.kinds:
            share = self.shares[begin : begin + len(kind.first)]
            begin += len(kind.first)
            kept = np.flatnonzero(share > _LIKELY)
            if kind.products:
                terms = _stated_terms(kind.products, self.measurement.points, self.middle)[None]
                terms = terms[: len(kept)]
            else:
                terms = _terms(self.axes, kind.terms, kind.side, kind.places(kept))
            found.append(np.logaddexp.reduce(kind.fits.logs[kept][:, :, None] + terms, axis=1))
        return np.concatenate(found)

    def log_interval(self, point: tuple[float, float], level: float = 0.95) -> tuple[float, float]:
        """Return ln of the interval that holds the expected value at a point."""
        at = np.array([(1 - level) / 2, (1 + level) / 2])
        low, high = averaging.quantiles(*self._at(point), at)
        return (float(low), float(high))

    def interval(self, point: tuple[float, float], level: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds the expected value at a point with this probability."""
        low, high = self.log_interval(point, level)
        return (_exp(low), _exp(high))

    def residual(self) -> float:
        """Return the standard deviation of a point's logarithm around the likeliest growth."""
        squares = np.concatenate([kind.fits.squares for kind in self.kinds])
        return math.sqrt(float(self.problem.noise.variance(squares[self.shares.argmax()])))

    def _at(self, point: tuple[float, float]) -> tuple[Floats, Floats]:
        """Return ln of the value at a point by all models with any weight, and their weights."""
        spots, masses, begin = [], [], 0
        for kind in self.kinds:
            share = self.shares[begin : begin + len(kind.first)]
            begin += len(kind.first)
            kept = np.flatnonzero(share > _NEGLIGIBLE)
            if not len(kept):
                continue
            logs = self._terms_at(kind, kept, point) + kind.fits.logs[kept]
            total = np.logaddexp.reduce(logs, axis=1)
            parts = np.exp(logs - total[:, None])
            along = np.einsum("mi,mij->mj", parts, kind.fits.roots[kept])
            variance = self.problem.noise.variance(kind.fits.squares[kept])
            spread = np.sqrt(variance * (along**2).sum(axis=1))
            spots.append((total[:, None] + spread[:, None] * _SPREAD).ravel())
            masses.append((share[kept, None] * _SPREAD_WEIGHTS).ravel())
        return np.concatenate(spots) + self.summary.reference, np.concatenate(masses)

    def _terms_at(self, kind: _Kind, kept: Places, point: tuple[float, float]) -> Floats:
        """Return logarithms of a kind's terms at a point, as those at the measured ones."""
        middle = self.measurement.points[self.middle]
        if kind.products:
            there = np.array([point, middle])
            return _stated_terms(kind.products, there, 1)[None, :, 0][: len(kept)]
        values = []
        for own, at, centre in zip(self.axes, point, middle):
            logs = log_values(own.terms, np.array([at, centre]))
            finite = np.where(np.isfinite(logs[:, 1]), logs[:, 1], 0.0)
            values.append(np.append(np.clip(logs[:, 0] - finite, -700, 700), 0.0))
        f, g = values[0][kind.first[kept]], values[1][kind.second[kept]]
        h = values[kind.side][kind.other[kept]]
        return np.stack([_part(name, f, g, h) for name in kind.terms], axis=1)


class _Cached:
    """A limit that has to be compared with many growths, which have few different products."""

    def __init__(self, limit: Sum) -> None:
        self.limit = limit
        self.known: dict[Product, bool] = {}
        self.apart: dict[Product, float] = {}

    def covers(self, growth: Sum) -> bool:
        for product in growth.products:
            if product not in self.known:
                self.known[product] = self.limit.bounds(product)
        return all(self.known[product] for product in growth.products)

    def distance(self, growth: Sum) -> float:
        """Return how far a growth is beyond the limit, as an exponent."""
        for product in growth.products:
            if product not in self.apart:
                excess = [_excess(product / own) for own in self.limit.products]
                self.apart[product] = 0.0 if self.limit.bounds(product) else min(excess)
        return max(self.apart[product] for product in growth.products)


def _excess(ratio: Product) -> float:
    """Return by how much a ratio grows in both parameters, as an exponent."""
    grown = (
        BEYOND_EXPONENTIAL * float(t.rate) + float(t.power) + BEYOND_LOG * float(t.logs)
        for t in (ratio.first, ratio.second)
    )
    return sum(max(exponent, 0.0) for exponent in grown)


def between(odds: list[Odds]) -> float:
    """Return P(limits are kept); of two, the one nearer to a half, and a half between them."""
    found = [probability(*pair) for pair in odds]
    return found[0] if len(found) == 1 else sorted((*found, 0.5))[1]


def _part(name: str, f: Floats, g: Floats, h: Floats) -> Floats:
    return {"1": np.zeros_like(f), _F: f, _G: g, _FG: f + g, _OTHER: h}[name]


def _near(one: Sum, other: Sum) -> bool:
    """Whether two growths have the same rates and exponents within 1/4."""
    if len(one.products) != len(other.products):
        return False
    return all(
        a.rate == b.rate and abs(a.power - b.power) <= NEAR
        for mine, its in zip(one.products, other.products)
        for a, b in ((mine.first, its.first), (mine.second, its.second))
    )


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


def fit(
    measurement: PointsMeasurement,
    expected: Sum | None = None,
    stated: Sequence[Product] = (),
) -> TwoModel:
    """Return the posterior; an expectation, if there is one, is among the candidates.

    `stated` are its products as they were written, also such that others exceed.
    """
    summary = summarize(measurement.rows, MOST_POINTS)
    products = expected.products if expected else ()
    asked = ([p.first for p in products], [p.second for p in products])
    points, lines = measurement.points, measurement.lines
    middle = _middle(points)

    def weigh(problem: Problem) -> TwoModel:
        axes = tuple(axis(problem, points[:, i], lines[i], middle, asked[i]) for i in (0, 1))
        kinds, priors = _weighed(problem, (axes[0], axes[1]), middle)
        if expected and not expected.is_constant:
            own = _stated(problem, expected, stated, points, middle)
            kinds += own
            priors = np.append(priors, np.full(len(own), _STATED_PRIOR))
        evidence = np.concatenate([kind.fits.log_evidence for kind in kinds])
        return TwoModel(
            measurement, summary, problem, (axes[0], axes[1]), tuple(kinds), middle,
            priors, evidence, weigh,
        )  # fmt: skip

    return weigh(Problem(summary.sizes, summary.logs, noise_of(summary, measurement.rows.apart)))


def _middle(points: Floats) -> int:
    """Return the point nearest to the middle of both parameters, by logarithms."""
    logs = np.log(points)
    apart = (logs - 0.5 * (logs.min(axis=0) + logs.max(axis=0))) / np.ptp(logs, axis=0)
    return int((apart**2).sum(axis=1).argmin())


def _weighed(problem: Problem, axes: tuple[Axis, Axis], middle: int) -> tuple[list[_Kind], Floats]:
    """Fit all models; return them with their log priors."""
    kinds, priors = [], []
    for names, leads, side, places, prior in _listed(axes):
        found = fits.fitted(problem, _terms(axes, names, side, places), leads, middle)
        kinds.append(_Kind(names, leads, side, *places, found))
        priors.append(prior)
    return kinds, np.concatenate(priors)


def _stated(
    problem: Problem, growth: Sum, stated: Sequence[Product], points: Floats, middle: int
) -> list[_Kind]:
    """Fit the sum that is stated, whatever its products: alone, with a constant, and with means.

    Growth between two products is lower than their sum: p n beside p^2 and n^2. Where that is not
    stated, it is their geometric mean.
    """
    lower = [one for one in dict.fromkeys(stated) if one not in growth.products and one != ONE]
    listed = [(*lower, *growth.products)]
    if len(growth.products) > 1 and not lower:
        means = [one**0.5 * other**0.5 for one, other in combinations(growth.products, 2)]
        listed.append((*means, *growth.products))
    kinds, none = [], np.full(1, -1)
    for products in listed:
        for own in (products, (ONE, *products)):
            if len(own) > _MOST_PRODUCTS:
                continue
            terms = _stated_terms(own, points, middle)
            found = fits.fitted(problem, terms[None], len(growth.products), middle)
            names = tuple(product.text(("p", "n")) for product in own)
            kinds.append(_Kind(names, len(growth.products), 0, none, none, none, found, own))
    return kinds


def _stated_terms(products: Sequence[Product], points: Floats, middle: int) -> Floats:
    """Return ln of products (first axis) at points, relative to the middle one."""
    logs = np.zeros((len(products), len(points)))
    for axis_of, at in enumerate(points.T):
        terms = [(one.first, one.second)[axis_of] for one in products]
        values = log_values(terms, at)
        centre = values[:, middle]
        logs += values - np.where(np.isfinite(centre), centre, 0.0)[:, None]
    return np.asarray(np.clip(logs, -_LARGEST_LOG, _LARGEST_LOG))


def _terms(
    axes: tuple[Axis, Axis], names: tuple[str, ...], side: int, places: tuple[Places, ...]
) -> Floats:
    """Return ln of the terms (second axis) of models (first) at all points."""
    none = np.zeros((1, axes[0].logs.shape[1]))
    logs = [np.concatenate([own.logs, none]) for own in axes]
    first, second, other = places
    parts = logs[0][first], logs[1][second], logs[side][other]
    return np.stack([_part(name, *parts) for name in names], axis=1)


_Listed = tuple[tuple[str, ...], int, int, tuple[Places, Places, Places], Floats]


def _listed(axes: tuple[Axis, Axis]) -> Iterator[_Listed]:
    """Yield sums with the indices of their terms and log priors."""
    count = len(axes[0].terms), len(axes[1].terms)
    every = np.divmod(np.arange(count[0] * count[1]), count[1])
    own = [np.log(axis.weights / axis.weights.sum()) for axis in axes]
    for names, leads, prior in (*_KINDS, (("1",), 1, _CONSTANT_PRIOR)):
        has_f, has_g = (any(part in name for name in names) for part in (_F, _G))
        first, second = every
        if not (has_f and has_g):
            size = count[0] if has_f else count[1] if has_g else 1
            first = np.arange(size) if has_f else np.full(size, -1)
            second = np.arange(size) if has_g else np.full(size, -1)
        weight = (own[0][first] if has_f else 0.0) + (own[1][second] if has_g else 0.0)
        places = first, second, np.full(len(first), -1)
        yield names, leads, 0, places, math.log(prior) + np.asarray(weight) + np.zeros(len(first))
    for side in (0, 1):
        fast, slow = axes[side].leads, axes[side].lowers
        across = count[1 - side]
        for names, leads, prior in _KINDS_OF_PAIRS if len(fast) else ():
            in_product, beside = (slow, fast) if leads > 1 else (fast, slow)
            at = np.repeat(in_product, across), np.tile(np.arange(across), len(fast))
            first, second = at if side == 0 else at[::-1]
            weight = own[1 - side][at[1]] - math.log(len(fast))
            yield (
                names,
                leads,
                side,
                (first, second, np.repeat(beside, across)),
                (math.log(prior) + weight),
            )
