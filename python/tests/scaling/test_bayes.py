"""The default engine: what it must find, must ignore, and must not claim."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import BayesEngine, BayesModel, tails
from tidings.scaling.expectation import Expectation
from tidings.scaling.limits import Limits
from tidings.scaling.measurement import Measurement, Row
from tidings.scaling.terms import Term

Floats = NDArray[np.float64]
SIZES: Floats = np.exp2(np.arange(3.0, 11.0))


def values_of(text: str, constant: float = 2.0, sizes: Floats = SIZES) -> Floats:
    """Return a constant, and as much growth as that at the middle size."""
    logs = Expectation.parse(text).term.log_value(sizes)
    return np.asarray(constant + max(constant, 1.0) * np.exp(logs - logs[len(sizes) // 2]))


def noisy(values: Floats, percent: float, seed: int, repetitions: int = 5) -> Floats:
    """Return repetitions with relative normal noise."""
    rng = np.random.default_rng(seed)
    return values[:, None] * (1 + percent / 100 * rng.standard_normal((len(values), repetitions)))


def fit(values: Floats, sizes: Floats = SIZES, expected: Term | None = None) -> BayesModel:
    """Fit values at sizes."""
    return BayesEngine().fit(Measurement.of_values(sizes.tolist(), values.tolist()), expected)


def holds(model: BayesModel, text: str, within: str | None = None) -> float:
    """Return the probability that an expectation holds, faster growth allowed."""
    expected = Expectation.parse(text).term
    limits = Limits.around(expected, Expectation.parse(within).term if within else None)
    return model.probability(expected, None, limits.upper)


@pytest.mark.parametrize(
    "text",
    ["1", "log n", "log^2 n", "n^0.25", "sqrt n", "n", "n log n", "n^1.5", "n^2", "n^3 log n"],
)
def test_exact_values_name_their_growth(text: str) -> None:
    model = fit(values_of(text))
    assert model.growth == Expectation.parse(text).term
    far = model.predict(np.array([2.0**20]))
    assert far == pytest.approx(values_of(text, sizes=np.append(SIZES, 2.0**20))[-1:], rel=0.5)


@pytest.mark.parametrize("text", ["n^0.85", "n^1.1", "n^2.807", "n^0.37"])
def test_exponents_in_no_list(text: str) -> None:
    growth = fit(values_of(text)).growth
    assert float(growth.power) == pytest.approx(float(Expectation.parse(text).term.power), abs=1e-3)
    assert growth.logs == 0


@pytest.mark.parametrize("text", ["1/n", "n^-0.5", "log n / n"])
def test_decays(text: str) -> None:
    assert fit(values_of(text, constant=0.0)).growth == Expectation.parse(text).term


@pytest.mark.parametrize("text", ["2^k", "k^3 2^k", "k 2^k", "2^(k/2)"])
def test_exponentials(text: str) -> None:
    sizes: Floats = np.arange(3.0, 13.0)
    model = fit(values_of(text, sizes=sizes), sizes)
    assert model.growth == Expectation.parse(text).term


def test_mixtures_are_named_by_their_leading_term() -> None:
    values = 100 + 30 * SIZES + SIZES**2
    assert fit(noisy(values, 1, 1)).growth == Term.of(2)


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_spikes_are_omitted_where_half_of_a_size_are_spikes(seed: int) -> None:
    """Two of four values at two of five sizes, and one at two others: six of twenty."""
    rng = np.random.default_rng(seed)
    values = [[n**1.5 * np.exp(rng.normal(0, 0.03)) for _ in range(4)] for n in SIZES[:5]]
    clean = np.mean(np.log(values), axis=1)
    for at, count in enumerate((0, 2, 1, 2, 1)):
        clean[at] = np.mean(np.log(values[at][count:]))
        for repetition in range(count):
            values[at][repetition] *= rng.uniform(1.5, 10)
    summary = fit(np.array(values), SIZES[:5]).summary
    assert summary.spikes == 6
    assert np.allclose(np.diff(summary.logs), np.diff(clean), atol=0.05)


def test_spikes_that_are_alike_are_no_cluster_of_a_size() -> None:
    """Two of them are close together, and only one value is none: values are not fast by chance."""
    rows = [[n * f for f in (1.0, 1.01, 0.99, 1.005)] for n in SIZES]
    rows[2] = [SIZES[2] * f for f in (1.0, 5.0, 5.02, 8.0)]
    summary = fit(np.array(rows)).summary
    assert summary.counts.tolist() == [4.0, 4.0, 1.0, *[4.0] * (len(SIZES) - 3)]


def test_a_second_level_of_many_values_is_scatter_and_no_spikes() -> None:
    """A processor has two speeds: three of five times are alike, and two a few per cent longer."""
    rng = np.random.default_rng(3)
    fast = 1 + 1e-5 * rng.standard_normal((len(SIZES), 3))
    slow = 1.02 + 0.01 * rng.random((len(SIZES), 2))
    times = 6.2e-7 * np.concatenate([fast, slow], axis=1)
    times[0] *= 1.003
    summary = fit(times).summary
    assert summary.spikes == 0
    assert summary.variance > 0.005**2
    assert fit(times).growth == Term.of(0)


def test_equal_values_of_a_coarse_clock_are_not_all_there_is() -> None:
    """Two of three are equal at each size; the third, a tick later, is none the less a value."""
    ticks = np.outer(SIZES, [10.0, 10.0, 11.0])
    ticks[::2, 2] = SIZES[::2] * 9
    model = fit(ticks)
    assert model.summary.spikes == 0
    assert model.form("n") == ""
    counts = np.outer(SIZES, [10.0, 10.0, 10.0])
    counts[3, 1] *= 4
    assert fit(counts).summary.spikes == 1
    assert fit(counts).form("n") == "10 n"


def test_one_fast_value_is_a_spike_beside_most_of_a_size() -> None:
    rows = [[n * f for f in (1.0, 1.01, 0.99, 1.005)] for n in SIZES]
    rows[2][0] /= 5
    assert fit(np.array(rows)).summary.spikes == 1


def test_spikes_are_omitted() -> None:
    values = noisy(values_of("n"), 2, 5)
    values[2, 1] *= 8
    values[6, 3] *= 5
    model = fit(values)
    assert model.summary.spikes == 2
    assert model.growth == Term.of(1)


@pytest.mark.parametrize("text", ["n log n", "1", "n^0.37", "1/n", "n^3"])
@pytest.mark.parametrize("percent", [0, 5, 25])
def test_units_order_and_doubled_rows_change_no_bit(text: str, percent: float) -> None:
    values = np.abs(noisy(values_of(text), percent, 11))
    rows = [
        Row(float(size), "", str(number), float(value))
        for size, at_size in zip(SIZES, values)
        for number, value in enumerate(at_size)
    ]
    plain = BayesEngine().fit(Measurement.of(rows))
    rng = np.random.default_rng(3)
    for factor in (1.0, 1e-6, 1e6, 3600.0, 1 / 3):
        scaled = [Row(r.size, r.run, r.repetition, r.value * factor) for r in rows]
        shuffled = [scaled[i] for i in rng.permutation(len(scaled))] + scaled[::3]
        model = BayesEngine().fit(Measurement.of(shuffled))
        assert model.posterior.by_term() == plain.posterior.by_term()
        assert holds(model, "n") == holds(plain, "n")
        assert model.growth == plain.growth
        assert tails.exponent(model.posterior) == tails.exponent(plain.posterior)
        low, high = model.interval(1e6)
        assert np.allclose([low / factor, high / factor], plain.interval(1e6), rtol=1e-12, atol=0)


def test_a_broken_expectation_differs_from_a_true_one() -> None:
    model = fit(noisy(values_of("n^1.5"), 5, 21))
    assert holds(model, "n^1.5", "n^0.25") > 0.9
    assert holds(model, "n", "n^0.25") < 0.01


def test_faster_growth_than_expected_holds_unless_a_lower_limit_is_given() -> None:
    model = fit(noisy(values_of("log n"), 2, 4))
    assert holds(model, "n") > 0.99
    limits = Limits.around(Term.of(1.5))
    assert model.probability(limits.expected, limits.lower, limits.upper) < 0.1


def test_runs_count_once() -> None:
    """A hundred repetitions inside each of two runs are two values, not two hundred."""
    rng = np.random.default_rng(8)
    rows = [
        Row(float(size), f"{size:g}-{run}", str(index), float(factor * (1 + 0.001 * noise)))
        for size in SIZES
        for run, factor in enumerate(np.exp(0.1 * rng.standard_normal(2)))
        for index, noise in enumerate(rng.standard_normal(100))
    ]
    model = BayesEngine().fit(Measurement.of(rows))
    assert model.summary.counts.tolist() == [2.0] * len(SIZES)
    assert model.summary.variance == pytest.approx(0.01, rel=0.8)


def test_a_run_s_own_factor_cancels_where_runs_are_complete() -> None:
    rng = np.random.default_rng(9)
    factors = np.exp(0.5 * rng.standard_normal(4))
    rows = [
        Row(float(size), f"run {run}", "", float(factor * value))
        for size, value in zip(SIZES, values_of("n"))
        for run, factor in enumerate(factors)
    ]
    model = BayesEngine().fit(Measurement.of(rows))
    assert model.growth == Term.of(1)
    assert model.summary.variance < 1e-12


def test_few_sizes_are_undecided() -> None:
    sizes = SIZES[:3]
    model = fit(noisy(values_of("n", sizes=sizes), 10, 2), sizes)
    assert max(model.posterior.by_term().values()) < 0.9
    low, high = model.interval(2.0**20)
    assert high > 100 * low


@pytest.mark.parametrize("first", [1.0, 0.25])
def test_sizes_of_one_and_less_have_no_logarithm_but_a_growth(first: float) -> None:
    sizes = first * SIZES / SIZES[0]
    rng = np.random.default_rng(5)
    values = (3 + sizes)[:, None] * (1 + 0.05 * rng.standard_normal((len(sizes), 3)))
    model = fit(values, sizes)
    assert model.growth == Term.of(1)
    values[4:] *= 9
    assert fit(values, sizes).cliff is not None


def test_huge_sizes_and_exponential_expectations_do_not_overflow() -> None:
    sizes: Floats = np.exp2(np.arange(10.0, 16.0))
    model = fit(values_of("n", sizes=sizes), sizes, Expectation.parse("2^n").term)
    assert model.growth == Term.of(1)
    assert np.isfinite(model.interval(1e9)).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n", tails.POWER),
        ("n^1.5", tails.POWER),
        ("n log n", tails.POWER_LOG),
        ("1", tails.CONSTANT),
        ("log n", tails.LOGARITHM),
        ("1/n", tails.DECAY),
        ("n^-0.85", tails.DECAY),
        ("n^0.85", tails.ODD),
    ],
)
def test_tails_are_those_of_the_kind_that_is_likely(text: str, expected: float) -> None:
    decays = "/" in text or "-" in text
    posterior = fit(noisy(values_of(text, 0.0 if decays else 2.0), 0.1, 4)).posterior
    assert tails.exponent(posterior) == pytest.approx(expected, abs=0.03)


def test_tails_of_sums_exponentials_and_uncertainty() -> None:
    values = 100 + 30 * SIZES + SIZES**2
    assert tails.exponent(fit(noisy(values, 0.1, 1)).posterior) == pytest.approx(tails.SUM)
    sizes: Floats = np.arange(3.0, 13.0)
    posterior = fit(noisy(values_of("2^k", sizes=sizes), 0.1, 1), sizes).posterior
    assert tails.exponent(posterior) == pytest.approx(tails.EXPONENTIAL, abs=1e-4)
    doubtful = tails.exponent(fit(noisy(values, 25, 1)).posterior)
    assert tails.POWER + 0.1 < doubtful < tails.SUM - 0.1


@pytest.mark.parametrize("text", ["n", "1", "n^0.85"])
def test_intervals_begin_at_the_median_and_widen_with_their_level(text: str) -> None:
    model = fit(noisy(values_of(text), 5, 6))
    low, high = model.interval(1e5, 0.0)
    assert low == high == model.predict(np.array([1e5]))[0]
    assert np.log(low) == pytest.approx(model.posterior.quantiles(1e5, np.array([0.5]))[0])
    for level in (0.5, 0.95, 0.999, 1.0):
        wider_low, wider_high = model.interval(1e5, level)
        assert wider_low < low
        assert wider_high > high
        low, high = wider_low, wider_high


@pytest.mark.parametrize("text", ["n^-2", "n^(-2/3)", "n^0.75", "n^2 log n"])
@pytest.mark.parametrize("constant", [0.05, 0.3, 5.0])
def test_values_without_noise_are_forecast_to_their_rounding(text: str, constant: float) -> None:
    """The peak is narrower there than the steps by which it is looked for."""
    term = Expectation.parse(text).term
    logs = term.log_value(np.append(SIZES, 64 * SIZES[-1]))
    values = constant + np.exp(logs - logs[len(SIZES) - 1 if term < Term() else len(SIZES) // 2])
    model = fit(np.repeat(values[:-1, None], 4, axis=1))
    assert model.growth == term
    low, high = model.interval(float(64 * SIZES[-1]))
    assert low < values[-1] < high
    assert high < low * 1.0001
