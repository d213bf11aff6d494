"""JSON Lines: one object per line, in the package's own form or Extra-P's.

Own: ``{"function": "sort", "metric": "time", "parameter": "n", "size": 1024, "value": 0.5}``, and
optionally "unit", "run" and "repetition". Extra-P's: ``{"params": {"p": 8}, "callpath": "sort",
"metric": "time", "value": 0.5}`` with one parameter or two. Lines are read one at a time, so that
a file may be larger than the memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tidings.scaling.columns import MeasurementError, Place, place_text
from tidings.scaling.readers.found import Found, Size, number
from tidings.scaling.two_parameters.products import SEPARATOR

_DECODE = json.JSONDecoder().raw_decode


def is_row(value: Any) -> bool:  # noqa: ANN401
    """Whether a JSON value is a row of either form."""
    return isinstance(value, dict) and "value" in value and ("size" in value or "params" in value)


def begins(line: str) -> bool:
    """Whether a line is a row, so that the file need not be read whole to recognise it."""
    try:
        return is_row(json.loads(line))
    except (ValueError, RecursionError):
        return False


def rows(lines: Iterable[str], path: str) -> Iterator[Found]:
    """Read all lines."""
    prefix = f"{path}:"
    for line_number, line in enumerate(lines, 1):
        stripped = line.strip()
        if not stripped:
            continue
        place = (prefix, line_number)
        entry = _object(stripped, place)
        get = entry.get
        size: Size
        if "size" in entry:
            parameter, size = str(get("parameter", "x")), number(entry["size"], place, "the size")
        else:
            parameter, size = _parameter(get("params"), place)
        repetition = get("repetition", "")
        yield Found(
            str(entry["function"] if "function" in entry else get("callpath", "")),
            str(get("metric", "")),
            parameter,
            str(get("unit", "")),
            size,
            str(get("run", "")),
            repetition if type(repetition) is int else str(repetition),
            number(get("value"), place, "the value"),
            place,
        )


def _object(line: str, place: Place) -> dict[str, Any]:
    try:
        entry, end = _DECODE(line)
        if end != len(line):
            raise json.JSONDecodeError("Extra data", line, end)
    except json.JSONDecodeError as error:
        raise MeasurementError(
            f"{place_text(place)}: not JSON: {error.msg}, column {error.colno}"
        ) from None
    except (RecursionError, ValueError):
        raise MeasurementError(
            f"{place_text(place)}: a number too long or a nesting too deep"
        ) from None
    if not isinstance(entry, dict):
        raise MeasurementError(
            f'{place_text(place)}: an object is expected, like {{"size": 8, ...}}'
        )
    return entry


def _parameter(params: Any, place: Place) -> tuple[str, Size]:  # noqa: ANN401
    where = place_text(place)
    if not isinstance(params, dict) or not params:
        raise MeasurementError(f'{where}: neither "size" nor "params" gives the size of the run')
    if len(params) > 2:
        raise MeasurementError(
            f"{where}: {len(params)} parameters; at most two can grow: leave out those that are "
            "the same everywhere"
        )
    found = {str(n): number(size, where, f"the parameter {n}") for n, size in params.items()}
    if len(found) == 1:
        ((name, size),) = found.items()
        return name, size
    first, second = sorted(found)
    return f"{first}{SEPARATOR}{second}", (found[first], found[second])
