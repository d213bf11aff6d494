"""The paper's engine: c0 + c1·g by least squares, chosen by adjusted R², on the first quartile.

Faithful to Shudler et al. (ICS 2015, sections 2.3 and 3.3), with these choices where they leave it
open: the constant model, to which R² does not apply, is chosen when no term explains anything
(adjusted R² at most 0); of equal R² the slower growth wins; c1 may be negative, as plain least
squares gives it. Values are fitted as they are, so the largest sizes weigh most. There is no
probability and no interval. Both the R² and the choice are the same in every unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.measurement import Measurement, MeasurementError
from tidings.scaling.terms import CONSTANT, Term, log_values

QUARTILE = 0.25
FEWEST_SIZES = 5
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PaperModel:
    """A constant, one term with its coefficient, and the share of variance it explains."""

    growth: Term
    constant: float
    coefficient: float
    adjusted_r2: float | None
    log_scale: float = 0.0

    def predict(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the model's value at each size, in the metric's unit."""
        if self.growth == CONSTANT:
            return np.full(np.shape(sizes), self.constant)
        with np.errstate(over="ignore"):
            shape = np.exp(self.growth.log_value(np.asarray(sizes, float)) - self.log_scale)
        return self.constant + self.coefficient * shape


@dataclass(frozen=True)
class PaperEngine:
    """Fits the terms of a search space to a quantile of the repetitions."""

    space: Sequence[Term]
    quantile: float = QUARTILE
    fewest_sizes: int = FEWEST_SIZES

    def fit(self, measurement: Measurement) -> PaperModel:
        """Return the best model; raise MeasurementError at fewer sizes than the paper asks for."""
        sizes = measurement.sizes()
        if len(sizes) < self.fewest_sizes:
            raise MeasurementError(
                f"{measurement.name}: {len(sizes)} sizes; the paper's rule needs "
                f"{self.fewest_sizes} or more"
            )
        values = measurement.quantile(self.quantile)
        terms = sorted(set(self.space) - {CONSTANT})
        best = PaperModel(CONSTANT, float(np.mean(values)), 0.0, None)
        if np.ptp(values) <= _ROUNDING * np.max(values) or not terms:
            return best
        return _best(terms, sizes, values, best)


def _best(
    terms: list[Term], sizes: NDArray[np.float64], values: NDArray[np.float64], constant: PaperModel
) -> PaperModel:
    """Fit each term by least squares; return the one that explains most, or the constant."""
    logs = log_values(terms, sizes)
    scales = logs.max(axis=1)
    shapes = np.exp(logs - scales[:, None])
    mean = values.mean()
    deviations = shapes - shapes.mean(axis=1, keepdims=True)
    power = (deviations**2).sum(axis=1)
    slopes = (deviations @ (values - mean)) / power
    residuals = values - mean - slopes[:, None] * deviations
    unexplained = (residuals**2).sum(axis=1) / ((values - mean) ** 2).sum()
    count = len(sizes)
    r2 = 1.0 - np.round(unexplained, 12) * (count - 1) / (count - 2)
    chosen = int(np.argmax(np.where(np.isfinite(r2), r2, -np.inf)))
    if not r2[chosen] > 0:
        return constant
    intercept = float(mean - slopes[chosen] * shapes[chosen].mean())
    return PaperModel(
        terms[chosen], intercept, float(slopes[chosen]), float(r2[chosen]), float(scales[chosen])
    )
