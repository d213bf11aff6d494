"""Verdicts: holds, violated, undecided or misfit, with a stated rate of false alarms.

`violated` means that the probability that the limits are kept is so small that, over suites in
which every expectation is true, at most the stated share of suites has an alarm at all. That
probability for a single test was measured, not assumed: `threshold`. Over the tests of a suite the
rate is shared by Holm's rule. Growth faster than expected, a better function, is not a violation
unless both sides are requested; it is reported.

A step, where a cache ends, looks like faster growth if noise hides it. So with six sizes or more
P(limits are kept) averages over growth without a step and beside each, on both sides alike: an
alarm needs growth beyond the limits to be likelier than growth within them with a step beside it.
If P is high and sizes scatter no more than repetitions, steps change nothing and are not weighed.

If no growth describes the measurements, the verdict is a misfit: a cliff between two sizes beyond
which growth cannot be told, or scatter between sizes that no candidate explains, alone or beside a
step. Where P decides and growth beside a step leaves little scatter, there is none. Three, four and
five sizes have thresholds of their own, and three and four no verdict without repetitions: nothing
else shows the noise there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Union

import numpy as np

from tidings.scaling import plan
from tidings.scaling.engines.bayes import BayesModel
from tidings.scaling.engines.bayes.steps import Steps
from tidings.scaling.limits import FEWEST_SIZES, Limits, Match
from tidings.scaling.terms import Term

if TYPE_CHECKING:
    from tidings.scaling.two_parameters.engine import TwoModel
    from tidings.scaling.two_parameters.limits import TwoLimits
    from tidings.scaling.two_parameters.products import Sum

    Model = Union[BayesModel, TwoModel]
    AnyLimits = Union[Limits, TwoLimits]

ALPHA = 0.01
"""False alarms of a whole suite, by default: the share of suites of true expectations with any."""

HOLDS = 0.9
"""From this probability on an expectation holds."""

CREDIBLE = 0.95
CLIFF_PROBABILITY = 0.95
"""From this probability on a step or a cliff is named."""
SMALLEST_STEP = 0.01
"""A step of a smaller share is not named: exact counters find those of a page of memory."""

PLAIN_NOISE = 0.5
"""Below this probability that sizes scatter more than repetitions, what holds needs no step."""

LARGEST_RESIDUAL = 0.25
"""Scatter between sizes, beyond that of repetitions, above which no growth describes them."""

_OWN_SDS = 3.0
"""Scatter between sizes of up to so many times that of repetitions is no misfit."""

_NEGLIGIBLE = 1e-9
"""A growth this improbable is at no end of what is credible."""

_CALIBRATION = {3: 10.0, 4: 14.0, 5: 14.0}
_CALIBRATION_OF_MORE = 26.0
_LARGEST_THRESHOLD = 0.3


class Outcome(Enum):
    """The possible verdicts."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNDECIDED = "undecided"
    MISFIT = "misfit"

    @property
    def is_open(self) -> bool:
        """Whether more measurements may tell what these do not."""
        return self in (Outcome.UNDECIDED, Outcome.MISFIT)


def calibration(sizes: int) -> float:
    """Return P(holds) that has a rate of false alarms, over that rate, for a number of sizes.

    Measured on synthetic cases (studies/growth-engines/few_sizes.py --tune): at the default rate,
    thresholds for which 0.7 to 0.8 % of true expectations are below with three, four, five, and six
    sizes or more. That is less than what is stated, because lists of functions differ. Most alarms
    are of sizes that differ as runs do; the fewer they are the less shows that, and below six sizes
    no step is weighed either, so that thresholds are lower there. Expectations are true where
    they state the growth: of growth between the expectation and the limit more is below (the page
    of the study).
    """
    return _CALIBRATION.get(sizes, _CALIBRATION_OF_MORE)


def threshold(alpha: float, sizes: int = 6) -> float:
    """Return the P(holds) below which one test may report `violated` with false alarms at `alpha`.

    `sizes` is how many were measured; all from six on have the same.
    """
    return min(calibration(sizes) * alpha, _LARGEST_THRESHOLD)


