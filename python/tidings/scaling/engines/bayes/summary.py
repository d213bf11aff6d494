"""Summary: one logarithm per size, and its scatter; all that the engine sees.

Noise is considered relative: ln(value) is compared. All logarithms are relative to one value
of the measurement and rounded to 2^-30, far below any noise, so that another unit, which changes
the last bits of a float, changes nothing. Within a size, repetitions further than four robust
standard deviations (pooled over all sizes) from the densest cluster are spikes and are omitted; the
others are averaged. Spikes are slow, so that half of a size's repetitions may be some.

Rows of one run count once: with several runs, a run's rows at a size are their median, and the
scatter is that between runs. Where every run has every size, a run's own factor cancels and is
removed. With one run per size, or none named, the differences between runs of different sizes
remain in the residuals, where the engine's wider noise components allow for them.

Time and memory are linear in the rows (sorting aside).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import many_sizes
from tidings.scaling.measurement import Measurement

Floats = NDArray[np.float64]
_ROUNDING = 2.0**30
_SPIKE_SDS = 4.0
_CLUSTER_SDS = 3.0
_SPIKE_FLOOR = 3e-7
_ROUGH_SDS = 4.0
_MOST_SPIKES = 1 / 3
"""If more of all values seem to be spikes, they are a second level, and part of the scatter."""
_NORMAL_MAD = 1.4826
_HALVES = np.array([0.956, 0.361, 0.906, 0.593, 0.938, 0.721, 0.971, 0.804, 0.999])
"""Median width of the shortest half of 2 to 10 normal values, in standard deviations."""
_MOST_LISTED = len(_HALVES) + 1
_HALF, _SHORTER = 1.349, 1.7
"""That of very many, and how much shorter it is of fewer."""


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


def summarize(measurement: Measurement, most: int = many_sizes.MOST) -> Summary:
    """Reduce a measurement to a Summary; more than `most` sizes are put together."""
    columns = measurement.columns
    sizes, values = columns.sizes, columns.values
    first = np.sort(values[sizes == sizes.min()])
    reference = math.log(first[(len(first) - 1) // 2])
    logs = np.round((np.log(values / first[(len(first) - 1) // 2])) * _ROUNDING) / _ROUNDING
    if measurement.has_runs():
        sizes, logs = _one_value_a_run(sizes, logs, columns.runs)
    order = np.lexsort((logs, sizes))
    return _pooled(sizes[order], logs[order], reference, most)


def _pooled(sizes: Floats, logs: Floats, reference: float, most: int) -> Summary:
    """Omit spikes by the pooled scatter, and average the rest at each size."""
    distinct, starts, counts = np.unique(sizes, return_index=True, return_counts=True)
    medians = 0.5 * (logs[starts + (counts - 1) // 2] + logs[starts + counts // 2])
    index = np.repeat(np.arange(len(distinct)), counts)
    kept = _kept(logs, index, starts, _scatter(logs, index, starts, counts), _SPIKE_SDS)
    if kept.mean() < 1 - _MOST_SPIKES:
        sd = max(_by_medians(logs, index, starts, counts), _SPIKE_FLOOR)
        kept = _kept(logs, index, starts, sd, _SPIKE_SDS)
    kept_counts = np.add.reduceat(kept.astype(float), starts)
    means = np.add.reduceat(np.where(kept, logs, 0.0), starts) / kept_counts
    squares = float(np.where(kept, (logs - means[index]) ** 2, 0.0).sum())
    freedom = int(kept_counts.sum()) - len(distinct)
    gaps = np.add.reduceat(logs, starts) / counts - medians
    if len(distinct) > most:
        distinct, means, kept_counts, left = many_sizes.together(distinct, means, kept_counts)
        squares += left
        freedom = max(int(kept_counts.sum()) - 2 * len(distinct), 0)
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
    """Return the mean of each size's densest cluster, the lower one of two: spikes are slow.

    If no cluster has most of a size's values, it is that of the lowest: spikes may be close, too.
    `logs` ascend within a size, so a value's cluster is a slice of them. All are whole multiples
    of the rounding: as integers, with each size moved out of the others' reach, one search finds
    the slices of all sizes, and sums are exact.
    """
    whole = np.rint(logs * _ROUNDING).astype(np.int64)
    span = int(whole.max() - whole.min()) + 1
    reach = int(min(_CLUSTER_SDS * sd * _ROUNDING, span))
    apart = whole - whole.min() + index * (2 * span + 1)
    low = np.searchsorted(apart, apart - reach, "left")
    high = np.searchsorted(apart, apart + reach, "right")
    crowd = high - low
    ends = np.append(starts[1:], len(logs))
    most, counts = np.maximum.reduceat(crowd, starts), ends - starts
    places = np.where(crowd == np.repeat(most, counts), np.arange(len(logs)), len(logs))
    densest = np.where(2 * most > counts, np.minimum.reduceat(places, starts), starts)
    sums = np.append(0, np.cumsum(whole))
    means = (sums[high[densest]] - sums[low[densest]]) / crowd[densest]
    return np.asarray(means / _ROUNDING)


def _scatter(
    logs: Floats, index: NDArray[np.intp], starts: NDArray[np.intp], counts: NDArray[np.intp]
) -> float:
    """Return the standard deviation of values that are no spikes; infinite without repetitions.

    The shortest half of each size's values has no spikes in it as long as most are none, which a
    median of four has with two. What is near by that measure gives the standard deviation. Where
    halves are of equal values, as a coarse clock gives, the distances to medians tell more.
    """
    sd = _by_shortest_halves(logs, starts, counts)
    if sd == math.inf:
        return sd
    sd = max(sd or _by_medians(logs, index, starts, counts), _SPIKE_FLOOR)
    kept = _kept(logs, index, starts, sd, _ROUGH_SDS)
    number = np.add.reduceat(kept.astype(float), starts)
    means = np.add.reduceat(np.where(kept, logs, 0.0), starts) / number
    freedom = float(number.sum()) - len(starts)
    squares = float(np.where(kept, (logs - means[index]) ** 2, 0.0).sum())
    return max(math.sqrt(squares / freedom), _SPIKE_FLOOR) if freedom else sd


def _by_medians(
    logs: Floats, index: NDArray[np.intp], starts: NDArray[np.intp], counts: NDArray[np.intp]
) -> float:
    """Return the standard deviation by distances to medians, without each size's nearest."""
    medians = 0.5 * (logs[starts + (counts - 1) // 2] + logs[starts + counts // 2])
    several = int((counts - 1)[counts > 1].sum())
    ordered = np.sort(np.abs(logs - medians[index]))[len(logs) - several :]
    middle = ordered[(several - 1) // 2] + ordered[several // 2]
    return _NORMAL_MAD * 0.5 * float(middle)


def _by_shortest_halves(logs: Floats, starts: NDArray[np.intp], counts: NDArray[np.intp]) -> float:
    """Return the standard deviation by the median of sizes' shortest halves, weighted by counts."""
    several = counts > 1
    if not several.any():
        return math.inf
    more = np.repeat(counts // 2, counts)
    place = np.arange(len(logs))
    last = np.repeat(starts + counts, counts) - 1
    ends = np.minimum(place + more, len(logs) - 1)
    widths = np.where(place + more <= last, logs[ends] - logs, math.inf)
    shortest = np.minimum.reduceat(widths, starts)[several]
    counts = counts[several]
    listed = _HALVES[np.minimum(counts, _MOST_LISTED) - 2]
    usual = np.where(counts <= _MOST_LISTED, listed, _HALF * (1 - _SHORTER * counts ** (-2 / 3)))
    ratios = shortest / usual
    order = ratios.argsort(kind="stable")
    cumulated = np.cumsum(counts[order] - 1)
    first, second = np.searchsorted(2 * cumulated, [cumulated[-1], cumulated[-1] + 1])
    return 0.5 * float(ratios[order[first]] + ratios[order[second]])


def _kept(
    logs: Floats, index: NDArray[np.intp], starts: NDArray[np.intp], sd: float, most: float
) -> NDArray[np.bool_]:
    """Return which values are within so many standard deviations of their size's cluster."""
    centres = _centres(logs, index, starts, sd)
    return np.asarray(np.abs(logs - centres[index]) <= most * sd)


def _one_value_a_run(sizes: Floats, logs: Floats, runs: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Take each run's median at each size; remove runs' own factors where runs are complete."""
    order = np.lexsort((logs, sizes, runs))
    sizes, logs, runs = sizes[order], logs[order], runs[order]
    fresh = (np.diff(sizes) != 0) | (np.diff(runs) != 0)
    starts = np.append(0, np.flatnonzero(fresh) + 1)
    counts = np.diff(np.append(starts, len(logs)))
    medians = 0.5 * (logs[starts + (counts - 1) // 2] + logs[starts + counts // 2])
    sizes, runs = sizes[starts], runs[starts]
    named, at_run = np.unique(runs, return_inverse=True)
    if len(named) > 1 and len(medians) == len(named) * len(np.unique(sizes)):
        own = np.bincount(at_run, medians) / np.bincount(at_run)
        medians = medians + (medians.mean() - own)[at_run]
    return sizes, medians
