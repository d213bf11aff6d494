"""Verdicts of the default engine on a case: of its true expectation, a near one and the broken one.

The near expectation is slower than the growth by half of the deviation: growth is not what was
stated, but within the limits, so that a violation is a false alarm there, too. A model is fitted
once for all expectations that are among its candidates anyway; where values are exact, forms depend
on the expectation, and each has a model of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from suite import Case
from tidings.scaling import verdict
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.limits import Limits
from tidings.scaling.measurement import Measurement
from tidings.scaling.terms import Term
from tidings.scaling.verdict import Evaluation

TRUE, NEAR, BROKEN = KINDS = ("true", "near", "broken")


def expectations(case: Case) -> Iterator[tuple[str, Term]]:
    """Yield the kinds of expectations of a case; a constant has no broken one."""
    yield TRUE, case.growth.term
    yield NEAR, case.growth.term / case.deviation ** Fraction(1, 2)
    if case.broken is not None:
        yield BROKEN, case.broken


def evaluated(case: Case, kinds: tuple[str, ...] = KINDS) -> Iterator[tuple[str, Evaluation]]:
    """Yield the verdict, by itself, of each kind of expectation."""
    measured = Measurement.of_values(case.sizes, case.values)
    shared = BayesEngine().fit(measured)
    for kind, expected in expectations(case):
        if kind in kinds:
            is_shared = case.noise != "0" and expected in shared.posterior.terms
            model = shared if is_shared else BayesEngine().fit(measured, expected)
            yield kind, verdict.evaluate([model], [Limits.around(expected, case.deviation)])[0]