@dataclass(frozen=True)
class Evaluation:
    """One expectation evaluated against one model; growth in two parameters is a sum."""

    limits: AnyLimits
    two_sided: bool
    outcome: Outcome
    probability: float
    growth: Term | Sum
    match: Match
    divergence: Term | Sum
    divergence_band: tuple[Term, Term] | tuple[Sum, Sum]
    faster: bool
    reasons: tuple[str, ...]
    next_design: plan.Design | None = None


def evaluate(
    models: Sequence[Model],
    limits: Sequence[AnyLimits],
    alpha: float = ALPHA,
    two_sided: Sequence[bool] | None = None,
) -> list[Evaluation]:
    """Evaluate a suite: a model and limits for each expectation; `alpha` is for all together.

    Models are of one parameter or of two, with limits of the same.
    """
    sides = list(two_sided) if two_sided is not None else [False] * len(models)
    measured = [_measured(m, ls, s) for m, ls, s in zip(models, limits, sides)]
    counts = [len(model.summary.sizes) for model in models]
    violated = _holm([evaluation.probability for evaluation in measured], alpha, counts)
    return [
        _settled(evaluation, model, broken, threshold(alpha / max(len(measured), 1), count))
        for evaluation, model, broken, count in zip(measured, models, violated, counts)
    ]


def _measured(model: Model, limits: AnyLimits, two_sided: bool) -> Evaluation:
    if not isinstance(model, BayesModel) or not isinstance(limits, Limits):
        return _measured_in_two(model, limits, two_sided)
    lower = limits.lower if two_sided else None
    growth = model.growth
    low, high = credible(model)
    probability = model.probability(limits.expected, lower, limits.upper)
    stepped = ""
    steps = None if _is_plain(model, probability) else model.steps
    if steps:
        probability = steps.holds(limits.expected, lower, limits.upper)
        stepped = _named(steps)
        growth = steps.likeliest.posterior.growth if stepped else growth
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
        reasons=(stepped,) if stepped else (),
    )


def _measured_in_two(model: Model, limits: AnyLimits, two_sided: bool) -> Evaluation:
    from tidings.scaling.two_parameters import verdict as two

    if isinstance(model, BayesModel) or isinstance(limits, Limits):
        raise TypeError("model and limits must both be of one parameter, or both of two")
    found = two.weighed(model, limits, two_sided, HOLDS)
    return Evaluation(
        limits, two_sided, Outcome.UNDECIDED, found.probability, found.growth, found.match,
        found.divergence, found.divergence_band, found.faster, found.reasons,
    )  # fmt: skip


def _is_plain(model: BayesModel, probability: float) -> bool:
    """Whether an expectation holds without a step, and nothing suggests one."""
    return probability >= HOLDS and model.wider_noise < PLAIN_NOISE


def _named(steps: Steps) -> str:
    """Return what is said of a likely step, or nothing."""
    step = steps.likeliest
    if steps.probability < CLIFF_PROBABILITY or step.residual > LARGEST_RESIDUAL**2:
        return ""
    if abs(step.factor - 1) < SMALLEST_STEP:
        return ""
    return (
        f"a step between {step.below:g} and {step.above:g}, by a factor of {step.factor:.3g}; "
        "growth is that on both sides of it"
    )


def credible(model: BayesModel, level: float = CREDIBLE) -> tuple[Term, Term]:
    """Return the slowest and fastest growth of the middle `level` of the posterior."""
    listed = [pair for pair in model.posterior.by_term().items() if pair[1] > _NEGLIGIBLE]
    ordered = sorted(listed, key=lambda pair: pair[0].order)
    cumulated = np.cumsum([share for _, share in ordered])
    tail = (1 - level) / 2
    low = int(np.searchsorted(cumulated, tail))
    high = int(np.searchsorted(cumulated, 1 - tail))
    return ordered[low][0], ordered[min(high, len(ordered) - 1)][0]


def _holm(probabilities: Sequence[float], alpha: float, sizes: Sequence[int]) -> list[bool]:
    """Return which tests are violated when the rate is shared by Holm's rule."""
    count = len(probabilities)
    violated = [False] * count
    rates = [p / calibration(at) for p, at in zip(probabilities, sizes)]
    order = sorted(range(count), key=lambda index: rates[index])
    for rank, index in enumerate(order):
        if probabilities[index] >= threshold(alpha / (count - rank), sizes[index]):
            break
        violated[index] = True
    return violated


