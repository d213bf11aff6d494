"""Scores: how often a tool names the growth, predicts far sizes, and evaluates expectations right.

Per case: `exact` (the leading term is the true one), `near` (the same exponential rate, exponent of
x within 1/4), `far` (forecast within 20 % at 64 times the largest size, or 4 more where growth is
exponential), `covered` (the 95 % interval at 4 and 64 times the largest size holds the true value),
`alarm` (the true expectation called violated), `caught` (the broken one called violated); the same
with a tool forced to decide, at a probability of a half; and `brier`, the mean square of what the
probabilities of the true and of the broken expectation are wrong by.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from suite import Case
from tidings.scaling.terms import Term

NEAR = Fraction(1, 4)
FORCED = 0.5


@dataclass
class Outcome:
    """What a tool made of one case; None where it does not say."""

    growth: Term | None = None
    far: float | None = None
    intervals: dict[float, tuple[float, float]] = field(default_factory=dict)
    verdict_true: str = ""
    verdict_broken: str = ""
    p_true: float | None = None
    p_broken: float | None = None
    cpu_ms: float = 0.0


def marks(case: Case, outcome: Outcome) -> dict[str, float]:
    """Return 0 or 1 for each score that applies to a case."""
    true = case.growth.term
    named = outcome.growth
    marked: dict[str, float] = {
        "exact": float(named is not None and _same(named, true)),
        "near": float(
            named is not None
            and abs(named.rate - true.rate) < Fraction(1, 100)
            and abs(named.power - true.power) <= NEAR
        ),
        "cpu_ms": outcome.cpu_ms,
    }
    truth = float(case.truth(_array(case.far))[0])
    if outcome.far is not None:
        marked["far"] = float(abs(outcome.far - truth) <= 0.2 * truth)
    for factor, (low, high) in outcome.intervals.items():
        size = beyond(case, factor)
        value = float(case.truth(_array(size))[0])
        marked[f"covered_{factor:g}"] = float(low <= value <= high)
    if outcome.verdict_true:
        marked["alarm"] = float(outcome.verdict_true == "violated")
        marked["unsure"] = float(outcome.verdict_true == "undecided")
    if outcome.verdict_broken:
        marked["caught"] = float(outcome.verdict_broken == "violated")
        marked["missed"] = float(outcome.verdict_broken == "holds")
    wrong = []
    if outcome.p_true is not None:
        marked["forced_alarm"] = float(outcome.p_true < FORCED)
        wrong.append(1 - outcome.p_true)
    if outcome.p_broken is not None:
        marked["forced_caught"] = float(outcome.p_broken < FORCED)
        wrong.append(outcome.p_broken)
    if wrong:
        marked["brier"] = sum(share**2 for share in wrong) / len(wrong)
    return marked


def beyond(case: Case, factor: float) -> float:
    """Return the size this many times beyond the largest; 1 and 4 more where it is exponential."""
    largest = float(case.sizes[-1])
    if case.growth.term.rate:
        return largest + (1 if factor <= 4 else 4)
    return largest * factor


def _array(size: float):  # noqa: ANN202
    import numpy as np

    return np.array([size])


def _same(named: Term, true: Term) -> bool:
    """Whether two terms are the same to 0.01 in each exponent."""
    pairs = ((named.power, true.power), (named.logs, true.logs), (named.rate, true.rate))
    return all(abs(a - b) < Fraction(1, 100) for a, b in pairs)


def table(
    scored: Iterable[tuple[Case, dict[str, float]]], group: Callable[[Case], str]
) -> dict[str, dict[str, float]]:
    """Return the mean of each score in each group, and over all, with the number of cases."""
    sums: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for case, marked in scored:
        for name in (group(case), "all"):
            for score, value in marked.items():
                sums[name][score].append(value)
    return {
        name: {"cases": len(scores["exact"]), **{s: sum(v) / len(v) for s, v in scores.items()}}
        for name, scores in sums.items()
    }
