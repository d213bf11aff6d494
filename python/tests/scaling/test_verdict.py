"""Verdicts: of true, broken and undecided expectations, and of data that no growth fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.scaling.series import SIZES, measurement, noisy
from tidings.scaling import plan, verdict
from tidings.scaling.counters.timing import APART
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.engines.bayes.evidence import Problem, Stepped
from tidings.scaling.engines.bayes.noise import noise_of
from tidings.scaling.engines.bayes.summary import summarize
from tidings.scaling.expectation import Expectation
from tidings.scaling.limits import Limits
from tidings.scaling.measurement import Measurement
from tidings.scaling.terms import Term
from tidings.scaling.verdict import Evaluation, Outcome

QUARTER = Term.of("1/4")


def evaluated(
    values: list[list[float]], expected: str, sizes: list[float] | None = None
) -> Evaluation:
    """Evaluate one expectation, with a deviation of n^(1/4)."""
    term = Expectation.parse(expected).term
    model = BayesEngine().fit(Measurement.of_values(sizes or SIZES.tolist(), values), term)
    return verdict.evaluate([model], [Limits.around(term, QUARTER)])[0]


def test_a_true_expectation_holds() -> None:
    one = evaluated(noisy("n log n", 2, 3).tolist(), "n log n")
    assert one.outcome is Outcome.HOLDS
    assert one.match.value == "✓"
    assert one.divergence == Term()


def test_a_broken_expectation_is_violated() -> None:
    one = evaluated(noisy("n^1.5", 2, 3).tolist(), "n")
    assert one.outcome is Outcome.VIOLATED
    assert one.divergence == Term.of("1/2")
    low, high = one.divergence_band
    assert isinstance(low, Term)
    assert isinstance(high, Term)
    assert isinstance(one.divergence, Term)
    assert low <= one.divergence <= high


def test_faster_than_expected_is_reported_and_not_a_violation() -> None:
    one = evaluated(noisy("log n", 2, 3).tolist(), "n")
    assert one.outcome is Outcome.HOLDS
    assert one.faster
    assert one.reasons == ("grows more slowly than the limits",)


def test_two_sides_can_be_requested() -> None:
    term = Term.of(2)
    model = BayesEngine().fit(measurement("f", "log n"), term)
    one = verdict.evaluate([model], [Limits.around(term, QUARTER)], two_sided=[True])[0]
    assert one.outcome is Outcome.VIOLATED


def test_four_noisy_sizes_are_undecided_and_the_next_is_proposed() -> None:
    one = evaluated(noisy("n", 20, 3)[:4].tolist(), "n", SIZES[:4].tolist())
    assert one.outcome is Outcome.UNDECIDED
    assert one.reasons == ("4 sizes tell little at this noise: add sizes, to 5",)
    assert one.next_design is not None
    assert one.next_design.size > SIZES[3]


def test_sizes_without_repetitions_are_undecided_below_five() -> None:
    one = evaluated(noisy("n^3", 1, 3)[:4, :1].tolist(), "n", SIZES[:4].tolist())
    assert one.outcome is Outcome.UNDECIDED
    assert "4 sizes without repetitions" in one.reasons[0]


@pytest.mark.parametrize("count", [3, 4])
def test_few_sizes_have_a_verdict_where_the_data_carry_one(count: int) -> None:
    sizes = SIZES[:count].tolist()
    for seed in range(20):
        values = noisy("n^3", 1, seed, SIZES[:count]).tolist()
        broken = evaluated(values, "n", sizes)
        assert broken.outcome is Outcome.VIOLATED
        assert broken.reasons == ()
        true = evaluated(values, "n^3", sizes)
        assert true.outcome is not Outcome.VIOLATED


def test_growth_is_told_on_both_sides_of_a_step() -> None:
    """A copy changes its method at 1,024 elements: no smooth curve is fitted through that."""
    values = noisy("n", 2, 5)
    values[SIZES >= 1024] *= 30
    true = evaluated(values.tolist(), "n")
    assert true.outcome is Outcome.HOLDS
    assert true.reasons[0].startswith("a step between 512 and 1024, by a factor of ")
    assert evaluated(values.tolist(), "1").outcome is Outcome.VIOLATED


def test_a_step_of_less_than_a_percent_is_not_named() -> None:
    """It would be "by a factor of 1"."""
    for factor, named in ((1.004, False), (1.04, True)):
        values = noisy("n", 0.01, 5)
        values[SIZES >= 1024] *= factor
        found = evaluated(values.tolist(), "n")
        assert found.outcome is Outcome.HOLDS
        assert any("a step" in reason for reason in found.reasons) is named


def test_a_step_in_noise_is_not_taken_for_growth() -> None:
    """Steps by 1.4 to 2.15 at places from the third size on, 3 % noise: no alarm, all caught."""
    sizes = np.exp2(np.arange(6.0, 14.0))
    for growth in ("sqrt n", "n"):
        for seed in range(15):
            values = noisy(growth, 3, seed, sizes)
            values[2 + seed % 5 :] *= 1.4 + 0.05 * (seed % 16)
            true = evaluated(values.tolist(), growth, sizes.tolist())
            assert true.outcome is Outcome.HOLDS, (growth, seed)
            broken = evaluated(values.tolist(), "1", sizes.tolist())
            assert broken.outcome is Outcome.VIOLATED, (growth, seed)


def test_a_step_leaves_what_needs_none_as_it_is() -> None:
    term = Term.of(1)
    model = BayesEngine().fit(measurement("f", "n", 5, 1), term)
    assert model.steps is not None
    assert model.steps.probability < 0.1
    plain = model.probability(term, None, Term.of("5/4"))
    assert model.steps.holds(term, None, Term.of("5/4")) == pytest.approx(plain, abs=0.05)


def test_growth_beside_a_step_does_not_depend_on_the_jump() -> None:
    """The jump takes up any factor from its size on; only its prior tells factors apart."""
    values = noisy("n", 2, 5)
    jumped = values.copy()
    jumped[SIZES >= 512] *= 2.5
    shapes = np.log(SIZES)[None, :] * np.array([[0.5], [1.0]])
    found = []
    for listed in (values, jumped):
        summary = summarize(Measurement.of_values(SIZES.tolist(), listed.tolist()))
        problem = Problem(summary.sizes, summary.logs, noise_of(summary))
        found.append(Stepped(problem, int((SIZES < 512).sum())).fitted(shapes))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-5)
    assert found[1][2] - found[0][2] == pytest.approx([np.log(2.5)] * 2, abs=1e-6)


def test_growth_beyond_a_step_is_what_counts() -> None:
    sizes = np.exp2(np.arange(4.0, 13.0))
    rng = np.random.default_rng(3)
    values = np.where(sizes < 256, sizes, 3e-3 * sizes**3)[:, None]
    values = values * (1 + 0.01 * rng.standard_normal((len(sizes), 5)))
    one = evaluated(values.tolist(), "n", sizes.tolist())
    assert one.outcome is Outcome.VIOLATED
    assert "a step between 128 and 256" in one.reasons[0]


def test_wild_scatter_between_sizes_is_a_misfit() -> None:
    factors = np.array([1.0, 3.0, 0.5, 4.0, 0.4, 2.5, 1.0])
    one = evaluated((noisy("n", 1, 5) * factors[:, None]).tolist(), "n")
    assert one.outcome is Outcome.MISFIT


def test_sizes_that_cannot_distinguish_candidates_are_undecided() -> None:
    sizes = [1000.0, 1001.0, 1002.0, 1003.0, 1004.0]
    rng = np.random.default_rng(4)
    values = (1 + 0.01 * rng.standard_normal((5, 5))).tolist()
    assert evaluated(values, "log n", sizes).outcome is Outcome.UNDECIDED


def test_a_suite_shares_its_rate_of_false_alarms() -> None:
    """One test alone may report a violation where one of many may not: Holm's rule."""
    term = Expectation.parse("n").term
    limits = Limits.around(term, QUARTER)
    models = [BayesEngine().fit(measurement("f", "n^1.5", 14, seed), term) for seed in range(40)]
    between = [
        m
        for m in models
        if verdict.threshold(0.01 / 50, 7) < m.probability(term, None, limits.upper) < 0.2
    ]
    assert between, "the seeds make no case between the thresholds"
    alone = verdict.evaluate(between[:1], [limits])[0]
    true = [BayesEngine().fit(measurement("f", "n", 2, seed), term) for seed in range(49)]
    together = verdict.evaluate([between[0], *true], [limits] * 50)[0]
    assert alone.outcome is Outcome.VIOLATED
    assert together.outcome is Outcome.UNDECIDED


