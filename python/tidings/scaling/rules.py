"""Rules across functions: ``allreduce <= reduce + bcast``, on the measurements and on the models.

A rule says that one function costs no more than a sum of others, at every size. On the measurements
it is tested at each size that all of them have; on the models, before coefficients are dropped, at
sizes up to a stated scale, with the probability that it holds there and the size where it is
crossed. Source: Shudler et al. (ICS 2015, sections 2.1 and 2.4), after the performance guidelines
of Träff.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import BayesModel

Floats = NDArray[np.float64]

_PART = re.compile(r"\s*(?:(\d+(?:\.\d+)?)\s*\*?\s*)?([A-Za-z_][\w:.\-]*)\s*$")
_SEED = 20150608
_DRAWS = 2_000
_GRID = 60
_SMALLEST_SD = 1e-9


class RuleError(ValueError):
    """A rule cannot be read."""


@dataclass(frozen=True)
class Rule:
    """`left` costs at most the sum of `right`: functions with factors."""

    left: tuple[tuple[float, str], ...]
    right: tuple[tuple[float, str], ...]
    source: str

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read ``a <= b + 2 c``, or raise RuleError."""
        sides = re.split(r"<=|≤", text)
        if len(sides) != 2:
            raise RuleError(f"`{text}` has no `<=`; write it like `allreduce <= reduce + bcast`")
        left, right = (tuple(_part(part, text) for part in side.split("+")) for side in sides)
        return cls(left, right, text.strip())

    @property
    def functions(self) -> list[str]:
        """All functions that the rule names."""
        return [name for _, name in (*self.left, *self.right)]


def _part(part: str, text: str) -> tuple[float, str]:
    found = _PART.match(part)
    if not found:
        raise RuleError(
            f"`{part.strip()}` in `{text}` is no function with an optional factor; "
            "write it like `allreduce <= reduce + 1.5 bcast`"
        )
    factor = float(found.group(1) or 1.0)
    if not 0 < factor < math.inf:
        raise RuleError(f"`{part.strip()}` in `{text}`: a factor is a positive number")
    return factor, found.group(2)


@dataclass(frozen=True)
class RuleResult:
    """The result of a rule: where measured, and at the target scale.

    `worst_ratio` is left over right at the measured size `worst_size`, where it is largest;
    `measured` the least probability of the rule over measured sizes, `at_target` that at `target`.
    `crossing` is the smallest size, from the first measured to the target, where it breaks more
    likely than not.
    """

    rule: Rule
    worst_size: float
    worst_ratio: float
    measured: float
    sizes: int
    target: float
    at_target: float
    crossing: float | None

    def outcome(self, alpha: float) -> str:
        """Return holds, violated or undecided; `alpha` is shared by the sizes measured."""
        if self.measured < alpha / max(self.sizes, 1) or self.at_target < alpha:
            return "violated"
        return "holds" if min(self.measured, self.at_target) >= 0.9 else "undecided"


def weigh(rule: Rule, models: Mapping[str, BayesModel], target: float | None) -> RuleResult:
    """Test a rule on measurements and models; raise RuleError where a function is missing."""
    missing = [name for name in rule.functions if name not in models]
    if missing:
        raise RuleError(f"`{rule.source}`: there is no measurement of {', '.join(missing)}")
    sizes = _shared_sizes(rule, models)
    if not len(sizes):
        raise RuleError(f"`{rule.source}`: its functions share no size")
    ratios, sds = _measured_ratios(rule, models, sizes)
    holds = np.array([_normal_cdf(-r / s) for r, s in zip(ratios, sds)])
    worst = int(ratios.argmax())
    far = float(target or sizes[-1])
    grid = np.unique(np.append(np.geomspace(sizes[0], max(far, sizes[0]), _GRID), far))
    shares = _model_shares(rule, models, grid)
    broken = np.flatnonzero(shares < 0.5)
    return RuleResult(
        rule,
        float(sizes[worst]),
        math.exp(float(ratios[worst])),
        float(holds.min()),
        len(sizes),
        far,
        float(shares[-1]),
        float(grid[broken[0]]) if len(broken) else None,
    )


def _shared_sizes(rule: Rule, models: Mapping[str, BayesModel]) -> Floats:
    shared = set(models[rule.functions[0]].summary.sizes.tolist())
    for name in rule.functions:
        shared &= set(models[name].summary.sizes.tolist())
    return np.array(sorted(shared))


def _measured_ratios(
    rule: Rule, models: Mapping[str, BayesModel], sizes: Floats
) -> tuple[Floats, Floats]:
    """Return ln(left/right) at each size, and its standard deviation."""
    sides = []
    for parts in (rule.left, rule.right):
        total = np.zeros(len(sizes))
        variance = np.zeros(len(sizes))
        for factor, name in parts:
            summary = models[name].summary
            at = np.searchsorted(summary.sizes, sizes)
            value = factor * np.exp(summary.logs[at] + summary.reference)
            total += value
            variance += value**2 * _variance(models[name])[at]
        sides.append((np.log(total), variance / total**2))
    (left, left_variance), (right, right_variance) = sides
    return left - right, np.sqrt(left_variance + right_variance) + _SMALLEST_SD


def _variance(model: BayesModel) -> Floats:
    """Return the variance of each size's mean logarithm: of repetitions, or of sizes if larger."""
    points = model.posterior.points
    between = float(points.residual @ points.weight)
    return np.maximum(model.summary.variance / model.summary.counts, between)


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _model_shares(rule: Rule, models: Mapping[str, BayesModel], grid: Floats) -> Floats:
    """Return the probability of the rule at each size, by draws from the posteriors."""
    rng = np.random.default_rng(_SEED)
    drawn: dict[str, Floats] = {}
    for name in sorted(set(rule.functions)):
        logs, weights = models[name].posterior.values(grid)
        picked = rng.choice(len(weights), _DRAWS, p=weights)
        spread = np.sqrt(models[name].posterior.points.variance[picked])[:, None]
        drawn[name] = logs[picked] + spread * rng.standard_normal((_DRAWS, 1))
    left, right = (
        np.logaddexp.reduce([np.log(factor) + drawn[name] for factor, name in parts], axis=0)
        for parts in (rule.left, rule.right)
    )
    return np.asarray((left <= right).mean(axis=0))
