"""Steps: growth beside a jump of the level at one size, where a cache ends or a method changes.

A cliff says where values jump. Here the values above it are moved down by a jump, and all smooth
candidates are weighed as ever: once for each of some jumps around the likeliest, which count by
their evidence. So a step has a posterior over growth, with constants and lower terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tidings.scaling.engines.bayes.cliff import Cliff
from tidings.scaling.engines.bayes.evidence import Problem
from tidings.scaling.engines.bayes.posterior import Posterior
from tidings.scaling.terms import Term

_COARSE = np.linspace(-0.9, 0.9, 7)
_FINE = np.linspace(-0.2, 0.2, 5)
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class Steps:
    """Posteriors of growth, one for each jump, and their shares; the likeliest first."""

    posteriors: tuple[Posterior, ...]
    shares: tuple[float, ...]
    factor: float

    @property
    def growth(self) -> Term:
        """The growth that the data favour beside the likeliest jump."""
        return self.posteriors[0].growth

    @property
    def residual(self) -> float:
        """The variance of a size's logarithm around the likeliest growth."""
        points = self.posteriors[0].points
        return float(points.residual @ points.weight)

    def holds(self, expected: Term, lower: Term | None, upper: Term) -> float:
        """Return the probability that growth keeps the limits, over all jumps."""
        found = (p.holds(expected, lower, upper) for p in self.posteriors)
        return float(sum(share * one for share, one in zip(self.shares, found)))


def weighed(problem: Problem, cliff: Cliff, weigh: Callable[[Problem], Posterior]) -> Steps:
    """Weigh growth beside a cliff, with jumps around the likeliest."""
    above = problem.sizes >= cliff.above

    def beside(jump: float) -> tuple[float, float, Posterior]:
        moved = Problem(problem.sizes, problem.logs - jump * above, problem.noise)
        posterior = weigh(moved)
        total = posterior.log_prior + posterior.log_evidence
        return float(np.logaddexp.reduce(total)), jump, posterior

    middle = float(np.log(cliff.factor))
    found = [beside(middle + float(apart)) for apart in _COARSE]
    best = max(found, key=lambda one: one[0])[1]
    found = [beside(best + float(apart)) for apart in _FINE]
    found.sort(key=lambda one: -one[0])
    mass = np.exp([one[0] - found[0][0] for one in found])
    kept = [at for at in range(len(found)) if mass[at] > _NEGLIGIBLE]
    shares = mass[kept] / mass[kept].sum()
    return Steps(
        tuple(found[at][2] for at in kept), tuple(shares.tolist()), float(np.exp(found[0][1]))
    )