def test_thresholds_follow_the_rate() -> None:
    assert verdict.threshold(0.01) == pytest.approx(0.26)
    assert verdict.threshold(0.001) == pytest.approx(0.026)
    assert verdict.threshold(0.01) == verdict.threshold(0.01, 6) == verdict.threshold(0.01, 9)
    listed = [verdict.threshold(0.01, sizes) for sizes in (3, 4, 5, 6)]
    assert listed == pytest.approx([0.10, 0.14, 0.14, 0.26])
    assert verdict.threshold(0.5) < 0.5


def test_plans_prefer_cheap_designs_that_decide() -> None:
    term = Expectation.parse("n").term
    limits = Limits.around(term, QUARTER)
    values = noisy("n^1.1", 10, 8)[:5]
    model = BayesEngine().fit(Measurement.of_values(SIZES[:5].tolist(), values.tolist()), term)
    designs = plan.designs(model, limits, False, (0.2, 0.9))
    assert [d.cost for d in designs] == sorted(d.cost for d in designs)
    best = plan.cheapest(designs)
    assert best is not None
    assert best.decides >= max(d.decides for d in designs) or best.decides >= plan.ENOUGH
    assert plan.designs(model, limits, False, (0.2, 0.9), largest=SIZES[4] * 2)[-1].size <= 2048


