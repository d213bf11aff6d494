"""What the values of a list tell at most: growth named by who knows how the list was drawn.

Bayes' rule with the very distributions that cases are drawn from (`growths`, `suite`): how often
each function is in a list, the constant and the coefficients, the level and the kind of the noise
with its tails and spikes. No rule names the leading term more often, on average: what it misses is
not in the values.

Beside `tidings` it knows the term's frequency, the range of the constant and of a lower term, and
whether growth is exponential, since sizes rise by one then. Where sizes differ as runs do it is not
defined. `named.py` asks it.

Values at a size depend on one number, their location: its likelihood is tabulated. A function's
unknown coefficients are integrated over cells, which are divided where the likelihood is high.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import growths
import numpy as np
from numpy.typing import NDArray
from suite import STUDENT_FREEDOM, SUITES, Case
from tidings.scaling.terms import CONSTANT, Term, log_values

Floats = NDArray[np.float64]

SUITE = SUITES["drawn"]
_LEVELS = {"spiky": 0.03}
_SPIKES = (1.5, 10.0)
_LOWER = (-1.5, 1.5)
_CELLS = (40, 16)
_DIVIDED = ((40.0, 4), (22.0, 3))
"""Cells whose likelihood is at most so far below the best are divided by so many a side."""
_KEPT = 16.0
_REACH, _TABLE = 9.0, 721
_AROUND = np.linspace(-4.0, 4.0, 13)
_AT_ONCE = 20_000
"""Cells whose likelihood is read off the tables at once: some kB each."""


@dataclass(frozen=True)
class Function:
    """A function that a list may have, and how often it does."""

    terms: tuple[Term, ...]
    share: float

    @property
    def lead(self) -> Term:
        """The leading term."""
        return self.terms[0]


@lru_cache(maxsize=2)
def functions(exponential: bool) -> tuple[Function, ...]:
    """Return all that lists are drawn from; sizes that rise by one say that it is exponential."""
    often = growths.frequencies()
    mixtures = often.pop("mixture")
    made = [
        Function((term,), share)
        for term, share in often.items()
        if isinstance(term, Term) and bool(term.rate) == exponential
    ]
    if exponential:
        return tuple(made)
    odd = growths.odd_powers()
    made += [Function((Term(power),), growths.ODD / len(odd)) for power in odd]
    pairs = list(combinations(sorted(growths.summed()), 2))
    made += [Function((lead, lower), mixtures / len(pairs)) for lower, lead in pairs]
    return tuple(made)


@dataclass(frozen=True)
class Locations:
    """The likelihood of each size's location: a table around the best one, and its curvature."""

    best: Floats
    sd: Floats
    tables: Floats

    def of(self, at: Floats) -> Floats:
        """Return ln of the likelihood of locations, summed over sizes (the last axis)."""
        z = (at - self.best) / self.sd
        place = (np.clip(z, -_REACH, _REACH) + _REACH) * ((_TABLE - 1) / (2 * _REACH))
        low = np.minimum(place.astype(int), _TABLE - 2)
        part = place - low
        sizes = np.arange(len(self.best))
        values = self.tables[sizes, low] * (1 - part) + self.tables[sizes, low + 1] * part
        beyond = np.maximum(np.abs(z) - _REACH, 0.0)
        return (values - beyond * (1 + beyond)).sum(axis=-1)


def locations(case: Case) -> Locations:
    """Tabulate the likelihood of each size's location, given the kind of noise."""
    level = _LEVELS.get(case.noise) or float(case.noise) / 100
    scale = level * np.sqrt(1 - 2 / STUDENT_FREEDOM)
    share = sum(SUITE.spike_share) / 2 if case.noise == "spiky" else 0.0

    def log_density(apart: Floats) -> Floats:
        freedom = STUDENT_FREEDOM
        bare = -(freedom + 1) / 2 * np.log1p((apart / scale) ** 2 / freedom)
        if not share:
            return bare
        # Of a spike, the noise is narrow beside the factor, uniform from 1.5 to 10.
        peak = 0.3827 / scale
        low, high = _SPIKES
        inside = (apart > np.log(low)) & (apart < np.log(high))
        spiked = np.where(inside, np.exp(np.clip(apart, -5, 5)) / (high - low), 0.0)
        return np.log((1 - share) * peak * np.exp(bare) + share * spiked + 1e-300)

    logs = np.log(case.values)
    steps = np.linspace(-6 * level, 6 * level, 241)
    candidates = (logs[:, :, None] + steps).reshape(len(logs), -1)
    height = log_density(logs[:, None, :] - candidates[:, :, None]).sum(axis=2)
    best = candidates[np.arange(len(logs)), height.argmax(axis=1)]
    sd = np.full(len(logs), level / np.sqrt(logs.shape[1]))
    z = np.linspace(-_REACH, _REACH, _TABLE)
    at = best[:, None] + sd[:, None] * z
    tables = log_density(logs[:, None, :] - at[:, :, None]).sum(axis=2)
    tables -= tables.max(axis=1, keepdims=True)
    return Locations(best, sd, tables)


