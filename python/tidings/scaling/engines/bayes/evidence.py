"""Evidence: how probable the data are under each candidate, integrated over its unknown constants.

A candidate is f(x) = A·(o(x) + e^u·g(x)): a growing part g, beside it o, which is a constant, a
lower term, or both; A scales all and integrates out (`noise`); u, the logarithm of the growing
part's share at the middle size, is integrated numerically. All constants are positive by
construction. The prior of u is logistic, so that the share is about uniform; its width follows how
far g ranges over the sizes, as a prior on the size at which g overtakes the rest would. A term
alone (o = 0) is a candidate of its own.

A free exponent and the constant beside a pair of terms are a second unknown q. Its best value and
width come from a damped Gauss–Newton search; then a few values of q around it are rows like all
others.

All candidates are rows of arrays and are treated together; nothing loops over them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.noise import Noise
from tidings.scaling.terms import log_values_of

Floats = NDArray[np.float64]

_EVEN = np.linspace(0.0, 1.0, 13)
_IS_COARSE = np.arange(13) % 3 == 0
_COARSE, _BETWEEN = _EVEN[_IS_COARSE], _EVEN[~_IS_COARSE]
"""Nodes of every row, by which its best one is looked for, and of the rows that are likely."""

_LOCAL = np.array([-14, -8, -5, -3.4, -2.3, -1.5, -0.9, -0.4, 0, 0.4, 0.9, 1.5, 2.3, 3.4, 5, 8, 14])
_MARGIN = 6.0
_PAIR_MARGIN = 2.2
"""A leading term beside a lower one must reach a tenth of it at some size, or it does not count."""
_STEPS = 4
_MORE_STEPS = 8
_LONG = 0.2
"""Steps that every row takes, and then those whose next one is longer than this part of a peak."""
_SEARCH_STEPS = 4
"""Searches begin near their ends."""
_CLIP = 300.0
_RIDGE = 1e-12
JUMP_SCALE = 0.6
"""Scale of the logistic prior of a jump's logarithm: half of all are below a factor of two."""

_HOPELESS = 14.0
"""Rows with an integral about this far below the best, in logarithms, are integrated roughly."""


@dataclass(frozen=True)
class Rows:
    """Candidates, one per row: exponents (power, logs, rate) of the growing and of the lower part.

    `constant` is the logarithm of the constant beside the growing part (-inf: none); `lower_scale`
    that of the lower part (-inf: none). Both at the middle size.
    """

    growing: Floats
    lower: Floats
    lower_scale: Floats
    constant: Floats

    @classmethod
    def beside_constant(cls, growing: Floats) -> Rows:
        """Rows of a term and a constant."""
        count = len(growing)
        absent = np.full(count, -np.inf)
        return cls(growing, np.zeros((count, 3)), absent, np.zeros(count))

    @classmethod
    def beside_lower(cls, growing: Floats, lower: Floats, constant: Floats) -> Rows:
        """Rows of a term and a lower one, and a constant."""
        return cls(growing, lower, np.zeros(len(growing)), constant)

    def joined(self, other: Rows) -> Rows:
        """Return these rows and the others."""
        return Rows(
            np.concatenate([self.growing, other.growing]),
            np.concatenate([self.lower, other.lower]),
            np.concatenate([self.lower_scale, other.lower_scale]),
            np.concatenate([self.constant, other.constant]),
        )

    def terms_of(self, row: int) -> Floats:
        """Return the exponents of a row's terms: the growing and the lower part, a constant."""
        lower = [self.lower[row]] if math.isfinite(self.lower_scale[row]) else []
        every = [self.growing[row], *lower, np.zeros(3)]
        return np.unique(np.array(every), axis=0)

    def parts(self, sizes: Relative, clip: float = _CLIP) -> tuple[Floats, Floats]:
        """Return o(x) and ln g(x), both relative to the middle size.

        For predictions, `clip` is infinite.
        """
        growing = _within(sizes.logs(self.growing), -clip, clip)
        beside = np.repeat(np.exp(self.constant)[:, None], growing.shape[1], axis=1)
        has_lower = np.flatnonzero(np.isfinite(self.lower_scale))
        if len(has_lower):
            lower = _within(sizes.logs(self.lower[has_lower]), -_CLIP, _CLIP)
            beside[has_lower] += np.exp(lower + self.lower_scale[has_lower, None])
        return beside, growing


