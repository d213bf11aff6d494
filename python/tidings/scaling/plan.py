"""Next measurements: the size and the number of runs that decide at the least cost.

The posterior gives what every candidate predicts at a size. A design, some runs at one more size,
is tried on draws from it: each draw makes a value, the value reweighs the candidates, and the share
of draws after which the verdict would be decided is the value of the design. The cheapest design
that decides in most draws is proposed; if there is none, the one that decides most often at a few
times the cost so far. Costs are sizes times runs, as with the processor time of processes, unless
another power of the size is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import BayesModel
from tidings.scaling.limits import FEWEST_SIZES, Limits

Floats = NDArray[np.float64]

ENOUGH = 0.8
"""A design that decides in this share of draws is good enough."""

RUNS = (1, 5, 25)
_STEP = 4.0
_SMALL_FACTOR = 1.35
_FACTORS = (2.0, 4.0, 8.0, 16.0)
_DRAWS = 48
_SEED = 20150608


@dataclass(frozen=True)
class Design:
    """Some runs at one size: their cost, and the probability that they decide."""

    size: float
    runs: int
    cost: float
    decides: float


def designs(
    model: BayesModel,
    limits: Limits,
    two_sided: bool,
    thresholds: tuple[float, float],
    largest: float | None = None,
    cost_power: float = 1.0,
    sizes: Sequence[float] | None = None,
) -> list[Design]:
    """Return designs with their probabilities, the cheapest first; `thresholds` of P(holds)."""
    summary = model.summary
    chosen = list(sizes) if sizes else _next_sizes(summary.sizes)
    chosen = [size for size in chosen if largest is None or size <= largest]
    lower = limits.lower if two_sided else None
    kept, weights = model.posterior.against(limits.expected, lower, limits.upper)
    rng = np.random.default_rng(_SEED)
    made = []
    for size in chosen:
        logs = model.posterior.values(np.array([size]))[0][:, 0]
        for runs in RUNS:
            spread = _spread(model, runs)
            decides = _decided_share(logs, weights, kept, spread, thresholds, rng)
            if len(summary.sizes) + 1 < FEWEST_SIZES and not summary.freedom:
                decides = 0.0  # without repetitions, one more size is still too few
            made.append(Design(size, runs, runs * size**cost_power, decides))
    return sorted(made, key=lambda design: (design.cost, design.size))


def cheapest(listed: list[Design], spent: float = float("inf")) -> Design | None:
    """Return the cheapest design that decides often enough, or the one that decides most often.

    Where none is good enough, the cost is at most a few times what was `spent` before.
    """
    if not listed:
        return None
    enough = [design for design in listed if design.decides >= ENOUGH]
    if enough:
        return enough[0]
    near = [design for design in listed if design.cost <= _STEP * spent] or listed[:1]
    return max(near, key=lambda design: (design.decides, -design.cost))


def spent(model: BayesModel, cost_power: float = 1.0) -> float:
    """Return the cost of the measurements behind a model."""
    return float(model.summary.counts @ model.summary.sizes**cost_power)


def _next_sizes(sizes: Floats) -> list[float]:
    """Return sizes beyond the largest: multiples, or further steps where sizes go up by steps.

    Steps are even, or small compared with the sizes; the measured range may double with each.
    """
    largest = float(sizes[-1])
    steps = np.diff(sizes)
    last = float(steps[-1])
    factors = sizes[1:] / sizes[:-1]
    if steps.max() <= 1.01 * steps.min() or max(np.median(factors), factors[-1]) < _SMALL_FACTOR:
        return [largest + step * last for step in (1, 2, 4)]
    return [largest * factor for factor in _FACTORS]


def _spread(model: BayesModel, runs: int) -> float:
    """Return the standard deviation of the mean logarithm of some runs at one size."""
    summary = model.summary
    scatter = summary.variance / runs
    between = max(float(model.posterior.points.residual @ model.posterior.points.weight), 1e-14)
    own = summary.variance / float(summary.counts.mean())
    return float(np.sqrt(scatter + max(between - own, 0.05 * between)))


def _decided_share(
    logs: Floats,
    weights: Floats,
    kept: NDArray[np.bool_],
    spread: float,
    thresholds: tuple[float, float],
    rng: np.random.Generator,
) -> float:
    drawn = rng.choice(len(logs), _DRAWS, p=weights / weights.sum())
    values = logs[drawn] + spread * rng.standard_normal(_DRAWS)
    likelihood = np.exp(-0.5 * ((values[:, None] - logs) / spread) ** 2) * weights
    holds = (likelihood @ kept) / np.maximum(likelihood.sum(axis=1), 1e-300)
    low, high = thresholds
    return float(((holds < low) | (holds >= high)).mean())
