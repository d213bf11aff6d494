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
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import many_sizes
from tidings.scaling.measurement import Measurement

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Whole = NDArray[np.int64]
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


@dataclass(frozen=True)
class _Sorted:
    """Logarithms that ascend within their size; sizes ascend, too.

    `logs` and `index`, the place of its size, have a value for each row; `starts`, where a size's
    rows begin, `counts` of them and `medians` one for each of the `distinct` sizes.
    """

    logs: Floats
    index: Places
    distinct: Floats
    starts: Places
    counts: Places
    medians: Floats

    @classmethod
    def of(cls, sizes: Floats, logs: Floats) -> _Sorted:
        """Find where sizes begin: they ascend."""
        starts, counts = _begins(sizes[1:] != sizes[:-1])
        index = np.arange(len(starts)).repeat(counts)
        medians = _medians(logs, starts, counts)
        return cls(logs, index, sizes[starts], starts, counts, medians)

    @cached_property
    def widest(self) -> float:
        """The largest difference within a size."""
        return float((self.logs[self.starts + self.counts - 1] - self.logs[self.starts]).max())

    @cached_property
    def whole(self) -> Whole:
        """Logarithms as integers: all are whole multiples of the rounding."""
        return np.rint(self.logs * _ROUNDING).astype(np.int64)


