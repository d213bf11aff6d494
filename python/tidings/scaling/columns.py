"""Columns: the rows of one function and metric, kept as arrays, not as objects.

A million rows take 28 bytes each. They come one by one, from any file and in any order, and are
checked as they come; the first that is wrong is remembered with its place. Rows that are numbered,
and the same in size, run, repetition and value, are one row that was read twice: it counts once,
with a warning. Rows without a number are repetitions, whatever their values: coarse clocks give
equal ones.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Place = tuple[str, int]
"""Where a row is from: a text, and a number after it, if it is not 0."""

NOWHERE: Place = ("", 0)
_NOT_NUMBERED = -1
_LONGEST_NUMBER = 15
_LARGEST_NUMBER = 10**_LONGEST_NUMBER - 1
_FEWEST_REPEATED = 10
"""From this many different rows on, all of them twice is no chance."""


class MeasurementError(ValueError):
    """Measurements cannot be used. The message names the place and the remedy."""


@dataclass(frozen=True, order=True)
class Row:
    """One measured value at one size; `run` and `repetition` may be empty."""

    size: float
    run: str = ""
    repetition: str = ""
    value: float = math.nan
    place: str = field(default="", compare=False)


def place_text(place: Place) -> str:
    """Return a place as messages print it."""
    return f"{place[0]}{place[1]}" if place[1] else place[0]


@dataclass(frozen=True, eq=False)
class Columns:
    """Sizes, values, and codes of runs and repetitions, row by row, in no order."""

    sizes: Floats
    values: Floats
    runs: Codes
    repetitions: Codes
    run_names: tuple[str, ...]
    repetition_names: tuple[str, ...]

    def rows(self) -> tuple[Row, ...]:
        """Return all as Row objects, sorted."""
        listed = zip(*(c.tolist() for c in (self.sizes, self.runs, self.repetitions, self.values)))
        return tuple(
            sorted(Row(s, self.run_names[run], self._number(r), v) for s, run, r, v in listed)
        )

    def _number(self, code: int) -> str:
        if code == _NOT_NUMBERED:
            return ""
        return str(code) if code >= 0 else self.repetition_names[-2 - code]

    def chosen(self, which: NDArray[np.intp]) -> Columns:
        """Return some of the rows."""
        return Columns(
            self.sizes[which],
            self.values[which],
            self.runs[which],
            self.repetitions[which],
            self.run_names,
            self.repetition_names,
        )


class Collector:
    """Rows as they come; `problem` says what is wrong with the first wrong one."""

    def __init__(self, name: str = "values") -> None:
        """Begin with none; `name` is for messages about rows without a place."""
        self.problem = ""
        self._name = name
        self._sizes = array("d")
        self._values = array("d")
        self._runs = array("q")
        self._repetitions = array("q")
        self._run_codes: dict[str, int] = {}
        self._repetition_codes: dict[str, int] = {}

    def add(self, size: float, run: str, repetition: int | str, value: float, place: Place) -> None:
        """Keep a row, or remember what is wrong with it."""
        if not (0.0 < size < math.inf and 0.0 < value < math.inf):
            self.problem = self.problem or _problem(size, value, place_text(place) or self._name)
            return
        self._sizes.append(size)
        self._values.append(value)
        self._runs.append(self._run_codes.setdefault(run, len(self._run_codes)))
        if not repetition and repetition != 0:
            self._repetitions.append(_NOT_NUMBERED)
        elif type(repetition) is int and 0 <= repetition <= _LARGEST_NUMBER:
            self._repetitions.append(repetition)
        else:
            self._repetitions.append(self._repetition_code(str(repetition)))

    def _repetition_code(self, text: str) -> int:
        if text.isdecimal() and len(text) <= _LONGEST_NUMBER and str(int(text)) == text:
            return int(text)
        return -2 - self._repetition_codes.setdefault(text, len(self._repetition_codes))

    def columns(self) -> tuple[Columns, tuple[str, ...]]:
        """Return the rows without doubles, and warnings."""
        whole = Columns(
            np.frombuffer(self._sizes, dtype=np.float64),
            np.frombuffer(self._values, dtype=np.float64),
            np.frombuffer(self._runs, dtype=np.int64),
            np.frombuffer(self._repetitions, dtype=np.int64),
            tuple(self._run_codes),
            tuple(self._repetition_codes),
        )
        return _without_doubles(whole) if len(whole.sizes) else (whole, ())


def _problem(size: float, value: float, where: str) -> str:
    if not 0.0 < size < math.inf:
        return f"{where}: the size is {size:g}; sizes must be positive"
    if math.isnan(value):
        return f"{where}: the value at size {size:g} is NaN, so missing: omit its row"
    return (
        f"{where}: the value at size {size:g} is {value:g}; only positive values can "
        "grow by a factor: omit it, or subtract less"
    )


def _without_doubles(whole: Columns) -> tuple[Columns, tuple[str, ...]]:
    """Drop numbered rows that are there twice; warn of them, and of a file that is there twice."""
    order = np.lexsort((whole.values, whole.repetitions, whole.runs, whole.sizes))
    first = np.zeros(len(order), dtype=bool)
    first[0] = True
    for part in (whole.sizes, whole.runs, whole.repetitions, whole.values):
        ordered = part[order]
        first[1:] |= ordered[1:] != ordered[:-1]
    doubled = ~first & (whole.repetitions[order] != _NOT_NUMBERED)
    warnings = []
    dropped = int(doubled.sum())
    if dropped:
        warnings.append(
            f"{dropped} row{'s are' if dropped > 1 else ' is'} the same as another in size, run, "
            "repetition and value, and counted once: if it is another measurement, name its run"
        )
        whole = whole.chosen(order[~doubled])
    counts = np.diff(np.append(np.flatnonzero(first), len(order)))
    times = int(np.gcd.reduce(counts))
    several_values = len(counts) > len(np.unique(whole.sizes))
    if times > 1 and not dropped and several_values and len(counts) >= _FEWEST_REPEATED:
        warnings.append(
            f"every row is there {times} times: if a file is read twice, omit it; if they are "
            "different measurements, number their repetitions or name their runs"
        )
    return whole, tuple(warnings)
