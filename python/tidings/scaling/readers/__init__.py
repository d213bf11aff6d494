"""Readers: measurements from files, each format recognised by its content.

Own JSON Lines, Extra-P's JSON Lines, text and JSON, Google Benchmark, pytest-benchmark, hyperfine,
Criterion, ReFrame, JUBE and OSU: docs/reference/scaling.md lists what is read of each. Rows of one
function and metric from several files are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tidings.scaling.measurement import Measurement, MeasurementError
from tidings.scaling.readers.found import Found


def read(
    paths: Iterable[Path], wanted: Callable[[str, str], bool] = lambda _function, _metric: True
) -> list[Measurement]:
    """Read files into measurements, or raise MeasurementError with file and line.

    `wanted` tells whether a function and metric are needed: if not, rows of it that are not a
    measurement are omitted.
    """
    found: list[Found] = []
    for path in paths:
        found.extend(read_file(path))
    return gathered(found, wanted)


def read_file(path: Path) -> list[Found]:
    """Read the rows of one file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise MeasurementError(f"{path}: this is not UTF-8 text") from None
    except OSError as error:
        raise MeasurementError(f"{path}: {error.strerror or error}") from None
    stripped = text.lstrip()
    if not stripped:
        raise MeasurementError(f"{path}: the file is empty")
    if stripped[0] in "{[":
        from tidings.scaling.readers import json_forms, json_lines

        whole = _document(text, path)
        if whole is None or json_lines.is_row(whole):
            return json_lines.rows(text, str(path))
        try:
            return json_forms.rows(whole, str(path))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise MeasurementError(
                f"{path}: JSON of no known format: it begins like one, but a part is missing or "
                f"of another kind ({type(error).__name__}: {error})"
            ) from None
    from tidings.scaling.readers import text_forms

    return text_forms.rows(text, str(path))


def _document(text: str, path: Path) -> Any:  # noqa: ANN401
    from tidings.scaling.readers import json_forms

    try:
        return json_forms.document(text)
    except (RecursionError, ValueError) as error:
        raise MeasurementError(f"{path}: JSON that cannot be read: {_short(error)}") from None


def _short(error: Exception) -> str:
    said = str(error).split(";")[0]
    return said if len(said) < 200 else type(error).__name__


def gathered(found: Iterable[Found], wanted: Callable[[str, str], bool]) -> list[Measurement]:
    """Group rows by function and metric; reject those that are wanted but not a measurement."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for one in found:
        groups.setdefault((one.function, one.metric), []).append(one)
    measurements = []
    for (function, metric), members in sorted(groups.items()):
        try:
            measurements.append(_measurement(members))
        except MeasurementError:
            if wanted(function, metric):
                raise
    return measurements


def _measurement(members: list[Found]) -> Measurement:
    """Make one of the rows of a function and metric; reject mixed parameters and units."""
    first = members[0]
    function, metric = first.function, first.metric
    for other in members:
        for what in ("unit", "parameter"):
            mine, its = getattr(first, what), getattr(other, what)
            if mine != its:
                raise MeasurementError(
                    f"{other.row.place}: {what} `{its}` of {function} ({metric}), but "
                    f"`{mine}` at {first.row.place}: convert one, or name the metric otherwise"
                )
    rows = [member.row for member in members]
    return Measurement.of(rows, function, metric, first.parameter, first.unit)
