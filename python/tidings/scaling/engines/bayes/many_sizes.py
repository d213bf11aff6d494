"""Many sizes: more than the engine compares at once are put together with their neighbours.

Sizes as a program meets them are all different, and may be a million. Groups of neighbours, equally
wide on a logarithmic axis, each become one size, the one nearest the group's middle. Its value is
read off the straight line through the group's logarithms, so that no growth is lost to averaging;
what the lines leave is scatter, as that of repetitions is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST = 128
"""How many sizes are compared: beyond some dozen, more sizes only average noise."""

Floats = NDArray[np.float64]
_FEWEST_FOR_A_LINE = 3


def together(sizes: Floats, logs: Floats, counts: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Return sizes, logarithms and counts of groups, and the squares that their lines leave."""
    x = np.log(sizes)
    group = np.minimum(((x - x[0]) / (x[-1] - x[0]) * MOST).astype(int), MOST - 1)
    group = np.unique(group, return_inverse=True)[1]
    mass = np.bincount(group, counts)
    x_mean = np.bincount(group, counts * x) / mass
    y_mean = np.bincount(group, counts * logs) / mass
    from_x, from_y = x - x_mean[group], logs - y_mean[group]
    spread = np.bincount(group, counts * from_x**2)
    product = np.bincount(group, counts * from_x * from_y)
    lined = (np.bincount(group) >= _FEWEST_FOR_A_LINE) & (spread > 0)
    slopes = np.full(len(mass), _slope(x, logs, counts))
    slopes[lined] = product[lined] / spread[lined]
    order = np.lexsort((np.abs(from_x), group))
    nearest = order[np.append(0, np.flatnonzero(np.diff(group[order])) + 1)]
    values = y_mean + slopes * (x[nearest] - x_mean)
    left = float((counts * (from_y - slopes[group] * from_x) ** 2).sum())
    return sizes[nearest], values, np.asarray(mass, dtype=float), left


def _slope(x: Floats, y: Floats, weights: Floats) -> float:
    share = weights / weights.sum()
    from_x, from_y = x - x @ share, y - y @ share
    return float((share * from_x) @ from_y / ((share * from_x) @ from_x))
