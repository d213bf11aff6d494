"""Steps: growth beside a jump of the level at one size, where a cache ends or a method changes.

A step is part of every hypothesis: growth that keeps its limits may be beside one, and growth that
breaks them, too. So both are weighed without a step and beside a step before each size, with at
least two sizes on either side; of times, which slow down where the largest data leave a cache, one
above is enough. All candidates are weighed again beside each step, its jump
integrated out as the level is (`evidence.Stepped`). A step counts by its evidence, which falls
where a jump is not needed, and by a prior. That way a step that noise hides is not taken for
growth: an alarm needs growth that is faster than its limits with a step beside it, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.averaging import probability
from tidings.scaling.engines.bayes.evidence import Problem, Stepped
from tidings.scaling.engines.bayes.posterior import Posterior
from tidings.scaling.terms import Term

Floats = NDArray[np.float64]

PRIOR = 0.2
"""Prior probability of a step; from 0.1 to 0.5 verdicts are nearly the same."""

FEWEST = 6
"""With fewer sizes there is nothing left that shows growth beside a step."""

MOST = 12
"""How many places are weighed, the likeliest, where there are more."""

_SIDE = 2


@dataclass(frozen=True)
class Step:
    """A jump between two sizes, and the posterior of growth beside it."""

    stepped: Stepped
    posterior: Posterior

    @property
    def below(self) -> float:
        """The largest size below the jump."""
        return float(self.stepped.sizes[self.stepped.place - 1])

    @property
    def above(self) -> float:
        """The smallest size above it."""
        return float(self.stepped.sizes[self.stepped.place])

    @cached_property
    def factor(self) -> float:
        """The jump's factor beside the likeliest growth."""
        posterior, stepped = self.posterior, self.stepped
        values = posterior.values(stepped.sizes)[0][int(posterior.points.weight.argmax())]
        return math.exp(stepped.moved + float(stepped.fitted(values[None, :])[2][0]))

    @cached_property
    def log_evidence(self) -> float:
        """Ln of the evidence of all candidates beside this step."""
        return _total(self.posterior)

    @property
    def residual(self) -> float:
        """The variance of a size's logarithm around growth beside this step."""
        points = self.posterior.points
        return float(points.residual @ points.weight)


@dataclass(frozen=True)
class Steps:
    """Growth without a step, and beside each."""

    smooth: Posterior
    steps: tuple[Step, ...]

    @cached_property
    def likeliest(self) -> Step:
        """The step with the most evidence."""
        return max(self.steps, key=lambda step: step.log_evidence)

    @cached_property
    def probability(self) -> float:
        """The probability that there is a step."""
        logs = [step.log_evidence for step in self.steps]
        return probability(self._any(logs), math.log(1 - PRIOR) + _total(self.smooth))

    def holds(self, expected: Term, lower: Term | None, upper: Term) -> float:
        """Return P(limits are kept), with even prior odds, each side with and without a step."""
        without = self.smooth.for_and_against(expected, lower, upper)
        beside = [step.posterior.for_and_against(expected, lower, upper) for step in self.steps]
        within, beyond = (
            np.logaddexp(math.log(1 - PRIOR) + own, self._any(list(others)))
            for own, others in zip(without, zip(*beside))
        )
        return probability(float(within), float(beyond))

    def _any(self, logs: list[float]) -> float:
        """Return ln of the prior-weighted evidence of all steps."""
        return math.log(PRIOR / len(logs)) + float(np.logaddexp.reduce(np.array(logs)))


def weighed(
    problem: Problem,
    smooth: Posterior,
    growing: Floats,
    weigh: Callable[[Problem], Posterior],
    above: int = _SIDE,
) -> Steps | None:
    """Weigh growth beside steps; `growing` are exponents of terms, which show likely jumps.

    `above` is how many sizes are beyond a step at least.
    """
    count = len(problem.sizes)
    if count < FEWEST:
        return None
    shapes = problem.shapes_alone(growing)
    moved = [_moved(problem, place, shapes) for place in range(_SIDE, count - above + 1)]
    moved.sort(key=lambda pair: pair[0])
    return Steps(smooth, tuple(Step(stepped, weigh(stepped)) for _, stepped in moved[:MOST]))


def _moved(problem: Problem, place: int, shapes: Floats) -> tuple[float, Stepped]:
    """Return the squares that the best term leaves beside a step, and data moved by its jump."""
    squares, _, jumps = Stepped(problem, place).fitted(shapes)
    best = int(squares.argmin())
    return float(squares[best]), Stepped(problem, place, float(jumps[best]))


def _total(posterior: Posterior) -> float:
    return float(np.logaddexp.reduce(posterior.log_prior + posterior.log_evidence))
