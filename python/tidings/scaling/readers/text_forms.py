"""Text of other tools: Extra-P's text format, tables of OSU benchmarks, and CSV (JUBE, ReFrame).

CSV needs a heading. The size is the column `size`, or else the first of p, n, k, x, tasks, procs,
nprocs, num_tasks, nodes and ranks. The value is `value`, or else ReFrame's columns that end in
`_value`, or else each other column of numbers, as a metric of its own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Union

from tidings.scaling.columns import MeasurementError, Place, place_text
from tidings.scaling.readers.found import Found, Size, number
from tidings.scaling.two_parameters.products import SEPARATOR

_SIZES = ("size", "p", "n", "k", "x", "tasks", "procs", "nprocs", "num_tasks", "nodes", "ranks")
_OF_MACHINE = ("p", "tasks", "procs", "nprocs", "num_tasks", "nodes", "ranks")
_NAMES = ("function", "name", "check_name", "display_name", "descr", "testcase")
_RUNS = ("run", "jobid")
_NO_METRICS = {*_SIZES, *_NAMES, *_RUNS, "repetition", "unit", "metric"}
_OSU = re.compile(r"#\s*OSU\s+(?:MPI\s+)?(.*?)(?:\s+Test.*)?$")
_KEYWORDS = ("PARAMETER", "POINTS", "REGION", "METRIC", "DATA")


def rows(lines: Iterable[str], path: str) -> Iterator[Found]:
    """Read lines by their format, one at a time."""
    listed = iter(lines)
    head = list(_head(listed))
    first = head[-1] if head else "#"
    if first.startswith("#"):
        raise MeasurementError(f"{path}: the file has only comments")
    every = chain(head, listed)
    if first.split()[0].upper() in _KEYWORDS:
        return _extra_p(every, path)
    title = next((found for line in head if (found := _OSU.match(line))), None)
    if title:
        return _osu(every, title.group(1).strip(), path)
    if any(mark in first for mark in ",|;"):
        return _csv(every, path, next(mark for mark in "|;," if mark in first))
    raise MeasurementError(
        f"{path}: no known format; Extra-P's text, OSU tables and CSV with a heading are read"
    )


def _head(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines up to the first that is no comment; blank ones count as comments."""
    for line in lines:
        yield line if line.strip() else "#"
        if line.strip() and not line.startswith("#"):
            return


def _extra_p(lines: Iterable[str], path: str) -> Iterator[Found]:
    """Extra-P: ``PARAMETER p``, ``POINTS 8 16``, ``REGION f``, ``METRIC time``, then DATA."""
    parameters: list[str] = []
    function, metric = "", ""
    points: list[Size] = []
    at, began = 0, ""
    for line_number, line in enumerate(lines, 1):
        place = f"{path}:{line_number}"
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        keyword = words[0].upper()
        if keyword == "PARAMETER":
            if len(parameters) == 2:
                raise MeasurementError(f"{place}: a third parameter; at most two can grow")
            parameters.append(words[1] if len(words) > 1 else "x")
        elif keyword == "POINTS":
            points += _points(line, len(parameters), place)
        elif keyword in ("REGION", "METRIC"):
            name = line.strip()[len(keyword) :].strip()
            _all_there(at, len(points), began)
            function, metric = (name, metric) if keyword == "REGION" else (function, name)
            at = 0
        elif keyword == "DATA":
            if at >= len(points):
                raise MeasurementError(f"{place}: more lines of DATA than the {len(points)} points")
            names = (function, metric, SEPARATOR.join(parameters) or "x", "")
            for repetition, word in enumerate(words[1:]):
                value = number(word, place, "a value")
                yield Found(*names, points[at], "", repetition, value, (place, 0))
            at, began = at + 1, began if at else place
        else:
            raise MeasurementError(f"{place}: `{words[0]}` is not one of {', '.join(_KEYWORDS)}")
    _all_there(at, len(points), began)


def _points(line: str, parameters: int, place: str) -> list[Size]:
    """Return the points of a line: numbers, or pairs of them, as in ``( 8 100 ) ( 16 100 )``."""
    found = [number(word, place, "a point") for word in re.findall(r"[^\s(),]+", line)[1:]]
    if parameters < 2:
        return list(found)
    if len(found) % 2:
        raise MeasurementError(f"{place}: {len(found)} numbers, which are no pairs")
    return list(zip(found[::2], found[1::2]))


