"""Verdicts: holds, violated, undecided or misfit, with a stated rate of false alarms.

`violated` means that the probability that the limits are kept is so small that, over suites in
which every expectation is true, at most the stated share of suites has an alarm at all. That
probability for a single test was measured, not assumed: `threshold`. Over the tests of a suite the
rate is shared by Holm's rule. Growth faster than expected, a better function, is not a violation
unless both sides are requested; it is reported.

If no growth describes the measurements, the verdict is a misfit: a cliff between two sizes, or
scatter between sizes that no candidate explains. With fewer than five sizes every verdict is
undecided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from tidings.scaling import plan
from tidings.scaling.engines.bayes import BayesModel
from tidings.scaling.limits import FEWEST_SIZES, Limits, Match
from tidings.scaling.terms import Term

ALPHA = 0.01
"""False alarms of a whole suite, by default: the share of suites of true expectations with any."""

HOLDS = 0.9
"""From this probability on an expectation holds."""

CREDIBLE = 0.95
CLIFF_PROBABILITY = 0.95
LARGEST_RESIDUAL = 0.25
"""Scatter between sizes, beyond that of repetitions, above which no growth describes them."""

_CALIBRATION = 20.0
_LARGEST_THRESHOLD = 0.3


class Outcome(Enum):
    """The possible verdicts."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNDECIDED = "undecided"
    MISFIT = "misfit"


def threshold(alpha: float) -> float:
    """Return the P(holds) below which one test may report `violated` with false alarms at `alpha`.

    Measured on synthetic cases (studies/growth-engines/alarms.py): P is below 0.2 for 0.3 to
    0.5 % of true expectations of suites and of functions drawn by chance. That is half of what
    is stated, because lists of functions differ: of ten times four, the worst had 0.9 %, and 1.1
    at 0.25.
    """
    return min(_CALIBRATION * alpha, _LARGEST_THRESHOLD)


@dataclass(frozen=True)
class Evaluation:
    """One expectation evaluated against one model."""

    limits: Limits
    two_sided: bool
    outcome: Outcome
    probability: float
    growth: Term
    match: Match
    divergence: Term
    divergence_band: tuple[Term, Term]
    faster: bool
    reasons: tuple[str, ...]
    next_design: plan.Design | None = None


def evaluate(
    models: Sequence[BayesModel],
    limits: Sequence[Limits],
    alpha: float = ALPHA,
    two_sided: Sequence[bool] | None = None,
) -> list[Evaluation]:
    """Evaluate a suite: a model and limits for each expectation; `alpha` is for all together."""
    sides = list(two_sided) if two_sided is not None else [False] * len(models)
    measured = [_measured(m, ls, s) for m, ls, s in zip(models, limits, sides)]
    violated = _holm([evaluation.probability for evaluation in measured], alpha)
    return [
        _settled(evaluation, model, broken, threshold(alpha / max(len(measured), 1)))
        for evaluation, model, broken in zip(measured, models, violated)
    ]


def _measured(model: BayesModel, limits: Limits, two_sided: bool) -> Evaluation:
    lower = limits.lower if two_sided else None
    growth = model.growth
    low, high = credible(model)
    probability = model.probability(limits.expected, lower, limits.upper)
    return Evaluation(
        limits=limits,
        two_sided=two_sided,
        outcome=Outcome.UNDECIDED,
        probability=probability,
        growth=growth,
        match=limits.match(growth),
        divergence=limits.divergence(growth),
        divergence_band=(limits.divergence(low), limits.divergence(high)),
        faster=growth < limits.lower,
        reasons=(),
    )


def credible(model: BayesModel, level: float = CREDIBLE) -> tuple[Term, Term]:
    """Return the slowest and fastest growth of the middle `level` of the posterior."""
    ordered = sorted(model.posterior.by_term().items(), key=lambda pair: pair[0].order)
    cumulated = np.cumsum([share for _, share in ordered])
    tail = (1 - level) / 2
    low = int(np.searchsorted(cumulated, tail))
    high = int(np.searchsorted(cumulated, 1 - tail))
    return ordered[low][0], ordered[min(high, len(ordered) - 1)][0]


def _holm(probabilities: Sequence[float], alpha: float) -> list[bool]:
    """Return which tests are violated when the rate is shared by Holm's rule."""
    count = len(probabilities)
    violated = [False] * count
    order = sorted(range(count), key=lambda index: probabilities[index])
    for rank, index in enumerate(order):
        if probabilities[index] >= threshold(alpha / (count - rank)):
            break
        violated[index] = True
    return violated


def _settled(evaluation: Evaluation, model: BayesModel, violated: bool, low: float) -> Evaluation:
    """Give a verdict, its reasons, and the next measurement where it is undecided."""
    sizes = model.summary.sizes
    misfit = misfits(model)
    if len(sizes) < FEWEST_SIZES:
        reason = f"{len(sizes)} sizes; {FEWEST_SIZES} are needed for a verdict"
        return _planned(replace(evaluation, reasons=(reason,)), model, low)
    if misfit:
        return replace(evaluation, outcome=Outcome.MISFIT, reasons=misfit)
    if violated:
        return replace(evaluation, outcome=Outcome.VIOLATED)
    if evaluation.probability >= HOLDS:
        reasons = ("grows more slowly than the limits",) if evaluation.faster else ()
        return replace(evaluation, outcome=Outcome.HOLDS, reasons=reasons)
    return _planned(evaluation, model, low)


def misfits(model: BayesModel) -> tuple[str, ...]:
    """Return why no growth describes the measurements, or nothing."""
    reasons = []
    cliff = model.cliff
    if cliff and cliff.probability >= CLIFF_PROBABILITY:
        reasons.append(
            f"a cliff between {cliff.below:g} and {cliff.above:g}, "
            f"by a factor of {cliff.factor:.3g}"
        )
    points = model.posterior.points
    residual = math.sqrt(float(points.residual @ points.weight))
    own = math.sqrt(model.summary.variance / float(model.summary.counts.mean()))
    if model.wider_noise > 0.99 and residual > max(LARGEST_RESIDUAL, 3 * own):
        reasons.append(f"sizes scatter by {100 * residual:.0f} % around every growth")
    return tuple(reasons)


def _planned(evaluation: Evaluation, model: BayesModel, low: float) -> Evaluation:
    listed = plan.designs(model, evaluation.limits, evaluation.two_sided, (low, HOLDS))
    return replace(evaluation, next_design=plan.cheapest(listed, plan.spent(model)))
