"""Steps in two parameters: growth beside a jump of the level at one value of one of them.

As in one parameter (`engines/bayes/steps`), a step is part of every hypothesis: growth that keeps
its limits may be beside one, and growth that breaks them, too. Fitting all sums of terms beside a
step takes as long as without one, so only the likeliest is weighed: the one beside which the models
that are likely without it leave the least. All others count nothing, which is on the safe side for
growth that needs no step.

At least two values of the parameter are on either side, and there are points enough for a step, an
offset and growth in both parameters to be told apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.averaging import probability
from tidings.scaling.engines.bayes.evidence import Stepped
from tidings.scaling.engines.bayes.steps import PRIOR
from tidings.scaling.two_parameters.engine import Odds, TwoModel, between
from tidings.scaling.two_parameters.products import Sum

Floats = NDArray[np.float64]

FEWEST_POINTS = 12
"""With fewer points nothing is left that shows growth beside a step."""

_SIDE = 2


@dataclass(frozen=True)
class TwoStep:
    """A jump between two values of a parameter, growth without it and growth beside it.

    `prior` is the probability of this place.
    """

    parameter: str
    below: float
    above: float
    prior: float
    smooth: TwoModel
    model: TwoModel
    stepped: Stepped

    @property
    def probability(self) -> float:
        """The probability of the step."""
        logs = [_total(model) for model in (self.model, self.smooth)]
        return probability(math.log(self.prior) + logs[0], math.log(1 - PRIOR) + logs[1])

    @property
    def factor(self) -> float:
        """The jump's factor beside the likeliest growth."""
        return math.exp(self.stepped.moved + _least(self.stepped, self.model.likely_values())[1])

    def holds(self, expected: Sum, lower: Sum | None, upper: Sum) -> float:
        """Return P(limits are kept), with even prior odds, each side with and without the step."""
        without = self.smooth.for_and_against(expected, lower, upper)
        beside = self.model.for_and_against(expected, lower, upper)
        return between([self._either(*pair) for pair in zip(without, beside)])

    def _either(self, without: Odds, beside: Odds) -> Odds:
        smooth, stepped = math.log(1 - PRIOR), math.log(self.prior)
        within, beyond = (
            float(np.logaddexp(smooth + own, stepped + other))
            for own, other in zip(without, beside)
        )
        return within, beyond


def likeliest(model: TwoModel) -> TwoStep | None:
    """Return the likeliest step, likely or not; None with too few points."""
    places = list(_places(model.measurement.points))
    if len(model.measurement.points) < FEWEST_POINTS or not places:
        return None
    values = model.likely_values()
    found = []
    for axis, above in places:
        problem = Stepped(model.problem, 0, 0.0, above)
        found.append((*_least(problem, values), axis, above))
    _, jump, axis, above = min(found, key=lambda one: one[0])
    stepped = Stepped(model.problem, 0, jump, above)
    at = model.measurement.points[:, axis]
    return TwoStep(
        model.measurement.parameters[axis],
        float(at[above == 0].max()),
        float(at[above == 1].min()),
        PRIOR / len(places),
        model,
        model.weigh(stepped),
        stepped,
    )


def _places(points: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield parameters, and which points are beyond a step in them."""
    for axis in (0, 1):
        at = points[:, axis]
        for value in np.unique(at)[_SIDE : 1 - _SIDE]:
            yield axis, (at >= value).astype(float)


def _least(problem: Stepped, values: Floats) -> tuple[float, float]:
    """Return the least squares beside a step, and its jump there."""
    squares, _, jumps = problem.fitted(values)
    best = int(squares.argmin())
    return float(squares[best]), float(jumps[best])


def _total(model: TwoModel) -> float:
    return float(np.logaddexp.reduce(model.log_prior + model.log_evidence))
