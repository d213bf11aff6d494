"""Two ways to measure one thing: medians over rounds, their ratio, and whether they agree.

Both were measured in each round, so a ratio is of one round: what moves the machine moves both.
Intervals are the bootstrap's, of 95 %, over rounds.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

SHARE = 0.05
"""Two medians that are no farther apart agree."""
RESAMPLES = 1000
WITHIN, INSIDE, NO = "within 5 %", "inside both intervals", "no"


class Estimate(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float


class Pair(NamedTuple):
    """What two programs say of one thing."""

    rounds: int
    ours: Estimate
    peer: Estimate
    ratio: Estimate
    agrees: str


def interquartile_mean(values: Sequence[float]) -> float:
    """Return the mean of the middle half."""
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return statistics.fmean(ordered[quarter : len(ordered) - quarter])


def estimate(count: int, value_of: Callable[[Sequence[int]], float], seed: int) -> Estimate:
    """Return a value of rounds, by their numbers, with its interval."""
    draws = random.Random(seed)
    drawn = sorted(value_of(draws.choices(range(count), k=count)) for _ in range(RESAMPLES))
    return Estimate(
        value_of(range(count)), drawn[RESAMPLES // 40], drawn[RESAMPLES - 1 - RESAMPLES // 40]
    )


def agreement(ours: Estimate, peer: Estimate, ratio: float) -> str:
    """Return whether two medians agree, and how."""
    if abs(ratio - 1) <= SHARE:
        return WITHIN
    if peer.low <= ours.value <= peer.high and ours.low <= peer.value <= ours.high:
        return INSIDE
    return NO


def paired(ours: Sequence[float], peer: Sequence[float], seed: int = 1) -> Pair:
    """Compare what two programs measured in the same rounds."""
    ratios = [own / other for own, other in zip(ours, peer, strict=True)]

    def median_of(values: Sequence[float]) -> Callable[[Sequence[int]], float]:
        return lambda rounds: statistics.median(values[at] for at in rounds)

    own, other, ratio = (
        estimate(len(ratios), median_of(values), seed) for values in (ours, peer, ratios)
    )
    return Pair(len(ratios), own, other, ratio, agreement(own, other, ratio.value))
