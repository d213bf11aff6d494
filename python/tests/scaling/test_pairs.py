"""Pairs: of hundreds of sums the true one is chosen, and the chosen ones stand for all."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import BayesEngine, pairs
from tidings.scaling.engines.bayes.candidates import PAIRS_WEIGHT, Candidates, candidates
from tidings.scaling.engines.bayes.evidence import Problem
from tidings.scaling.engines.bayes.linear import Linear
from tidings.scaling.engines.bayes.noise import noise_of
from tidings.scaling.engines.bayes.summary import summarize
from tidings.scaling.measurement import Measurement
from tidings.scaling.terms import Term, log_values

Floats = NDArray[np.float64]
SIZES: Floats = np.exp2(np.arange(3.0, 12.0))

SUMS = [
    (Term.of("3/2", 1), Term.of("1/2")),
    (Term.of("3/4"), Term.of("1/4")),
    (Term.of(2, 1), Term.of("5/4")),
    (Term.of(1), Term.of(0, 1)),
    (Term.of(0, 1), Term.of(-1)),
]


def sum_of(lead: Term, lower: Term, constant: float, sizes: Floats = SIZES) -> Floats:
    """Return a constant and two terms, each of them 1 at the middle of SIZES."""
    logs = log_values([lead, lower], sizes) - log_values([lead, lower], SIZES[4:5])
    return np.asarray(constant + np.exp(logs).sum(axis=0))


def measured(values: Floats) -> Measurement:
    return Measurement.of_values(SIZES.tolist(), values.tolist())


def chosen(values: Floats) -> Candidates:
    """Return the candidates of values with the pairs that are weighed."""
    summary = summarize(measured(values))
    problem = Problem(summary.sizes, summary.logs, noise_of(summary))
    listed = candidates(summary.sizes)
    return pairs.chosen(problem, listed, Linear(problem, listed.exponents))[0]


@pytest.mark.parametrize("constant", [0.0, 3.0])
@pytest.mark.parametrize(("lead", "lower"), SUMS)
def test_a_sum_of_two_terms_is_predicted(lead: Term, lower: Term, constant: float) -> None:
    """Once only 19 pairs were weighed, and other sums were called one term between their two."""
    values = sum_of(lead, lower, constant)
    found = chosen(values)
    best = found.terms[found.leads[0]], found.terms[found.lowers[0]]
    assert best == (lead, lower)
    model = BayesEngine().fit(measured(values))
    assert model.growth == lead
    far = 64 * SIZES[-1:]
    low, high = model.interval(float(far[0]))
    assert low * (1 - 1e-6) <= sum_of(lead, lower, constant, far)[0] <= high * (1 + 1e-6)


def test_the_chosen_pairs_stand_for_the_others() -> None:
    rng = np.random.default_rng(4)
    scatter = np.exp(0.3 * rng.standard_normal((len(SIZES), 3)))
    listed = candidates(SIZES)
    assert listed.pair_weights.sum() == pytest.approx(PAIRS_WEIGHT)
    found = chosen(sum_of(*SUMS[0], 1.0)[:, None] * scatter)
    assert len(found.leads) == pairs.WEIGHED
    one, others = found.pair_weights[0], listed.pair_weights
    place = (listed.leads == found.leads[0]) & (listed.lowers == found.lowers[0])
    assert 1 < one / others[place][0] < len(listed.leads)


def test_if_no_sum_fits_some_are_still_weighed() -> None:
    found = chosen(1.0 / SIZES**2)
    assert len(found.leads) == pairs.WEIGHED
    assert np.isfinite(found.pair_weights).all()
    assert BayesEngine().fit(measured(1.0 / SIZES**2)).growth == Term.of(-2)


def test_a_leading_term_is_above_its_lower_one() -> None:
    listed = candidates(SIZES)
    order = [listed.terms[place].order for place in listed.leads]
    assert all(a > listed.terms[b].order for a, b in zip(order, listed.lowers))
    assert all(listed.terms[place] > Term() for place in listed.leads)