@pytest.mark.parametrize(
    ("sizes", "proposed"),
    [
        ([3, 4, 5, 6, 7], [8, 9, 11]),
        ([10, 11, 13, 16, 20], [24, 28, 36]),  # by small steps, not even ones
        ([10, 100, 1000, 9000, 10_000], [20_000, 40_000, 80_000, 160_000]),  # one near the top
        ([8, 16, 32, 64], [128, 256, 512, 1024]),
    ],
)
def test_sizes_are_proposed_as_far_apart_as_those_before(
    sizes: list[int], proposed: list[int]
) -> None:
    model = BayesEngine().fit(Measurement.of_values(sizes, [float(size) for size in sizes]))
    designs = plan.designs(model, Limits.around(Term.of(1)), False, (0.2, 0.9))
    assert sorted({design.size for design in designs}) == proposed
    assert plan.cheapest([]) is None


def test_a_plan_costs_a_few_times_as_much_at_most() -> None:
    hopeless = [plan.Design(10.0**i, 1, 10.0**i, i / 20) for i in range(1, 7)]
    assert plan.cheapest(hopeless) is hopeless[-1]
    assert plan.cheapest(hopeless, spent=300.0) is hopeless[2]
    assert plan.cheapest(hopeless, spent=1.0) is hopeless[0]
    sure = plan.Design(1e9, 5, 5e9, 0.9)
    assert plan.cheapest([*hopeless, sure], spent=1.0) is sure


