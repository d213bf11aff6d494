"""Forms of exact counts: growth, form, forecast and verdict where terms are subtracted.

With positive coefficients alone n - 1 was named n^0.75 log n, and 7 n^2.807 - 6 n^2 was violated.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tidings.scaling import verdict
from tidings.scaling.engines.bayes import BayesEngine, BayesModel
from tidings.scaling.expectation import Expectation
from tidings.scaling.limits import Limits
from tidings.scaling.measurement import Measurement

Floats = NDArray[np.float64]
SIZES: Floats = np.exp2(np.arange(6.0, 13.0))
STEPS: Floats = np.arange(6.0, 14.0)
UNEVEN: Floats = np.array([10.0, 25, 50, 100, 230, 500, 1000])

COUNTS: list[tuple[str, str, Floats, Callable[[Floats], Floats]]] = [
    ("n", "n - 1", SIZES, lambda n: n - 1),
    ("n", "n - 1", UNEVEN, lambda n: n - 1),
    ("n", "n - log n", SIZES, lambda n: n - np.log2(n)),
    ("n^2", "0.5 n^2 - 0.5 n", SIZES, lambda n: n * (n - 1) / 2),
    ("n log n", "n log n - n + 1", SIZES, lambda n: n * np.log2(n) - n + 1),
    ("n^2.80735", "7 n^2.807 - 6 n^2", SIZES, lambda n: 7 * n ** math.log2(7) - 6 * n**2),
    ("n^1.58496", "97 n^1.585 - 61 n + 8", SIZES, lambda n: 97 * n ** math.log2(3) - 61 * n + 8),
    ("n^3", "0.166667 n^3 - 0.5 n^2 + 0.333333 n", SIZES, lambda n: n * (n - 1) * (n - 2) / 6),
    ("2^n", "2^n - 1", STEPS, lambda n: 2**n - 1),
    ("n 2^n", "0.5 n 2^n - 2^n + 1", STEPS, lambda n: n * 2**n / 2 - 2**n + 1),
    ("n^2", "15 n^2 + 33 n + 7", SIZES, lambda n: 15 * n**2 + 33 * n + 7),
    ("n^1.58496", "9 n^1.585 + 40 n", SIZES, lambda n: 9 * n ** math.log2(3) + 40 * n),
    ("1", "17", SIZES, lambda n: 17 + 0 * n),
]


def fit(sizes: Floats, values: Floats, expected: str = "") -> BayesModel:
    """Fit values of sizes, one each."""
    term = Expectation.parse(expected).term if expected else None
    return BayesEngine().fit(Measurement.of_values(sizes.tolist(), values.tolist()), term)


@pytest.mark.parametrize(("growth", "form", "sizes", "count"), COUNTS)
def test_exact_counts_have_a_growth_a_form_and_a_forecast(
    growth: str, form: str, sizes: Floats, count: Callable[[Floats], Floats]
) -> None:
    model = fit(sizes, count(sizes))
    assert model.growth == Expectation.parse(growth).term
    assert model.form("n") == form
    far = sizes[-1] + 4 if sizes is STEPS else 64 * sizes[-1]
    truth = float(count(np.array([far]))[0])
    assert model.interval(far) == pytest.approx((truth, truth), rel=1e-6)
    low, high = model.interval(far)
    assert low <= truth * (1 + 1e-12)
    assert truth <= high * (1 + 1e-12)


def test_strassen_is_within_a_tenth_of_its_exponent() -> None:
    counts = 7 * SIZES ** math.log2(7) - 6 * SIZES**2
    expected = Expectation.parse("n^2.807").term
    model = fit(SIZES, counts, "n^2.807")
    limits = Limits.around(expected, Expectation.parse("n^0.1").term)
    assert verdict.evaluate([model], [limits])[0].outcome is verdict.Outcome.HOLDS
    below = Limits.around(Expectation.parse("n^2.5").term, Expectation.parse("n^0.1").term)
    assert verdict.evaluate([model], [below])[0].outcome is verdict.Outcome.VIOLATED


def test_noise_leaves_no_form() -> None:
    """At 5 % a subtracted term fits anything: nothing is subtracted, and nothing called exact."""
    rng = np.random.default_rng(4)
    noisy = (SIZES - 1)[:, None] * (1 + 0.05 * rng.standard_normal((len(SIZES), 5)))
    model = fit(SIZES, noisy)
    assert model.posterior.forms is None
    assert model.form("n") == ""


def test_counts_that_depend_on_data_have_a_growth_without_a_form() -> None:
    """Comparisons that scatter by a thousandth: a merge sort of data drawn by chance."""
    rng = np.random.default_rng(6)
    counts = SIZES * np.log2(SIZES) - 1.25 * SIZES
    model = fit(SIZES, counts * (1 + 0.001 * rng.standard_normal(len(SIZES))))
    assert model.growth == Expectation.parse("n log n").term
    assert model.form("n") == ""
    far = 64 * SIZES[-1]
    low, high = model.interval(far)
    assert low <= far * math.log2(far) - 1.25 * far <= high
