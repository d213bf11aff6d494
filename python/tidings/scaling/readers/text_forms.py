"""Text of other tools: Extra-P's text format, tables of OSU benchmarks, and CSV (JUBE, ReFrame).

CSV needs a heading. The size is the column `size`, or else the first of p, n, k, x, tasks, procs,
nprocs, num_tasks, nodes and ranks. The value is `value`, or else ReFrame's columns that end in
`_value`, or else each other column of numbers, as a metric of its own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import replace

from tidings.scaling.measurement import MeasurementError, Row
from tidings.scaling.readers.found import Found, number

_SIZES = ("size", "p", "n", "k", "x", "tasks", "procs", "nprocs", "num_tasks", "nodes", "ranks")
_OF_MACHINE = ("p", "tasks", "procs", "nprocs", "num_tasks", "nodes", "ranks")
_NAMES = ("function", "name", "check_name", "display_name", "descr", "testcase")
_RUNS = ("run", "jobid")
_NO_METRICS = {*_SIZES, *_NAMES, *_RUNS, "repetition", "unit", "metric"}
_KEYWORDS = ("PARAMETER", "POINTS", "REGION", "METRIC", "DATA")


def rows(text: str, path: str) -> list[Found]:
    """Read a text by its format."""
    written = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    first = next(written, None)
    if first is None:
        raise MeasurementError(f"{path}: the file has only comments")
    if first.split()[0].upper() in _KEYWORDS:
        return list(_extra_p(text, path))
    if re.search(r"^#\s*OSU", text, re.MULTILINE):
        return list(_osu(text, path))
    if any(mark in first for mark in ",|;"):
        return list(_csv(text, path, next(mark for mark in "|;," if mark in first)))
    raise MeasurementError(
        f"{path}: no known format; Extra-P's text, OSU tables and CSV with a heading are read"
    )


def _extra_p(text: str, path: str) -> Iterator[Found]:
    """Extra-P: ``PARAMETER p``, ``POINTS 8 16``, ``REGION f``, ``METRIC time``, then DATA."""
    parameter, function, metric = "", "", ""
    points: list[float] = []
    at, began = 0, ""
    for line_number, line in enumerate(text.splitlines(), 1):
        place = f"{path}:{line_number}"
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        keyword = words[0].upper()
        if keyword == "PARAMETER":
            if parameter:
                raise MeasurementError(f"{place}: a second parameter; only one can grow")
            parameter = words[1] if len(words) > 1 else "x"
        elif keyword == "POINTS":
            points += [number(w, place, "a point") for w in re.findall(r"[^\s()]+", line)[1:]]
        elif keyword in ("REGION", "METRIC"):
            name = line.strip()[len(keyword) :].strip()
            _all_there(at, len(points), began)
            function, metric = (name, metric) if keyword == "REGION" else (function, name)
            at = 0
        elif keyword == "DATA":
            if at >= len(points):
                raise MeasurementError(f"{place}: more lines of DATA than the {len(points)} points")
            for repetition, word in enumerate(words[1:]):
                value = number(word, place, "a value")
                row = Row(points[at], "", str(repetition), value, place)
                yield Found(function, metric, parameter or "x", "", row)
            at, began = at + 1, began if at else place
        else:
            raise MeasurementError(f"{place}: `{words[0]}` is not one of {', '.join(_KEYWORDS)}")
    _all_there(at, len(points), began)


def _all_there(lines: int, points: int, began: str) -> None:
    """Reject a block of DATA that lacks lines: those after a missing one would be misplaced."""
    if 0 < lines < points:
        raise MeasurementError(
            f"{began}: {lines} lines of DATA, but there are {points} points: give each a line"
        )


def _osu(text: str, path: str) -> Iterator[Found]:
    """``# OSU MPI Allreduce Latency Test`` and lines of size and latency in µs."""
    title = re.search(r"^#\s*OSU\s+(?:MPI\s+)?(.*?)(?:\s+Test.*)?$", text, re.MULTILINE)
    name = title.group(1).strip() if title else "OSU"
    for line_number, line in enumerate(text.splitlines(), 1):
        place = f"{path}:{line_number}"
        words = line.split()
        if len(words) < 2 or words[0].startswith("#"):
            continue
        size = number(words[0], place, "the message size")
        if size > 0:
            value = number(words[1], place, "the value")
            yield Found(name, "osu", "bytes", "", Row(size, "", "", value, place))


def _csv(text: str, path: str, mark: str) -> Iterator[Found]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    heading = [cell.strip() for cell in next(csv.reader(lines[:1], delimiter=mark))]
    twice = sorted({name for name in heading if name and heading.count(name) > 1})
    if twice:
        raise MeasurementError(f"{path}: the heading names {', '.join(twice)} more than once")
    size_column = next((name for name in _SIZES if name in heading), None)
    if size_column is None:
        raise MeasurementError(f"{path}: no column of sizes; name one `size`, or p, n, k")
    fixed: dict[tuple[str, str], str] = {}
    for line_number, cells in enumerate(csv.reader(lines[1:], delimiter=mark), 2):
        place = f"{path}: row {line_number}"
        if len(cells) != len(heading):
            raise MeasurementError(f"{place}: {len(cells)} cells, but {len(heading)} columns")
        entry = dict(zip(heading, (cell.strip() for cell in cells)))
        size = number(entry.pop(size_column), place, "the size")
        parameter = "x" if size_column == "size" else size_column
        run = next((entry[name] for name in _RUNS if name in entry), "")
        function = next((entry[name] for name in _NAMES if name in entry), "")
        _hold_fixed(fixed, function, entry, size_column, place)
        row = Row(size, run, entry.get("repetition", ""), place=place)
        for metric, cell, unit in _cells(entry):
            value = number(cell, place, metric or "the value")
            yield Found(function, metric, parameter, unit, replace(row, value=value))


def _hold_fixed(
    fixed: dict[tuple[str, str], str], function: str, entry: dict[str, str], grows: str, place: str
) -> None:
    """Reject a second column of sizes that changes within a function: only one can grow.

    A column `size` names it. Tasks and nodes are one parameter, the machine's size.
    """
    others = () if grows == "size" else _SIZES[1:]
    for name in others:
        if grows in _OF_MACHINE and name in _OF_MACHINE:
            continue
        if name in entry and fixed.setdefault((function, name), entry[name]) != entry[name]:
            raise MeasurementError(
                f"{place}: {name} changes as well as {grows}: only one parameter can grow; "
                "omit the column, or name the one that counts `size`"
            )


def _cells(entry: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield metric, value and unit: of `value`, of ReFrame's columns, or of all numbers."""
    if "value" in entry:
        yield entry.get("metric", ""), entry["value"], entry.get("unit", "")
        return
    valued = [name[: -len("_value")] for name in entry if name.endswith("_value")]
    for name in valued:
        yield name, entry[f"{name}_value"], entry.get(f"{name}_unit", "")
    if not valued:
        for name, cell in entry.items():
            is_metric = name not in _NO_METRICS and not name.startswith("jube_")
            # An empty cell is a missing value, which is an error, not a text.
            if is_metric and (_is_number(cell) or not cell):
                yield name, cell, ""


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
