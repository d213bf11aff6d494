"""Readers: measurements from files, each format recognised by its content.

Own JSON Lines, Extra-P's JSON Lines, text and JSON, Google Benchmark, pytest-benchmark, hyperfine,
Criterion, ReFrame, JUBE and OSU: docs/reference/scaling.md lists what is read of each. Rows of one
function and metric from several files are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from tidings.scaling.columns import Collector, place_text
from tidings.scaling.measurement import Measurement, MeasurementError
from tidings.scaling.readers.found import Found
from tidings.scaling.two_parameters.products import SEPARATOR

if TYPE_CHECKING:
    from tidings.scaling.two_parameters.points import PointCollector, PointsMeasurement

    Measured = Union[Measurement, PointsMeasurement]

_ENDINGS = {".jsonl", ".json", ".csv", ".txt"}
_NO_MEASUREMENTS = (".manifest.json", "scaling.recorded.json")


def read(
    paths: Iterable[Path], wanted: Callable[[str, str], bool] = lambda _function, _metric: True
) -> list[Measurement]:
    """Read files into measurements of one parameter, or raise MeasurementError with file and line.

    `wanted` tells whether a function and metric are needed: if not, rows of it that are not a
    measurement are omitted.
    """
    listed = []
    for one in read_any(paths, wanted):
        if not isinstance(one, Measurement):
            raise MeasurementError(
                f"{one.name}: measured in two parameters, {one.parameter}; only one can grow here"
            )
        listed.append(one)
    return listed


def read_any(
    paths: Iterable[Path], wanted: Callable[[str, str], bool] = lambda _function, _metric: True
) -> list[Measured]:
    """Read files into measurements of one parameter or of two, as `read` does."""
    return gathered(chain.from_iterable(map(read_file, paths)), wanted)


def inside(folder: Path) -> list[Path]:
    """Return the files of measurements in a folder and those below it.

    In a folder of Criterion's those are the latest estimates; elsewhere all files with the ending
    of a known form, except what `tidings-scaling` itself writes.
    """
    criterion = sorted(folder.rglob("new/estimates.json"))
    if criterion:
        return criterion
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in _ENDINGS
        and path.is_file()
        and not path.name.endswith(_NO_MEASUREMENTS)
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    if not found:
        raise MeasurementError(f"{folder}: no file in it ends in {', '.join(sorted(_ENDINGS))}")
    return found


def read_file(path: Path) -> Iterator[Found]:
    """Yield the rows of one file."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from _rows(file, path)
    except UnicodeDecodeError:
        raise MeasurementError(f"{path}: this is not UTF-8 text") from None
    except OSError as error:
        raise MeasurementError(f"{path}: {error.strerror or error}") from None


def _rows(lines: Iterator[str], path: Path) -> Iterable[Found]:
    """Read lines one at a time; a JSON document, which has no lines of its own, as a whole."""
    blank = []
    first = ""
    for line in lines:
        if line.strip():
            first = line
            break
        blank.append(line)
    if not first:
        raise MeasurementError(f"{path}: the file is empty")
    every = chain(blank, [first], lines)
    if first.lstrip()[0] not in "{[":
        from tidings.scaling.readers import text_forms

        return text_forms.rows(every, str(path))
    from tidings.scaling.readers import json_lines

    if json_lines.begins(first):
        return json_lines.rows(every, str(path))
    return _document_rows("".join(every), path)


def _document_rows(text: str, path: Path) -> Iterator[Found]:
    """Yield the rows of a JSON document, or of lines that only together are no document."""
    from tidings.scaling.readers import json_forms, json_lines

    whole = _document(text, path)
    if whole is None or json_lines.is_row(whole):
        yield from json_lines.rows(text.splitlines(), str(path))
        return
    try:
        yield from json_forms.rows(whole, str(path))
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise MeasurementError(
            f"{path}: JSON of no known format: it begins like one, but a part is missing or "
            f"of another kind ({type(error).__name__}: {error})"
        ) from None


def _document(text: str, path: Path) -> Any:  # noqa: ANN401
    from tidings.scaling.readers import json_forms

    try:
        return json_forms.document(text)
    except (RecursionError, ValueError) as error:
        raise MeasurementError(f"{path}: JSON that cannot be read: {_short(error)}") from None


def _short(error: Exception) -> str:
    said = str(error).split(";")[0]
    return said if len(said) < 200 else type(error).__name__


def gathered(found: Iterable[Found], wanted: Callable[[str, str], bool]) -> list[Measured]:
    """Group rows by function and metric; reject those that are wanted but not a measurement."""
    groups: dict[tuple[str, str], _Group] = {}
    group: _Group | None = None
    for one in found:
        function, metric, parameter, unit, size, run, repetition, value, place = one
        if group is None or function != group.first.function or metric != group.first.metric:
            group = groups.setdefault((function, metric), _Group(one))
        if unit != group.first.unit or parameter != group.first.parameter:
            group.mixed(one)
            continue
        group.add(size, run, repetition, value, place)
    measurements: list[Measured] = []
    for (function, metric), group in sorted(groups.items()):
        try:
            measurements.append(group.measurement())
        except MeasurementError:
            if wanted(function, metric):
                raise
    return measurements


class _Group:
    """The rows of one function and metric as they come."""

    def __init__(self, first: Found) -> None:
        """Begin with the parameter and unit that all must have."""
        self.first = first
        self.collector = _collector(first)
        self.add: Callable[..., None] = self.collector.add

    def mixed(self, other: Found) -> None:
        """Remember a row of another parameter or unit as a problem."""
        first = self.first
        what = "unit" if other.unit != first.unit else "parameter"
        self.collector.problem = self.collector.problem or (
            f"{place_text(other.place)}: {what} `{getattr(other, what)}` of {first.function} "
            f"({first.metric}), but `{getattr(first, what)}` at {place_text(first.place)}: "
            "convert one, or name the metric otherwise"
        )

    def measurement(self) -> Measured:
        """Make a measurement of all, or raise MeasurementError."""
        first = self.first
        if not isinstance(self.collector, Collector):
            one, _, other = first.parameter.partition(SEPARATOR)
            names = (one, other)
            return self.collector.measurement(first.function, first.metric, names, first.unit)
        return Measurement.collected(
            self.collector, first.function, first.metric, first.parameter, first.unit
        )


def _collector(first: Found) -> Collector | PointCollector:
    """Return what collects rows of one parameter, or of two."""
    name = f"{first.function} ({first.metric})"
    if not isinstance(first.size, tuple):
        return Collector(name)
    from tidings.scaling.two_parameters.points import PointCollector

    return PointCollector(name)