@dataclass(frozen=True)
class _Averages:
    """Averages of the rows that are `kept` (None: all are), and how many these are of each size.

    `squares` are those of the rows around their size's mean, summed.
    """

    kept: NDArray[np.bool_] | None
    counts: Floats
    means: Floats
    squares: float

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the squares."""
        return int(self.counts.sum()) - len(self.counts)


def summarize(measurement: Measurement, most: int = many_sizes.MOST) -> Summary:
    """Reduce a measurement to a Summary; more than `most` sizes are put together."""
    columns = measurement.columns
    sizes, values = columns.sizes, columns.values
    first = np.sort(values[sizes == sizes.min()])
    unit = first[(len(first) - 1) // 2]
    logs = np.rint(np.log(values / unit) * _ROUNDING) / _ROUNDING
    if measurement.has_runs():
        sizes, logs = _one_value_a_run(sizes, logs, columns.runs)
    order = np.lexsort((logs, sizes))
    return _pooled(_Sorted.of(sizes[order], logs[order]), math.log(unit), most)


def _pooled(rows: _Sorted, reference: float, most: int) -> Summary:
    """Omit spikes by the pooled scatter, and average the rest at each size."""
    rough, sd = _scatter(rows)
    kept = _kept(rows, sd, _SPIKE_SDS)
    if kept is not None and kept.mean() < 1 - _MOST_SPIKES:
        kept = _kept(rows, max(_by_medians(rows), _SPIKE_FLOOR), _SPIKE_SDS)
    if kept is None and rough is not None and rough.kept is None:
        average = rough
    else:
        average = _averaged(rows, kept)
    means, kept_counts = average.means, average.counts
    squares, freedom = average.squares, average.freedom
    of_all = means if kept is None else np.add.reduceat(rows.logs, rows.starts) / rows.counts
    distinct = rows.distinct
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
        0 if kept is None else int((~kept).sum()),
        float(np.abs(of_all - rows.medians).max()),
    )


def _averaged(rows: _Sorted, kept: NDArray[np.bool_] | None) -> _Averages:
    """Average the rows that are kept."""
    logs, starts = rows.logs, rows.starts
    if kept is None:
        counts = rows.counts.astype(float)
        means = np.add.reduceat(logs, starts) / counts
        return _Averages(None, counts, means, float(((logs - means[rows.index]) ** 2).sum()))
    counts = np.add.reduceat(kept.astype(float), starts)
    means = np.add.reduceat(np.where(kept, logs, 0.0), starts) / counts
    squares = float(np.where(kept, (logs - means[rows.index]) ** 2, 0.0).sum())
    return _Averages(kept, counts, means, squares)


def _centres(rows: _Sorted, sd: float) -> Floats:
    """Return the mean of each size's densest cluster, the lower one of two: spikes are slow.

    If no cluster has most of a size's values, it is that of the lowest: spikes may be close, too.
    `logs` ascend within a size, so a value's cluster is a slice of them. As integers, with each
    size moved out of the others' reach, one search finds the slices of all sizes, and sums are
    exact.
    """
    whole, starts, counts = rows.whole, rows.starts, rows.counts
    span = int(whole.max() - whole.min()) + 1
    reach = int(min(_CLUSTER_SDS * sd * _ROUNDING, span))
    apart = whole - whole.min() + rows.index * (2 * span + 1)
    low = apart.searchsorted(apart - reach, "left")
    high = apart.searchsorted(apart + reach, "right")
    crowd = high - low
    most = np.maximum.reduceat(crowd, starts)
    places = np.where(crowd == most[rows.index], np.arange(len(whole)), len(whole))
    densest = np.where(2 * most > counts, np.minimum.reduceat(places, starts), starts)
    sums = np.append(0, np.cumsum(whole))
    means = (sums[high[densest]] - sums[low[densest]]) / crowd[densest]
    return np.asarray(means / _ROUNDING)


def _scatter(rows: _Sorted) -> tuple[_Averages | None, float]:
    """Return the standard deviation of values that are no spikes; infinite without repetitions.

    The shortest half of each size's values has no spikes in it as long as most are none, which a
    median of four has with two. What is near by that measure gives the standard deviation, and is
    averaged. Where halves are of equal values, as a coarse clock gives, the distances to medians
    tell more.
    """
    sd = _by_shortest_halves(rows)
    if sd == math.inf:
        return None, sd
    sd = max(sd or _by_medians(rows), _SPIKE_FLOOR)
    near = _averaged(rows, _kept(rows, sd, _ROUGH_SDS))
    if near.freedom:
        sd = max(math.sqrt(near.squares / near.freedom), _SPIKE_FLOOR)
    return near, sd


def _by_medians(rows: _Sorted) -> float:
    """Return the standard deviation by distances to medians, without each size's nearest."""
    several = int((rows.counts - 1)[rows.counts > 1].sum())
    ordered = np.sort(np.abs(rows.logs - rows.medians[rows.index]))[len(rows.logs) - several :]
    middle = ordered[(several - 1) // 2] + ordered[several // 2]
    return _NORMAL_MAD * 0.5 * float(middle)


def _by_shortest_halves(rows: _Sorted) -> float:
    """Return the standard deviation by the median of sizes' shortest halves, weighted by counts."""
    logs, starts, counts = rows.logs, rows.starts, rows.counts
    several = counts > 1
    if not several.any():
        return math.inf
    ends = np.arange(len(logs)) + (counts // 2)[rows.index]
    inside = ends < (starts + counts)[rows.index]
    widths = np.where(inside, logs[np.minimum(ends, len(logs) - 1)] - logs, math.inf)
    shortest = np.minimum.reduceat(widths, starts)[several]
    counts = counts[several]
    usual = _HALVES[np.minimum(counts, _MOST_LISTED) - 2]
    if counts.max() > _MOST_LISTED:
        many = _HALF * (1 - _SHORTER * counts ** (-2 / 3))
        usual = np.where(counts <= _MOST_LISTED, usual, many)
    ratios = shortest / usual
    order = ratios.argsort(kind="stable")
    cumulated = (counts[order] - 1).cumsum()
    total = int(cumulated[-1])
    first, second = (2 * cumulated).searchsorted([total, total + 1])
    return 0.5 * float(ratios[order[first]] + ratios[order[second]])


def _kept(rows: _Sorted, sd: float, most: float) -> NDArray[np.bool_] | None:
    """Return which values are within so many standard deviations of their size's cluster.

    None: all are, which needs no cluster where no size's values are further apart than that.
    """
    if rows.widest <= most * sd:
        return None
    kept = np.abs(rows.logs - _centres(rows, sd)[rows.index]) <= most * sd
    return None if kept.all() else np.asarray(kept)


def _begins(differ: NDArray[np.bool_]) -> tuple[Places, Places]:
    """Return where groups of rows begin, and their counts, by whether a row differs from before."""
    starts = np.concatenate([[0], differ.nonzero()[0] + 1])
    counts = np.empty_like(starts)
    counts[:-1] = starts[1:] - starts[:-1]
    counts[-1] = len(differ) + 1 - starts[-1]
    return starts, counts


def _medians(logs: Floats, starts: Places, counts: Places) -> Floats:
    """Return the median of each group of rows; logarithms ascend within it."""
    return np.asarray(0.5 * (logs[starts + (counts - 1) // 2] + logs[starts + counts // 2]))


def _one_value_a_run(sizes: Floats, logs: Floats, runs: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Take each run's median at each size; remove runs' own factors where runs are complete."""
    order = np.lexsort((logs, sizes, runs))
    sizes, logs, runs = sizes[order], logs[order], runs[order]
    fresh = (np.diff(sizes) != 0) | (np.diff(runs) != 0)
    starts, counts = _begins(fresh)
    medians = _medians(logs, starts, counts)
    sizes, runs = sizes[starts], runs[starts]
    named, at_run = np.unique(runs, return_inverse=True)
    if len(named) > 1 and len(medians) == len(named) * len(np.unique(sizes)):
        own = np.bincount(at_run, medians) / np.bincount(at_run)
        medians = medians + (medians.mean() - own)[at_run]
    return sizes, medians
