"""Measurements for tests: functions of known growth with seeded noise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.expectation import Expectation
from tidings.scaling.measurement import Measurement

Floats = NDArray[np.float64]
SIZES: Floats = np.exp2(np.arange(6.0, 13.0))


def noisy(growth: str, percent: float, seed: int, sizes: Floats = SIZES) -> Floats:
    """Return five repetitions per size of a constant and a growth, with relative noise."""
    logs = Expectation.parse(growth).term.log_value(sizes)
    values = 1.0 + np.exp(logs - logs[len(sizes) // 2])
    rng = np.random.default_rng(seed)
    return np.asarray(values[:, None] * (1 + percent / 100 * rng.standard_normal((len(sizes), 5))))


def measurement(function: str, growth: str, percent: float = 2.0, seed: int = 1) -> Measurement:
    """Return a measurement of a function."""
    values = noisy(growth, percent, seed)
    return Measurement.of_values(
        SIZES.tolist(), values.tolist(), function=function, metric="time", parameter="n", unit="s"
    )


def write_lines(path: Path, listed: list[Measurement]) -> None:
    """Write measurements as JSON Lines."""
    rows = [
        {
            "function": m.function,
            "metric": m.metric,
            "parameter": m.parameter,
            "size": row.size,
            "value": row.value,
            "unit": m.unit,
        }
        for m in listed
        for row in m.rows
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