def test_planned_measurements_decide() -> None:
    """Planned measurements decide most undecided cases, of 12 with seeded noise."""
    term = Expectation.parse("n").term
    limits = Limits.around(term, QUARTER)
    undecided = decided = 0
    for seed in range(30):
        values = noisy("n", 10, seed)[:5]
        sizes = SIZES[:5].tolist()
        model = BayesEngine().fit(Measurement.of_values(sizes, values.tolist()), term)
        first = verdict.evaluate([model], [limits])[0]
        if first.outcome is not Outcome.UNDECIDED or first.next_design is None:
            continue
        design = first.next_design
        more = np.append(SIZES[:5], design.size)
        truth = noisy("n", 10, seed, more)
        truth[:5] = values
        scale = float(np.mean(values[2]) / np.mean(truth[2]))
        row = (truth[5] * scale)[: design.runs].tolist()
        grown = Measurement.of_values([*sizes, design.size], [*values.tolist(), row])
        again = verdict.evaluate([BayesEngine().fit(grown, term)], [limits])[0]
        undecided += 1
        decided += again.outcome in (Outcome.HOLDS, Outcome.VIOLATED)
    assert undecided >= 5
    assert decided >= undecided / 2


def test_correct_code_never_alarms_and_a_regression_is_caught() -> None:
    """Selection in O(n) 500 times, counted with 1 % noise, and with a sort in it for 100 of these.

    At the rate of 1 % up to 5 alarms would be allowed; at a count's noise none is seen. Growth
    that breaks its limits is weighed beside steps, too, which takes four times as long.
    """
    term = Expectation.parse("n").term
    limits = Limits.around(term, Term.of(0, 1) ** "1/2")
    for seed in range(500):
        correct = BayesEngine().fit(measurement("select", "n", 1, seed), term)
        assert verdict.evaluate([correct], [limits])[0].outcome is not Outcome.VIOLATED, seed
    for seed in range(100):
        sorting = BayesEngine().fit(measurement("select", "n log n", 1, seed), term)
        assert verdict.evaluate([sorting], [limits])[0].outcome is Outcome.VIOLATED, seed


def test_a_per_cent_between_sizes_of_times_is_no_hidden_cube() -> None:
    """A lookup whose largest table lies elsewhere: repetitions agree to 0.2 %, sizes to 1 %."""
    rng = np.random.default_rng(3)
    sizes = 2.0 ** np.arange(8, 16)
    level = np.array([3.16, 3.16, 3.16, 3.16, 3.16, 3.17, 3.16, 3.20])
    values = level[:, None] * (1 + 0.002 * rng.standard_normal((8, 5)))
    times = Measurement.of_values(sizes.tolist(), values.tolist())
    limits = Limits.around(Term.of(0))
    bare = BayesEngine().fit(times, limits.expected)
    assert verdict.evaluate([bare], [limits])[0].outcome is not Outcome.HOLDS
    known = BayesEngine().fit(replace(times, apart=APART), limits.expected)
    assert verdict.evaluate([known], [limits])[0].outcome is Outcome.HOLDS


def test_times_may_step_before_the_largest_size() -> None:
    """Microseconds of a sort whose largest list leaves a cache: growth with a hidden cube."""
    rng = np.random.default_rng(4)
    sizes = 2.0 ** np.arange(8, 16)
    term = Term.of(1, 1)
    level = np.array([13.7, 30.8, 68.1, 150.0, 329.0, 717.0, 1560.0, 3800.0])[:, None]
    values = level * (1 + 0.002 * rng.standard_normal((8, 5)))
    times = replace(Measurement.of_values(sizes.tolist(), values.tolist()), apart=APART)
    limits = Limits.around(term)
    model = BayesEngine().fit(times, term)
    assert model.probability(term, None, limits.upper) < verdict.threshold(verdict.ALPHA)
    assert verdict.evaluate([model], [limits])[0].outcome is Outcome.HOLDS
    broken = Limits.around(Term.of("1/2"), Term.of("1/4"))
    assert verdict.evaluate([model], [broken])[0].outcome is Outcome.VIOLATED


def test_an_empty_suite_is_evaluated() -> None:
    assert verdict.evaluate([], []) == []
    assert (
        replace(
            verdict.evaluate(
                [BayesEngine().fit(measurement("f", "n"))], [Limits.around(Term.of(1))]
            )[0],
            reasons=(),
        ).outcome
        is Outcome.HOLDS
    )
