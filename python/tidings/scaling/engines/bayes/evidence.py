"""Evidence: how probable the data are under each candidate, integrated over its unknown constants.

A candidate is f(x) = A·(o(x) + e^u·g(x)): a growing part g, beside it o, which is a constant, a
lower term, or both; A scales all and integrates out (`noise`); u, the logarithm of the growing
part's share at the middle size, is integrated numerically. All constants are positive by
construction. The prior of u is logistic, so that the share is about uniform; its width follows how
far g ranges over the sizes, as a prior on the size at which g overtakes the rest would. A term
alone (o = 0) is a candidate of its own.

A free exponent and the constant beside a pair of terms are a second unknown (`search`): a few
values of it are rows like all others.

All candidates are rows of arrays and are treated together; nothing loops over them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

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
CLIP = 300.0
JUMP_SCALE = 0.6
"""Scale of the logistic prior of a jump's logarithm: half of all are below a factor of two."""

_NO_TERMS, _NOTHING = np.zeros((0, 3)), np.zeros(0)
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
    def listed(
        cls, growing: Floats, lower: Floats = _NO_TERMS, constant: Floats = _NOTHING
    ) -> Rows:
        """Rows of terms and a constant; the last ones have lower terms, with constants of theirs.

        `growing` and `lower` are rows of exponents, `constant` logarithms as long as `lower`.
        """
        count, alone = len(growing), len(growing) - len(lower)
        lowers, scale = np.zeros((count, 3)), np.full(count, -np.inf)
        lowers[alone:], scale[alone:] = lower, 0.0
        constants = np.zeros(count)
        constants[alone:] = constant
        return cls(growing, lowers, scale, constants)

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

    def parts(self, sizes: Relative, clip: float = CLIP) -> tuple[Floats, Floats]:
        """Return o(x) and ln g(x), both relative to the middle size.

        For predictions, `clip` is infinite.
        """
        growing = within(sizes.logs(self.growing), -clip, clip)
        beside = np.repeat(np.exp(self.constant)[:, None], growing.shape[1], axis=1)
        has_lower = np.flatnonzero(np.isfinite(self.lower_scale))
        if len(has_lower):
            lower = within(sizes.logs(self.lower[has_lower]), -CLIP, CLIP)
            beside[has_lower] += np.exp(lower + self.lower_scale[has_lower, None])
        return beside, growing


class Relative:
    """Sizes relative to a middle one: ln of all terms by one product, where no logarithm is 0."""

    def __init__(self, sizes: Floats, middle: float) -> None:
        """Keep what all terms have in common."""
        self.points = np.concatenate([sizes, [middle]])
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
class Nodes:
    """Points that integrals are sums over: the row and u of each, R and ln A there.

    `log_weights` are their parts of the integrals.
    """

    row: NDArray[np.intp]
    at: Floats
    log_weights: Floats
    squares: Floats
    levels: Floats


@dataclass(frozen=True)
class Integral:
    """The result of integrating rows: ln of each integral, and the least R of all nodes."""

    log_evidence: Floats
    least: float
    made_nodes: Callable[[], Nodes]

    @cached_property
    def nodes(self) -> Nodes:
        """What it is a sum over, put together when it is first asked for."""
        return self.made_nodes()


@dataclass(frozen=True)
class Peak:
    """Rows' likeliest u with its standard deviation, and R, ln A and ln p by the noise there."""

    at: Floats
    width: Floats
    squares: Floats
    levels: Floats
    height: Floats