def _all_there(lines: int, points: int, began: str) -> None:
    """Reject a block of DATA that lacks lines: those after a missing one would be misplaced."""
    if 0 < lines < points:
        raise MeasurementError(
            f"{began}: {lines} lines of DATA, but there are {points} points: give each a line"
        )


def _osu(lines: Iterable[str], name: str, path: str) -> Iterator[Found]:
    """``# OSU MPI Allreduce Latency Test`` and lines of size and latency in µs."""
    for line_number, line in enumerate(lines, 1):
        place = (f"{path}:", line_number)
        words = line.split()
        if len(words) < 2 or words[0].startswith("#"):
            continue
        size = number(words[0], place, "the message size")
        if size > 0:
            value = number(words[1], place, "the value")
            yield Found(name or "OSU", "osu", "bytes", "", size, "", "", value, place)


def _csv(lines: Iterable[str], path: str, mark: str) -> Iterator[Found]:
    written = (line for line in lines if line.strip() and not line.startswith("#"))
    reader = csv.reader(written, delimiter=mark)
    heading = [cell.strip() for cell in next(reader)]
    twice = sorted({name for name in heading if name and heading.count(name) > 1})
    if twice:
        raise MeasurementError(f"{path}: the heading names {', '.join(twice)} more than once")
    size_column = next((name for name in _SIZES if name in heading), None)
    if size_column is None:
        raise MeasurementError(f"{path}: no column of sizes; name one `size`, or p, n, k")
    parameter = "x" if size_column == "size" else size_column
    run_column = next((name for name in _RUNS if name in heading), "")
    name_column = next((name for name in _NAMES if name in heading), "")
    others = _others(heading, size_column)
    fixed: dict[tuple[str, str], str] = {}
    cells_of = _cells_of(heading)
    prefix = f"{path}: row "
    for line_number, cells in enumerate(reader, 2):
        place = (prefix, line_number)
        if len(cells) != len(heading):
            raise MeasurementError(
                f"{place_text(place)}: {len(cells)} cells, but {len(heading)} columns"
            )
        entry = dict(zip(heading, map(str.strip, cells)))
        size = number(entry[size_column], place, "the size")
        function = entry.get(name_column, "")
        if others:
            _hold_fixed(fixed, function, {name: entry[name] for name in others}, size_column, place)
        run, repetition = entry.get(run_column, ""), entry.get("repetition", "")
        for metric, cell, unit in cells_of(entry):
            value = number(cell, place, metric or "the value")
            yield Found(function, metric, parameter, unit, size, run, repetition, value, place)


def _others(heading: list[str], grows: str) -> list[str]:
    """Return the other columns of sizes. Tasks and nodes are one parameter, the machine's size.

    A column `size` names the one that grows.
    """
    if grows == "size":
        return []
    of_machine = _OF_MACHINE if grows in _OF_MACHINE else ()
    return [name for name in _SIZES[1:] if name in heading and name not in {grows, *of_machine}]


def _hold_fixed(
    fixed: dict[tuple[str, str], str], function: str, others: dict[str, str], grows: str, at: Place
) -> None:
    """Reject a second column of sizes that changes within a function: only one can grow."""
    for name, cell in others.items():
        if fixed.setdefault((function, name), cell) != cell:
            raise MeasurementError(
                f"{place_text(at)}: {name} changes as well as {grows}: only one parameter can "
                "grow; omit the column, or name the one that counts `size`"
            )


Cell = tuple[str, Union[float, str], str]


def _cells_of(heading: list[str]) -> Callable[[dict[str, str]], Iterable[Cell]]:
    """Return what yields metric, value and unit: of `value`, ReFrame's columns, or all numbers."""
    if "value" in heading:
        return lambda entry: ((entry.get("metric", ""), entry["value"], entry.get("unit", "")),)
    valued = [name[: -len("_value")] for name in heading if name.endswith("_value")]
    if valued:
        return lambda entry: (
            (name, entry[f"{name}_value"], entry.get(f"{name}_unit", "")) for name in valued
        )
    metrics = [n for n in heading if n not in _NO_METRICS and not n.startswith("jube_")]
    return lambda entry: _numbers(entry, metrics)


def _numbers(entry: dict[str, str], metrics: list[str]) -> Iterator[Cell]:
    """Yield the numbers; an empty cell is a missing value, which is an error, not a text."""
    for name in metrics:
        cell = entry[name]
        value = _number(cell) if cell else cell
        if value is not None:
            yield name, value, ""


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
