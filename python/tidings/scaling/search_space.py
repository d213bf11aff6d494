"""Search space: the terms to choose a model from, as ticks on a ruler around an expectation.

The big ticks are terms of the expectation's own class, from bound to bound, made by halving the
intervals between exponents. The small ticks are the big ones times terms of the class below: first
exponent 1, then the expectation's own, and one step to either side of it. Terms that exceed a bound
are omitted. (Shudler et al., ICS 2015, sections 2.3 and 3.3.)
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from tidings.scaling.limits import Limits
from tidings.scaling.terms import CONSTANT, Exponent, Term, exponent

ROUNDS = 2
"""How often the intervals between bounds and expectation are halved: 2 gives quarters of each."""

MPI_DEVIATION = Term.of(power="1/2")
"""The deviation of the paper's MPI study, for all expectations."""


def halvings(start: Iterable[Exponent], rounds: int = ROUNDS) -> list[Fraction]:
    """Return the exponents after halving every interval between them `rounds` times."""
    ticks = sorted({exponent(value) for value in start})
    for _ in range(rounds):
        between = [(a + b) / 2 for a, b in zip(ticks, ticks[1:])]
        ticks = sorted({*ticks, *between})
    return ticks


def around(
    expected: Term,
    rounds: int = ROUNDS,
    small: Iterable[Exponent] | None = None,
    step: Exponent = 1,
    bounds: tuple[Term, Term] | None = None,
) -> list[Term]:
    """Return the search space of an expectation, slowest growth first.

    `rounds` sets the big ticks, `small` the exponents of the class below (without it: 0, 1, the
    expectation's own, and `step` to either side of it), `bounds` the terms that no other exceeds.
    """
    low, high = bounds or Limits.around(expected).bounds
    index = max(expected.class_index, low.class_index, high.class_index)
    big = halvings([_exponent_in(term, index) for term in (low, expected, high)], rounds)
    exponents = _small_exponents(expected, index, small, exponent(step))
    terms = {_term(index, tick, below) for tick in big for below in exponents}
    inside = {term for term in terms if low <= term <= high}
    return sorted({*inside, low, high, expected, CONSTANT})


def past(limits: Limits) -> list[Term]:
    """Return the space around an expectation, and terms that exceed its upper limit.

    The paper's bounds can end before the limit: those of O(1) end at log^2, so that nothing faster
    is found. Beyond the limit there are quarters of a power, up to a whole one, with a logarithm
    and without; where the limit is exponential, quarters of its rate.
    """
    upper = limits.upper
    quarters = [Fraction(quarter, 4) for quarter in range(1, 5)]
    if upper.rate > 0:
        beyond = {upper * Term(rate=quarter * upper.rate) for quarter in quarters}
    else:
        beyond = {upper * Term(power=q, logs=Fraction(log)) for q in quarters for log in (0, 1)}
    return sorted({*around(limits.expected), upper, *beyond})


def mpi() -> list[Term]:
    """Return the space of the paper's MPI study: multiples of 1/4 and 1/3 to 2, log 0 and 1."""
    powers = {Fraction(i, 4) for i in range(9)} | {Fraction(i, 3) for i in range(7)}
    return sorted(Term(power=power, logs=Fraction(logs)) for power in powers for logs in (0, 1))


def _exponent_in(term: Term, index: int) -> Fraction:
    return (term.logs, term.power, term.rate)[index]


def _small_exponents(
    expected: Term, index: int, small: Iterable[Exponent] | None, step: Fraction
) -> list[Fraction]:
    if index == 0:
        return [Fraction(0)]
    if small is not None:
        return sorted({Fraction(0), *map(exponent, small)})
    own = _exponent_in(expected, index - 1)
    beside = {own - step, own, own + step} if own else set()
    return sorted({Fraction(0), Fraction(1), *(e for e in beside if e >= 0 or own < 0)})


def _term(index: int, tick: Fraction, below: Fraction) -> Term:
    none = Fraction(0)
    if index == 0:
        return Term(logs=tick)
    if index == 1:
        return Term(power=tick, logs=below)
    return Term(rate=tick, power=below, logs=none)