def _settled(evaluation: Evaluation, model: Model, violated: bool, low: float) -> Evaluation:
    """Give a verdict, its reasons, and the next measurement where it is undecided."""
    if not isinstance(model, BayesModel):
        return _settled_in_two(evaluation, model, violated)
    sizes = model.summary.sizes
    step = evaluation.reasons
    is_decided = violated or evaluation.probability >= HOLDS
    misfit = () if is_decided and _fits_beside_a_step(model) else misfits(model)
    if len(sizes) < FEWEST_SIZES:
        if not model.summary.freedom:
            reason = (
                f"{len(sizes)} sizes without repetitions: add some, or sizes, to {FEWEST_SIZES}"
            )
            return _planned(replace(evaluation, reasons=(reason,)), model, low)
        reason = f"{len(sizes)} sizes tell little at this noise: add sizes, to {FEWEST_SIZES}"
        evaluation = replace(evaluation, reasons=(reason,))
    if misfit:
        return replace(evaluation, outcome=Outcome.MISFIT, reasons=misfit)
    if violated:
        return replace(evaluation, outcome=Outcome.VIOLATED, reasons=step)
    if evaluation.probability >= HOLDS:
        reasons = ("grows more slowly than the limits",) if evaluation.faster else ()
        return replace(evaluation, outcome=Outcome.HOLDS, reasons=(*step, *reasons))
    return _planned(evaluation, model, low)


def _settled_in_two(evaluation: Evaluation, model: TwoModel, violated: bool) -> Evaluation:
    from tidings.scaling.two_parameters import verdict as two

    step = evaluation.reasons
    misfit = two.misfits(model, LARGEST_RESIDUAL)
    if misfit:
        return replace(evaluation, outcome=Outcome.MISFIT, reasons=misfit)
    if violated:
        return replace(evaluation, outcome=Outcome.VIOLATED)
    if evaluation.probability >= HOLDS:
        reasons = ("grows more slowly than the limits",) if evaluation.faster else ()
        return replace(evaluation, outcome=Outcome.HOLDS, reasons=(*step, *reasons))
    return replace(evaluation, reasons=(*step, *two.advice(model)))


def _fits_beside_a_step(model: BayesModel) -> bool:
    """Whether growth leaves little scatter beside the likeliest step, where steps were weighed."""
    if model.wider_noise < PLAIN_NOISE or model.steps is None:
        return False
    likely = model.steps.probability > PLAIN_NOISE
    residual = model.steps.likeliest.residual if likely else _residual(model) ** 2
    return residual <= max(LARGEST_RESIDUAL, _OWN_SDS * _own_sd(model)) ** 2


def _residual(model: BayesModel) -> float:
    """Return the standard deviation of a size's logarithm around growth."""
    points = model.posterior.points
    return math.sqrt(float(points.residual @ points.weight))


def _own_sd(model: BayesModel) -> float:
    """Return the standard deviation of a size's logarithm by its repetitions."""
    return math.sqrt(model.summary.variance / float(model.summary.counts.mean()))


def misfits(model: BayesModel) -> tuple[str, ...]:
    """Return why no growth describes the measurements, or nothing."""
    reasons = []
    cliff = model.cliff
    if cliff and cliff.probability >= CLIFF_PROBABILITY:
        reasons.append(
            f"a cliff between {cliff.below:g} and {cliff.above:g}, "
            f"by a factor of {cliff.factor:.3g}"
        )
    residual = _residual(model)
    if model.wider_noise > 0.99 and residual > max(LARGEST_RESIDUAL, _OWN_SDS * _own_sd(model)):
        reasons.append(f"sizes scatter by {100 * residual:.0f} % around every growth")
    return tuple(reasons)


def _planned(evaluation: Evaluation, model: BayesModel, low: float) -> Evaluation:
    assert isinstance(evaluation.limits, Limits), "limits of one parameter belong to its model"
    listed = plan.designs(model, evaluation.limits, evaluation.two_sided, (low, HOLDS))
    return replace(evaluation, next_design=plan.cheapest(listed, plan.spent(model)))
