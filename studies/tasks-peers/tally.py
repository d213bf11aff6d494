"""What measured times and written lines come to: rates, efficiencies, losses, tasks run again.

Nothing here measures. A task that writes lines (:func:`calls.line`) leaves
``NUMBER begin NANOSECONDS PID`` when it begins and ``NUMBER end NANOSECONDS PID`` when it ends;
one that was killed leaves the first alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple


class Line(NamedTuple):
    """What one attempt of a task has written."""

    number: int
    is_begin: bool
    at_s: float
    pid: int


def lines_of(text: str) -> list[Line]:
    """Read lines; a last one that is still being written does not count."""
    found = []
    for row in text.split("\n")[:-1]:
        number, what, at_ns, pid = row.split()
        found.append(Line(int(number), what == "begin", int(at_ns) / 1e9, int(pid)))
    return found


class Again(NamedTuple):
    """How often tasks began once more than they had to."""

    begun: int
    """Attempts beyond the first one of each task."""
    ended: int
    """Those of them that began after an attempt of the same task had ended."""


def again(lines: Iterable[Line]) -> Again:
    """Count what ran again, by the order in time."""
    seen: set[int] = set()
    ended: set[int] = set()
    begun_again = ended_again = 0
    for line in sorted(lines, key=lambda line: line.at_s):
        if not line.is_begin:
            ended.add(line.number)
            continue
        begun_again += line.number in seen
        ended_again += line.number in ended
        seen.add(line.number)
    return Again(begun_again, ended_again)


def first_begin(lines: Iterable[Line]) -> float:
    """Return when the first task began."""
    return min(line.at_s for line in lines if line.is_begin)


def longest_pause_s(lines: Iterable[Line], since_s: float) -> float:
    """Return the longest time without a begin from a moment to the last begin."""
    later = sorted(line.at_s for line in lines if line.is_begin and line.at_s > since_s)
    return max((at - before for before, at in pairwise([since_s, *later])), default=0.0)


def ideal_s(work_s: float, slots: int, killed_s: float, slots_after: int) -> float:
    """Return the least time for some work when slots die, and what they had in hand does not."""
    if work_s <= slots * killed_s:
        return work_s / slots
    return killed_s + (work_s - slots * killed_s) / slots_after


def efficiency(own_s: float, spent_s: float) -> float:
    """Return the share of the time spent that tasks themselves needed."""
    return own_s / spent_s


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


class Spread(NamedTuple):
    """The median of some repetitions, and their range."""

    median: float
    least: float
    most: float


def spread(values: Iterable[float]) -> Spread:
    """Return it."""
    known = list(values)
    return Spread(statistics.median(known), min(known), max(known))


def enough(rate: float, seconds: float, least: int, most: int) -> int:
    """Return how many tasks take about so long at a rate, within bounds."""
    return max(least, min(most, round(rate * seconds)))