class Problem:
    """The data that rows are compared with: logarithms at sizes, and their noise."""

    above: Floats | None = None
    """1 where data are beyond a jump; none here."""

    def __init__(self, sizes: Floats, logs: Floats, noise: Noise) -> None:
        """Keep the data; the middle size is where shares are given."""
        self.sizes = sizes
        self.logs = logs
        self.noise = noise
        total = noise.weights.sum()
        self.weights = noise.weights / total
        self.count_weight = float(total)
        self.middle = float(sizes[len(sizes) // 2])
        self.relative = Relative(sizes, self.middle)

    def centred(self, values: Floats) -> Floats:
        """Return values without what the level takes up."""
        return np.asarray(values - (values @ self.weights)[..., None])

    def free(self, values: Floats) -> Floats:
        """Return values without what is fitted beside all coefficients: nothing here."""
        return values

    def apart(self, shapes: Floats, out: Floats | None = None) -> tuple[Floats, ...]:
        """Return residuals of ln f and ln A, and whatever else `likelihood` asks for.

        Residuals are put into `out`, which may be the shapes.
        """
        distance = np.subtract(self.logs, shapes, out=out)
        level = distance @ self.weights
        distance -= level[..., None]
        return distance, level

    def squares(self, distance: Floats, out: Floats | None = None) -> Floats:
        """Return the weighted sum of squares of residuals; `out` is memory for them."""
        squares = np.multiply(distance, distance, out=out) @ self.weights
        return np.asarray(squares * self.count_weight)

    def residuals(self, shapes: Floats) -> tuple[Floats, Floats, Floats]:
        """Return residuals of ln f, their weighted sum of squares, and ln A."""
        distance, level, *_ = self.apart(shapes)
        return distance, self.squares(distance), level

    def fitted(self, shapes: Floats, out: Floats | None = None) -> tuple[Floats, ...]:
        """Return the squares and ln A, and whatever else `likelihood` asks for.

        `out` is memory for residuals, if the shapes' own may be used.
        """
        distance, *others = self.apart(shapes, out)
        return (self.squares(distance, out), *others)

    def likelihood(self, squares: Floats, *_: Floats, height: Floats | None = None) -> Floats:
        """Return ln p(data) of squares; `height` is that of the noise alone, where it is known."""
        return self.noise.log_likelihood(squares) if height is None else height

    def alone(self, growing: Floats) -> Integral:
        """Weigh terms alone, without a constant or lower term."""
        squares, levels, *more = self.fitted(self.shapes_alone(growing))
        likelihood = self.likelihood(squares, *more)
        made = partial(_one_each, likelihood, squares, levels)
        return Integral(likelihood, float(squares.min()), made)

    def shapes_alone(self, growing: Floats) -> Floats:
        """Return ln of terms alone at the sizes, relative to the middle one."""
        return within(self.relative.logs(growing), -CLIP, CLIP)

    def integrate(self, rows: Rows) -> Integral:
        """Integrate each row over the share of its growing part; hopeless rows only roughly."""
        beside, growing = rows.parts(self.relative)
        factor = np.exp(growing)
        margin = np.where(rows.lower_scale > -np.inf, _PAIR_MARGIN, _MARGIN)
        least, largest = _range(np.log(beside) - growing)
        low, reach = least - margin, largest + _MARGIN
        reach -= low
        coarse = low[:, None] + reach[:, None] * _COARSE
        parts = np.stack([factor, beside], axis=1)
        rough = self._at(parts, coarse)
        best = coarse[np.arange(len(coarse)), rough[0].argmin(axis=1)]
        peak = self._refined(beside, factor, best, low, low + reach)
        scale = _prior_scale(growing)
        height = _narrow(peak, self.likelihood(peak.squares, height=peak.height), scale)
        is_likely = height > height.max() - _HOPELESS
        likely = is_likely.nonzero()[0]
        low, reach = low[likely][:, None], reach[likely][:, None]
        near = peak.at[likely][:, None] + peak.width[likely][:, None] * _LOCAL
        added = np.concatenate([low + reach * _BETWEEN, within(near, low, low + reach)], axis=1)
        fine = self._at(parts[likely], added)
        nodes, squares, levels, *more = _sorted(
            (coarse[likely], *(part[likely] for part in rough)), (added, *fine)
        )
        log_weights = self.likelihood(squares, *more)
        log_weights += _log_prior(nodes, scale[likely][:, None])
        log_weights += np.log(_spacing(nodes))
        log_evidence = height.copy()
        log_evidence[likely] = _log_sums(log_weights)
        left = peak.squares.min(where=~is_likely, initial=math.inf)
        made = partial(_joined, peak, height, is_likely, (nodes, log_weights, squares, levels))
        return Integral(log_evidence, float(min(left, squares.min())), made)

    def _at(self, parts: Floats, nodes: Floats) -> tuple[Floats, ...]:
        """Return what is fitted to rows at nodes (rows × nodes) of their own.

        `parts` (rows × 2 × sizes) are the growing and the other part of each row. A product of
        matrices adds them up much faster than arrays do whose last axis has a few sizes.
        """
        scales = np.ones((*nodes.shape, 2))
        np.exp(nodes, out=scales[:, :, 0])
        shapes = scales @ parts
        return self.fitted(np.log(shapes, out=shapes), out=shapes)

    def _refined(
        self, beside: Floats, factor: Floats, best: Floats, low: Floats, high: Floats
    ) -> Peak:
        """Improve u by Gauss–Newton steps; return where they end, and how wide the peak is."""
        for _ in range(_STEPS):
            at, step, *_ = self._stepped(beside, factor, best, low, high)
            best = at + step
        state = self._state(beside, factor, best, low, high)
        height, width = self._peak(state)
        for _ in range(_MORE_STEPS):
            moving = self._moving(state, width, low, high)
            if not len(moving):
                break
            moved = state[0, moving] + state[1, moving]
            state[:, moving] = self._state(
                beside[moving], factor[moving], moved, low[moving], high[moving]
            )
            height[moving], width[moving] = self._peak(state[:, moving])
        at, _, squares, levels, _ = state
        return Peak(at, np.minimum(width, (high - low) / 10), squares, levels, height)

    def _state(
        self, beside: Floats, factor: Floats, at: Floats, low: Floats, high: Floats
    ) -> Floats:
        """Return u within its range, the step from there, and R, ln A and the slope's square."""
        at, step, power, distance, level = self._stepped(beside, factor, at, low, high)
        return np.array([at, step, self.squares(distance), level, power])

    def _stepped(
        self, beside: Floats, factor: Floats, at: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, ...]:
        """Return u within its range, the step from there, the slope's square, residuals, ln A."""
        at = within(at, low, high)
        grown = np.exp(at)[:, None] * factor
        total = beside + grown
        grown /= total
        distance, level, *_ = self.apart(np.log(total, out=total))
        slope = self.centred(grown)
        power = (slope * slope) @ self.weights
        power += 1e-300
        slope *= distance
        step = slope @ self.weights
        step /= power
        return at, within(step, -1.5, 1.5), power, distance, level

    def _moving(self, state: Floats, width: Floats, low: Floats, high: Floats) -> NDArray[np.intp]:
        """Return the rows whose next step is long beside the peak, if they are likely after it.

        That is so where values are nearly exact: the peak is narrower than the steps before it.
        """
        at, step, squares, _, power = state
        step = within(at + step, low, high) - at
        after = np.maximum(squares - step * step * power * self.count_weight, 0.0)
        height = self.noise.log_likelihood(after)
        likely = height > height.max() - _HOPELESS
        return np.asarray((likely & (np.abs(step) > _LONG * width)).nonzero()[0])

    def _peak(self, state: Floats) -> tuple[Floats, Floats]:
        """Return ln p(data) by the noise, and the standard deviation of u by its curvature."""
        squares, power = state[2], state[4]
        height = self.noise.log_likelihood(squares)
        sharpness = 2 * self.noise.slope(squares, height) * power * self.count_weight
        return height, np.asarray(1.0 / np.sqrt(sharpness + 1e-300))


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

    def apart(self, shapes: Floats, out: Floats | None = None) -> tuple[Floats, ...]:
        """Return residuals beside the best jump, ln A, and that jump."""
        distance, level = super().apart(shapes, out)
        jump = distance @ self.along
        distance -= jump[..., None] * self.step
        return distance, level, jump

    def likelihood(self, squares: Floats, *jumps: Floats, height: Floats | None = None) -> Floats:
        """Return ln p(data), integrated over the jump around the best one."""
        area = 0.5 * np.log(2 * math.pi * self.noise.variance(squares) / self.sharpness)
        z = np.abs(jumps[0] + self.moved) / JUMP_SCALE if jumps else 0.0
        density = -z - 2 * np.log1p(np.exp(-z)) - math.log(JUMP_SCALE)
        return np.asarray(super().likelihood(squares, height=height) + area + density)


def within(values: Floats, low: Floats | float, high: Floats | float) -> Floats:
    """Return np.clip, without its overhead for small arrays."""
    clipped: Floats = np.minimum(np.maximum(values, low), high)
    return clipped


def _sorted(some: tuple[Floats, ...], others: tuple[Floats, ...]) -> list[Floats]:
    """Join arrays with others along the nodes, and sort all by the first, which is the nodes."""
    joined = [np.concatenate(pair, axis=1) for pair in zip(some, others)]
    order = joined[0].argsort(axis=1, kind="stable")
    order += np.arange(0, order.size, order.shape[1])[:, None]
    return [array.take(order) for array in joined]


def _one_each(log_weights: Floats, squares: Floats, levels: Floats) -> Nodes:
    """Return the only node of each row."""
    count = len(log_weights)
    return Nodes(np.arange(count), np.zeros(count), log_weights, squares, levels)


def _joined(
    peak: Peak, height: Floats, is_likely: NDArray[np.bool_], fine: tuple[Floats, ...]
) -> Nodes:
    """Return the peaks of hopeless rows, then all nodes of likely ones, in the order of `Nodes`."""
    rest, likely = (~is_likely).nonzero()[0], is_likely.nonzero()[0]
    row = np.concatenate([rest, np.repeat(likely, fine[0].shape[1])])
    rough = (peak.at, height, peak.squares, peak.levels)
    return Nodes(row, *(np.concatenate([a[rest], b.ravel()]) for a, b in zip(rough, fine)))


def _narrow(peak: Peak, log_likelihood: Floats, scale: Floats) -> Floats:
    """Return integrals by Laplace's approximation."""
    area = np.log(peak.width * math.sqrt(2 * math.pi) + 1e-300)
    return np.asarray(log_likelihood + _log_prior(peak.at, scale) + area)


def _prior_scale(growing: Floats) -> Floats:
    """Return the scale of the logistic prior of u, row by row."""
    least, largest = _range(growing)
    return np.asarray(1.0 + 0.1 * (largest - least))


def _range(values: Floats) -> tuple[Floats, Floats]:
    """Return each row's least and largest value: of columns, as rows are too short to be fast."""
    columns = np.ascontiguousarray(values.T)
    return columns.min(axis=0), columns.max(axis=0)


def _log_prior(nodes: Floats, scale: Floats) -> Floats:
    """Return ln of the logistic density of u."""
    below = nodes / scale
    np.abs(below, out=below)
    np.negative(below, out=below)
    near = np.exp(below)
    np.log1p(near, out=near)
    near *= 2
    below -= near
    below -= np.log(scale)
    return np.asarray(below)


def _log_sums(logs: Floats) -> Floats:
    """Return ln of the sum of each row's exponentials."""
    top = logs.max(axis=1)
    parts = logs - top[:, None]
    return np.asarray(top + np.log(np.exp(parts, out=parts).sum(axis=1)))


def _spacing(nodes: Floats) -> Floats:
    """Return the trapezoidal weights of sorted nodes."""
    half = (nodes[:, 1:] - nodes[:, :-1]) / 2
    spacing = np.empty_like(nodes)
    spacing[:, :-1] = half
    spacing[:, -1] = 0.0
    spacing[:, 1:] += half
    spacing += 1e-300
    return spacing