class Relative:
    """Sizes relative to a middle one: ln of all terms by one product, where no logarithm is 0."""

    def __init__(self, sizes: Floats, middle: float) -> None:
        """Keep what all terms have in common."""
        self.points = np.append(sizes, middle)
        self.along: Floats | None = None
        if self.points.min() > 1.0:
            logs = np.log(self.points)
            along = np.array([logs, np.log(logs), self.points * math.log(2.0)])
            self.along = along[:, :-1] - along[:, -1:]

    def logs(self, exponents: Floats) -> Floats:
        """Return ln of terms at the sizes less that at the middle one."""
        if self.along is not None:
            return np.asarray(exponents @ self.along)
        values = log_values_of(exponents, self.points)
        return np.asarray(values[:, :-1] - values[:, -1:])


@dataclass(frozen=True)
class Integral:
    """The result of integrating rows: ln of each integral, and what it is a sum over.

    `row` and `nodes` are the row and u of a point, `log_weights` its part of the integral, with R
    and ln A there.
    """

    log_evidence: Floats
    row: NDArray[np.intp]
    nodes: Floats
    log_weights: Floats
    squares: Floats
    levels: Floats


@dataclass(frozen=True)
class Peak:
    """Rows' likeliest u with its standard deviation, and R and ln A there."""

    at: Floats
    width: Floats
    squares: Floats
    levels: Floats