@dataclass(frozen=True)
class Cells:
    """Cells of functions' unknown coefficients: their middle, half their sides, ln of their prior.

    `constant` is the logarithm of the constant (-inf: none), `lower` that of the lower term.
    """

    function: NDArray[np.intp]
    constant: Floats
    lower: Floats
    half: tuple[float, float]
    log_prior: Floats

    def some(self, kept: NDArray[np.bool_]) -> Cells:
        """Return some of the cells."""
        return Cells(
            self.function[kept],
            self.constant[kept],
            self.lower[kept],
            self.half,
            self.log_prior[kept],
        )

    def divided(self, by: int, sums: NDArray[np.bool_]) -> Cells:
        """Divide each cell: along the constant, and along the lower term of a sum."""
        steps = (2 * np.arange(by) + 1) / by - 1
        is_sum = sums[self.function]
        parts = []
        for rows, along in ((~is_sum, np.zeros(1)), (is_sum, steps)):
            own = self.some(rows)
            first, second = (part.ravel() for part in np.meshgrid(steps, along, indexing="ij"))
            count = len(first)
            constant = own.constant[:, None] + self.half[0] * first
            lower = own.lower[:, None] + self.half[1] * second
            parts.append(
                (
                    np.repeat(own.function, count),
                    constant.ravel(),
                    lower.ravel(),
                    (own.log_prior[:, None] - np.log(count) + np.zeros(count)).ravel(),
                )
            )
        made = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        return Cells(made[0], made[1], made[2], (self.half[0] / by, self.half[1] / by), made[3])


def first_cells(listed: tuple[Function, ...]) -> Cells:
    """Return the cells to begin with; none has a constant of its own, as drawn."""
    low, high = np.log(SUITE.constant_range)
    count, count_lower = _CELLS
    half = ((high - low) / 2 / count, (_LOWER[1] - _LOWER[0]) / 2 / count_lower)
    constants = low + half[0] * (2 * np.arange(count) + 1)
    lowers = _LOWER[0] + half[1] * (2 * np.arange(count_lower) + 1)
    rows: list[tuple[NDArray[np.intp], Floats, Floats, Floats]] = []
    total = sum(function.share for function in listed)
    for at, function in enumerate(listed):
        own = lowers if len(function.terms) > 1 else np.zeros(1)
        for values, prior in (
            (np.array([-np.inf]), SUITE.no_constant),
            (constants, 1 - SUITE.no_constant),
        ):
            if function.lead.is_constant and len(values) > 1:
                continue
            prior = 1.0 if function.lead.is_constant else prior
            first, second = np.meshgrid(values, own, indexing="ij")
            mass = np.log(function.share / total * prior / first.size)
            rows.append(
                (
                    np.full(first.size, at),
                    first.ravel(),
                    second.ravel(),
                    np.full(first.size, mass),
                )
            )
    made = [np.concatenate(columns) for columns in zip(*rows, strict=True)]
    return Cells(made[0], made[1], made[2], half, made[3])


_first = lru_cache(maxsize=2)(first_cells)


class Shapes:
    """Functions at the sizes of a case, as their coefficients are drawn."""

    def __init__(self, listed: tuple[Function, ...], sizes: Floats) -> None:
        """Keep the terms at the sizes, scaled as they are drawn."""
        middle = sizes[len(sizes) // 2 : len(sizes) // 2 + 1]
        lead = [function.terms[0] for function in listed]
        lower = [function.terms[-1] for function in listed]
        self.sums = np.array([len(function.terms) > 1 for function in listed])
        self.decays = np.array([term < CONSTANT for term in lead])
        at = np.where(
            self.decays, log_values(lead, sizes[-1:])[:, 0], log_values(lead, middle)[:, 0]
        )
        self.lead = np.exp(log_values(lead, sizes) - at[:, None])
        self.lower = np.exp(log_values(lower, sizes) - log_values(lower, middle))

    def logs(self, cells: Cells) -> Floats:
        """Return ln of the functions at the middle of cells; a decay's constant is at most 1."""
        most = np.where(self.decays[cells.function], 0.0, np.inf)
        constant = np.minimum(cells.constant, most)
        values = self.lead[cells.function] + np.exp(constant)[:, None]
        sums = np.flatnonzero(self.sums[cells.function])
        values[sums] += np.exp(cells.lower[sums])[:, None] * self.lower[cells.function[sums]]
        return np.log(values)


def posterior(case: Case) -> dict[Term, float]:
    """Return the probability of each leading term."""
    listed = functions(bool(np.ptp(np.diff(case.sizes)) == 0))
    shapes, known = Shapes(listed, case.sizes), locations(case)
    weights = 1 / known.sd**2
    weights /= weights.sum()

    def near(cells: Cells) -> tuple[Floats, Floats, Floats]:
        """Return shapes, the best levels, and a rough likelihood, normal at each size."""
        shape = shapes.logs(cells)
        apart = known.best - shape
        level = apart @ weights
        apart = (apart - level[:, None]) / known.sd
        return shape, level, -0.5 * (apart * apart).sum(axis=1)

    cells = _first(listed)
    for below, by in _DIVIDED:
        rough = near(cells)[2]
        cells = cells.some(rough > rough.max() - below).divided(by, shapes.sums)
    shape, level, rough = near(cells)
    kept = rough > rough.max() - _KEPT
    cells, shape, level = cells.some(kept), shape[kept], level[kept]
    sd = 1 / np.sqrt((1 / known.sd**2).sum())
    heights = np.concatenate(
        [
            known.of((shape[part] + level[part, None])[:, None, :] + sd * _AROUND[:, None])
            for part in (slice(at, at + _AT_ONCE) for at in range(0, len(level), _AT_ONCE))
        ]
    )
    top = heights.max()
    mass = np.exp(heights - top).sum(axis=1) * np.exp(cells.log_prior - cells.log_prior.max())
    by_function = np.bincount(cells.function, mass, len(listed))
    found: dict[Term, float] = {}
    for function, share in zip(listed, by_function.tolist(), strict=True):
        found[function.lead] = found.get(function.lead, 0.0) + share / by_function.sum()
    return found


def growth(case: Case) -> Term:
    """Return the likeliest leading term; values without noise tell it."""
    if case.noise == "0":
        return case.growth.term
    found = posterior(case)
    return max(found, key=lambda term: found[term])
