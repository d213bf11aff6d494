"""Summary: one logarithm per size, and its scatter; all that the engine sees.

Noise is considered relative: ln(value) is compared. All logarithms are relative to one value
of the measurement and rounded to 2^-30, far below any noise, so that another unit, which moves the
of the measurement and rounded to 2^-30, far below any noise, so that another unit, which changes
the last bits of a float, changes nothing. Within a size, repetitions further than four robust
standard deviations (pooled over all sizes) from the densest cluster are spikes and are omitted; the
others are averaged.

Rows of one run count once: with several runs, a run's rows at a size are averaged first, and the
scatter is that between runs. Where every run has every size, a run's own factor cancels and is
removed. With one run per size, or none named, the differences between runs of different sizes
remain in the residuals, where the engine's wider noise components allow for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.measurement import Measurement

Floats = NDArray[np.float64]
_ROUNDING = 2.0**30
_SPIKE_SDS = 4.0
_CLUSTER_SDS = 3.0
_SPIKE_FLOOR = 3e-7
_NORMAL_MAD = 1.4826


@dataclass(frozen=True)
class Summary:
    """Logarithms `logs` at `sizes`, from `counts` values each; ln(unit) of them is `reference`.

    `variance` is that of one value's logarithm, on `freedom` degrees; `median_gap` the largest
    difference between mean of all and median, in logarithms; `spikes` the values omitted.
    """

    sizes: Floats
    logs: Floats
    counts: Floats
    reference: float
    variance: float
    freedom: int
    spikes: int
    median_gap: float


def summarize(measurement: Measurement) -> Summary:
    """Reduce a measurement to a Summary."""
    sizes = np.array([row.size for row in measurement.rows])
    values = np.array([row.value for row in measurement.rows])
    first = np.sort(values[sizes == sizes[0]])
    reference = math.log(first[(len(first) - 1) // 2])
    logs = np.round((np.log(values / first[(len(first) - 1) // 2])) * _ROUNDING) / _ROUNDING
    if measurement.has_runs():
        runs = np.array([row.run for row in measurement.rows])
        sizes, logs = _one_value_a_run(sizes, logs, runs)
    order = np.lexsort((logs, sizes))
    return _pooled(sizes[order], logs[order], reference)


def _pooled(sizes: Floats, logs: Floats, reference: float) -> Summary:
    """Omit spikes by the pooled scatter, and average the rest at each size."""
    distinct, starts, counts = np.unique(sizes, return_index=True, return_counts=True)
    medians = 0.5 * (logs[starts + (counts - 1) // 2] + logs[starts + counts // 2])
    index = np.repeat(np.arange(len(distinct)), counts)
    sd = max(_robust_sd(np.abs(logs - medians[index]), counts), _SPIKE_FLOOR)
    centres = _centres(logs, index, starts, sd)
    kept = np.abs(logs - centres[index]) <= _SPIKE_SDS * sd
    kept_counts = np.add.reduceat(kept.astype(float), starts)
    means = np.add.reduceat(np.where(kept, logs, 0.0), starts) / kept_counts
    squares = float(np.where(kept, (logs - means[index]) ** 2, 0.0).sum())
    freedom = int(kept_counts.sum()) - len(distinct)
    gaps = np.add.reduceat(logs, starts) / counts - medians
    return Summary(
        distinct,
        means,
        kept_counts,
        reference,
        squares / freedom if freedom else 0.0,
        freedom,
        int((~kept).sum()),
        float(np.abs(gaps).max()),
    )


def _centres(logs: Floats, index: NDArray[np.intp], starts: NDArray[np.intp], sd: float) -> Floats:
    """Return the mean of each size's densest cluster, the lower one of two: spikes are slow."""
    together = (index[:, None] == index) & (np.abs(logs[:, None] - logs) <= _CLUSTER_SDS * sd)
    crowd = together.sum(axis=1)
    means = (together @ logs) / crowd
    ends = np.append(starts[1:], len(logs))
    densest = [a + int(crowd[a:b].argmax()) for a, b in zip(starts, ends)]
    return np.asarray(means[densest])


def _robust_sd(distances: Floats, counts: NDArray[np.intp]) -> float:
    """Return the standard deviation by distances to medians, without each size's nearest."""
    several = int((counts - 1)[counts > 1].sum())
    if several == 0:
        return math.inf
    ordered = np.sort(distances)[len(distances) - several :]
    middle = ordered[(several - 1) // 2] + ordered[several // 2]
    return _NORMAL_MAD * 0.5 * float(middle)


def _one_value_a_run(sizes: Floats, logs: Floats, runs: NDArray[np.str_]) -> tuple[Floats, Floats]:
    """Average each run's rows at each size; remove runs' own factors where runs are complete."""
    distinct, size_index = np.unique(sizes, return_inverse=True)
    names, run_index = np.unique(runs, return_inverse=True)
    table = np.full((len(names), len(distinct)), np.nan)
    for run in range(len(names)):
        for size in range(len(distinct)):
            found = logs[(run_index == run) & (size_index == size)]
            if len(found):
                table[run, size] = np.median(found)
    if len(names) > 1 and np.isfinite(table).all():
        table += table.mean() - table.mean(axis=1, keepdims=True)
    present = np.isfinite(table)
    return np.broadcast_to(distinct, table.shape)[present], table[present]
