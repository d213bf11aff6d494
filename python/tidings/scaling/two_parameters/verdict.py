"""Verdicts on growth in two parameters, by the rules of one parameter.

The threshold of `violated` is that of as many sizes as there are points, held to drawn functions of
two parameters (studies/growth-engines/two_parameters.py). A misfit is a scatter between points that
no growth describes, alone or beside a step (`steps`). Where sum and product of the terms cannot be
told apart, the point to measure next is the corner of both lines' largest values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tidings.scaling.limits import Match
from tidings.scaling.terms import Term
from tidings.scaling.two_parameters import steps
from tidings.scaling.two_parameters.engine import TwoModel
from tidings.scaling.two_parameters.limits import TwoLimits
from tidings.scaling.two_parameters.products import Product, Sum

CREDIBLE = 0.95
"""From this probability on a step is named."""

WIDER = 0.5
"""From this probability on that points scatter more than repetitions, steps are weighed anyway."""


@dataclass(frozen=True)
class Weighed:
    """What the posterior says of an expectation."""

    probability: float
    growth: Sum
    match: Match
    divergence: Sum
    divergence_band: tuple[Sum, Sum]
    faster: bool
    reasons: tuple[str, ...] = ()


def weighed(model: TwoModel, limits: TwoLimits, two_sided: bool, holds: float) -> Weighed:
    """Evaluate an expectation, without a verdict.

    Where it does not hold (from the probability `holds` on), or points scatter more than their
    repetitions, growth beside the likeliest step is weighed as well.
    """
    lower = limits.lower if two_sided else None
    chance = model.probability(limits.expected, lower, limits.upper)
    step = None
    reasons: tuple[str, ...] = ()
    if chance < holds or model.wider_noise >= WIDER:
        step = steps.likeliest(model)
    if step:
        chance = step.holds(limits.expected, lower, limits.upper)
        if step.probability >= CREDIBLE:
            model, reasons = step.model, (_named(step),)
    growth = model.growth
    low, high = credible(model)
    return Weighed(
        chance,
        growth,
        limits.match(growth),
        limits.divergence(growth),
        (limits.divergence(low), limits.divergence(high)),
        not growth.covers(limits.lower),
        reasons,
    )


def _named(step: steps.TwoStep) -> str:
    return (
        f"a step between {step.parameter}={step.below:g} and {step.parameter}={step.above:g}, by a "
        f"factor of {step.factor:.3g}; growth is that on both sides of it"
    )


def credible(model: TwoModel, level: float = CREDIBLE) -> tuple[Sum, Sum]:
    """Return the slowest and fastest growth, in either parameter, of the middle `level`."""
    first = _middle({g: g.multiplied().products[0].first for g in model.by_growth}, model, level)
    second = _middle({g: g.multiplied().products[0].second for g in model.by_growth}, model, level)
    low, high = (Sum((Product(one, other),)) for one, other in zip(first, second))
    return low, high


def _middle(fastest: dict[Sum, Term], model: TwoModel, level: float) -> tuple[Term, Term]:
    """Return the slowest and fastest term in the middle `level`."""
    share = dict.fromkeys(sorted(set(fastest.values())), 0.0)
    for growth, term in fastest.items():
        share[term] += model.by_growth[growth]
    terms, cumulated = list(share), np.cumsum(list(share.values()))
    tail = (1 - level) / 2
    low, high = np.searchsorted(cumulated, [tail, 1 - tail]).tolist()
    return terms[low], terms[min(high, len(terms) - 1)]


def misfits(model: TwoModel, largest: float) -> tuple[str, ...]:
    """Return why no growth describes the measurements, or nothing."""
    step = steps.likeliest(model) if model.wider_noise > 0.99 else None
    beside = step.model.residual() if step and step.probability >= CREDIBLE else math.inf
    residual = min(model.residual(), beside)
    own = math.sqrt(model.summary.variance / float(model.summary.counts.mean()))
    if model.wider_noise > 0.99 and residual > max(largest, 3 * own):
        return (f"points scatter by {100 * residual:.0f} % around every growth",)
    return ()


def advice(model: TwoModel) -> tuple[str, ...]:
    """Return what to measure where the verdict is undecided."""
    first, second = model.measurement.parameters
    largest = model.measurement.points.max(axis=0)
    if not model.measurement.has_corner:
        return (
            f"whether the terms in {first} and {second} are added or multiplied is not told: "
            f"measure {first}={largest[0]:g}, {second}={largest[1]:g}",
        )
    doubt = [_doubt(model, second) for second in (False, True)]
    axis = doubt.index(max(doubt))
    name, size = (first, second)[axis], 2 * largest[axis]
    return (f"measure {name}={size:g} next, with several values of the other",)


def _doubt(model: TwoModel, second: bool) -> float:
    """Return the variance of the exponent of one parameter."""
    products = [growth.multiplied().products[0] for growth in model.by_growth]
    powers = np.array([float(p.second.power if second else p.first.power) for p in products])
    weights = np.array(list(model.by_growth.values()))
    return float(weights @ (powers - float(powers @ weights)) ** 2)