class Problem:
    """The data that rows are compared with: logarithms at sizes, and their noise."""

    above: Floats | None = None
    """1 where data are beyond a jump; none here."""

    def __init__(self, sizes: Floats, logs: Floats, noise: Noise) -> None:
        """Keep the data; the middle size is where shares are given."""
        self.sizes = sizes
        self.logs = logs
        self.noise = noise
        self.weights = noise.weights / noise.weights.sum()
        self.count_weight = float(noise.weights.sum())
        self.middle = float(sizes[len(sizes) // 2])
        self.relative = Relative(sizes, self.middle)

    def centred(self, values: Floats) -> Floats:
        """Return values without what the level takes up."""
        return np.asarray(values - (values @ self.weights)[..., None])

    def free(self, values: Floats) -> Floats:
        """Return values without what is fitted beside all coefficients: nothing here."""
        return values

    def residuals(self, shapes: Floats) -> tuple[Floats, Floats, Floats]:
        """Return residuals of ln f, their weighted sum of squares, and ln A."""
        distance = self.logs - shapes
        level = distance @ self.weights
        distance = distance - level[..., None]
        return distance, (distance * distance) @ self.weights * self.count_weight, level

    def fitted(self, shapes: Floats) -> tuple[Floats, ...]:
        """Return the squares and ln A, and whatever else `likelihood` asks for."""
        return self.residuals(shapes)[1:]

    def likelihood(self, squares: Floats, *_: Floats) -> Floats:
        """Return ln p(data) of squares."""
        return self.noise.log_likelihood(squares)

    def alone(self, growing: Floats) -> Integral:
        """Weigh terms alone, without a constant or lower term."""
        squares, levels, *more = self.fitted(self.shapes_alone(growing))
        likelihood = self.likelihood(squares, *more)
        count = len(growing)
        nodes = np.zeros(count)
        return Integral(likelihood, np.arange(count), nodes, likelihood, squares, levels)

    def shapes_alone(self, growing: Floats) -> Floats:
        """Return ln of terms alone at the sizes, relative to the middle one."""
        return _within(self.relative.logs(growing), -_CLIP, _CLIP)

    def integrate(self, rows: Rows) -> Integral:
        """Integrate each row over the share of its growing part; hopeless rows only roughly."""
        beside, growing = rows.parts(self.relative)
        factor = np.exp(growing)
        margin = np.where(np.isfinite(rows.lower_scale), _PAIR_MARGIN, _MARGIN)
        even = np.log(beside) - growing
        low, reach = even.min(axis=1) - margin, even.max(axis=1) + _MARGIN
        reach -= low
        coarse = low[:, None] + reach[:, None] * _COARSE
        rough = self._at(beside, factor, coarse)
        best = coarse[np.arange(len(coarse)), rough[0].argmin(axis=1)]
        peak = self._refined(beside, factor, best, low, low + reach)
        scale = _prior_scale(growing)
        height = _narrow(peak, self.likelihood(peak.squares), scale)
        is_likely = height > height.max() - _HOPELESS
        likely = np.flatnonzero(is_likely)
        low, reach = low[likely, None], reach[likely, None]
        near = peak.at[likely, None] + peak.width[likely, None] * _LOCAL
        added = np.concatenate([low + reach * _BETWEEN, _within(near, low, low + reach)], axis=1)
        fine = self._at(beside[likely], factor[likely], added)
        nodes, squares, levels, *more = _sorted(
            (coarse[likely], *(part[likely] for part in rough)), (added, *fine)
        )
        log_weights = self.likelihood(squares, *more) + _log_prior(nodes, scale[likely, None])
        log_weights += np.log(_spacing(nodes))
        log_evidence = height.copy()
        log_evidence[likely] = _log_sums(log_weights)
        rest = np.flatnonzero(~is_likely)
        return Integral(
            log_evidence,
            np.concatenate([rest, np.repeat(likely, nodes.shape[1])]),
            np.concatenate([peak.at[rest], nodes.ravel()]),
            np.concatenate([height[rest], log_weights.ravel()]),
            np.concatenate([peak.squares[rest], squares.ravel()]),
            np.concatenate([peak.levels[rest], levels.ravel()]),
        )

    def _at(self, beside: Floats, factor: Floats, nodes: Floats) -> tuple[Floats, ...]:
        shapes = np.log(beside[:, None, :] + np.exp(nodes)[:, :, None] * factor[:, None, :])
        return self.fitted(shapes)

    def _refined(
        self, beside: Floats, factor: Floats, best: Floats, low: Floats, high: Floats
    ) -> Peak:
        """Improve u by Gauss–Newton steps; return where they end, and how wide the peak is."""
        state = self._stepped(beside, factor, best, low, high)
        for _ in range(_STEPS):
            state = self._stepped(beside, factor, state[0] + state[1], low, high)
        for _ in range(_MORE_STEPS):
            moving = self._moving(state, low, high)
            if not len(moving):
                break
            at, step = state[:2, moving]
            state[:, moving] = self._stepped(
                beside[moving], factor[moving], at + step, low[moving], high[moving]
            )
        at, _, squares, levels, power = state
        return Peak(at, np.minimum(self._width(squares, power), (high - low) / 10), squares, levels)

    def _stepped(
        self, beside: Floats, factor: Floats, at: Floats, low: Floats, high: Floats
    ) -> Floats:
        """Return u within its range, the step from there, and R, ln A and the slope's square."""
        at = _within(at, low, high)
        grown = np.exp(at)[:, None] * factor
        total = beside + grown
        distance, squares, levels = self.residuals(np.log(total))
        slope = self.centred(grown / total)
        power = (slope * slope) @ self.weights + 1e-300
        step = _within((slope * distance) @ self.weights / power, -1.5, 1.5)
        return np.array([at, step, squares, levels, power])

    def _moving(self, state: Floats, low: Floats, high: Floats) -> NDArray[np.intp]:
        """Return the rows whose next step is long beside the peak, if they are likely after it.

        That is so where values are nearly exact: the peak is narrower than the steps before it.
        """
        at, step, squares, _, power = state
        step = _within(at + step, low, high) - at
        after = np.maximum(squares - step * step * power * self.count_weight, 0.0)
        height = self.noise.log_likelihood(after)
        likely = height > height.max() - _HOPELESS
        return np.flatnonzero(likely & (np.abs(step) > _LONG * self._width(squares, power)))

    def _width(self, squares: Floats, power: Floats) -> Floats:
        """Return the standard deviation of u by the curvature of the likelihood."""
        sharpness = 2 * self.noise.slope(squares) * power * self.count_weight
        return np.asarray(1.0 / np.sqrt(sharpness + 1e-300))

    def search(
        self, rows: Rows, slope_of: Floats, free: NDArray[np.bool_], u: Floats, q: Floats
    ) -> Found:
        """Search the best (u, q) of rows by damped Gauss–Newton steps.

        For rows where `free` is true, q is added to the growing part's power, whose derivative is
        `slope_of` (ln x relative to the middle); elsewhere q is the logarithm of the constant.
        """
        beside, growing = rows.parts(self.relative)
        state = _Search(self, beside, growing, slope_of, free)
        damping = np.full(len(u), 1e-2)
        normal = state.at(u, q)
        for _ in range(_SEARCH_STEPS):
            step = _damped(normal, damping)
            trial_u, trial_q = u + step[0], q + step[1]
            trial = state.at(trial_u, trial_q)
            better = trial[0] < normal[0]
            u, q = np.where(better, trial_u, u), np.where(better, trial_q, q)
            normal = np.where(better, trial, normal)
            damping = np.where(better, damping * 0.1, damping * 10)
        squares, a, b, d = normal[:4]
        a, b, d = (self.count_weight * part for part in (a, b, d))
        variance = (a + _RIDGE) / np.maximum((a + _RIDGE) * (d + _RIDGE) - b * b, 1e-30)
        width = np.sqrt(variance / np.maximum(2 * self.noise.slope(squares), 1e-30))
        return Found(u, q, width, squares)


class Stepped(Problem):
    """The same data beside a jump of the level from one size on; the jump is integrated out.

    Given a candidate, the jump is linear in the logarithms, as the level is: residuals leave out
    what it takes up, and the likelihood has the area of its peak. Its logarithm has a logistic
    prior.
    """

    def __init__(
        self, problem: Problem, place: int, jump: float = 0.0, above: Floats | None = None
    ) -> None:
        """Take the data with a jump before `sizes[place]`, and move it down by a likely one.

        `above` is 1 where the data are beyond the jump, if that is not from a place on.
        """
        if above is None:
            above = (np.arange(len(problem.sizes)) >= place).astype(float)
        super().__init__(problem.sizes, problem.logs - jump * above, problem.noise)
        self.above = above
        self.place = place
        self.moved = jump
        self.step = above - above @ self.weights
        spread = float((self.step * self.step) @ self.weights)
        self.along = self.step * self.weights / spread
        self.sharpness = spread * self.count_weight

    def centred(self, values: Floats) -> Floats:
        """Return values without what the level and the jump take up."""
        left = super().centred(values)
        return np.asarray(left - (left @ self.along)[..., None] * self.step)

    def free(self, values: Floats) -> Floats:
        """Return values without what the jump takes up."""
        return np.asarray(self.centred(values) + (values @ self.weights)[..., None])

    def residuals(self, shapes: Floats) -> tuple[Floats, Floats, Floats]:
        """Return residuals beside the best jump, their weighted sum of squares, and ln A."""
        return self._beside(shapes)[:3]

    def fitted(self, shapes: Floats) -> tuple[Floats, ...]:
        """Return the squares, ln A and the best jump."""
        return self._beside(shapes)[1:]

    def likelihood(self, squares: Floats, *jumps: Floats) -> Floats:
        """Return ln p(data), integrated over the jump around the best one."""
        area = 0.5 * np.log(2 * math.pi * self.noise.variance(squares) / self.sharpness)
        z = np.abs(jumps[0] + self.moved) / JUMP_SCALE if jumps else 0.0
        density = -z - 2 * np.log1p(np.exp(-z)) - math.log(JUMP_SCALE)
        return np.asarray(self.noise.log_likelihood(squares) + area + density)

    def _beside(self, shapes: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        distance, _, level = super().residuals(shapes)
        jump = distance @ self.along
        distance = distance - jump[..., None] * self.step
        squares = (distance * distance) @ self.weights * self.count_weight
        return distance, squares, level, jump


@dataclass(frozen=True)
class Found:
    """The best u and q of rows, the standard deviation of q, and R there."""

    u: Floats
    q: Floats
    width: Floats
    squares: Floats


class _Search:
    """Normal equations of rows with a second unknown."""

    def __init__(
        self,
        problem: Problem,
        beside: Floats,
        growing: Floats,
        slope_of: Floats,
        free: NDArray[np.bool_],
    ) -> None:
        self.problem = problem
        self.beside = beside
        self.growing = growing
        self.slopes = free[:, None] * slope_of
        self.fixed = np.where(free, 0.0, 1.0)

    def at(self, u: Floats, q: Floats) -> Floats:
        """Return the squares, the products a, b, d of both derivatives, and the right sides."""
        power = u[:, None] + self.growing + q[:, None] * self.slopes
        constant = (np.exp(_within(q, -40.0, 40.0)) * self.fixed)[:, None]
        grown = np.exp(_within(power, -_CLIP, _CLIP))
        total = self.beside + constant + grown
        distance, squares, _ = self.problem.residuals(np.log(total))
        share = grown / total
        first = self.problem.centred(share)
        second = self.problem.centred(share * self.slopes + constant / total)
        sides = np.concatenate([first * first, first * second, second * second])
        ends = np.concatenate([first * distance, second * distance])
        products = np.concatenate([sides, ends]) @ self.problem.weights
        return np.concatenate([squares[None], products.reshape(5, -1)])


def _damped(normal: Floats, damping: Floats) -> Floats:
    """Solve the damped normal equations of two unknowns, row by row."""
    _, a, b, d, first, second = normal
    a = a * (1 + damping) + 1e-14
    d = d * (1 + damping) + 1e-14
    determinant = np.maximum(a * d - b * b, 1e-30)
    solved = np.array([d * first - b * second, a * second - b * first]) / determinant
    return _within(solved, -2.0, 2.0)


def _within(values: Floats, low: Floats | float, high: Floats | float) -> Floats:
    """Return np.clip, without its overhead for small arrays."""
    return np.asarray(np.minimum(np.maximum(values, low), high))


def _sorted(some: tuple[Floats, ...], others: tuple[Floats, ...]) -> list[Floats]:
    """Join arrays with others along the nodes, and sort all by the first, which is the nodes."""
    joined = [np.concatenate(pair, axis=1) for pair in zip(some, others)]
    order = joined[0].argsort(axis=1, kind="stable")
    return [np.take_along_axis(array, order, axis=1) for array in joined]


def _narrow(peak: Peak, log_likelihood: Floats, scale: Floats) -> Floats:
    """Return integrals by Laplace's approximation."""
    area = np.log(peak.width * math.sqrt(2 * math.pi) + 1e-300)
    return np.asarray(log_likelihood + _log_prior(peak.at, scale) + area)


def _prior_scale(growing: Floats) -> Floats:
    """Return the scale of the logistic prior of u, row by row."""
    return np.asarray(1.0 + 0.1 * (growing.max(axis=1) - growing.min(axis=1)))


def _log_prior(nodes: Floats, scale: Floats) -> Floats:
    """Return ln of the logistic density of u."""
    z = np.abs(nodes / scale)
    return np.asarray(-z - 2 * np.log1p(np.exp(-z)) - np.log(scale))


def _log_sums(logs: Floats) -> Floats:
    """Return ln of the sum of each row's exponentials."""
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))


def _spacing(nodes: Floats) -> Floats:
    """Return the trapezoidal weights of sorted nodes."""
    gaps = np.diff(nodes, axis=1)
    spacing = np.zeros_like(nodes)
    spacing[:, :-1] += gaps / 2
    spacing[:, 1:] += gaps / 2
    return spacing + 1e-300
