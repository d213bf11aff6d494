"""JSON Lines: one object per line, in the package's own form or Extra-P's.

Own: ``{"function": "sort", "metric": "time", "parameter": "n", "size": 1024, "value": 0.5}``, and
optionally "unit", "run" and "repetition". Extra-P's: ``{"params": {"p": 8}, "callpath": "sort",
"metric": "time", "value": 0.5}`` with one parameter.
"""

from __future__ import annotations

import json
from typing import Any

from tidings.scaling.measurement import MeasurementError, Row
from tidings.scaling.readers.found import Found, number


def is_row(value: Any) -> bool:  # noqa: ANN401
    """Whether a JSON value is a row of either form."""
    return isinstance(value, dict) and "value" in value and ("size" in value or "params" in value)


def rows(text: str, path: str) -> list[Found]:
    """Read all lines."""
    found = []
    for line_number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        place = f"{path}:{line_number}"
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise MeasurementError(
                f"{place}: not JSON: {error.msg}, column {error.colno}"
            ) from None
        except (RecursionError, ValueError):
            raise MeasurementError(f"{place}: a number too long or a nesting too deep") from None
        if not isinstance(entry, dict):
            raise MeasurementError(f'{place}: an object is expected, like {{"size": 8, ...}}')
        found.append(_row(entry, place))
    return found


def _row(entry: dict[str, Any], place: str) -> Found:
    parameter, size = _size(entry, place)
    value = number(entry.get("value"), place, "the value")
    row = Row(size, str(entry.get("run", "")), str(entry.get("repetition", "")), value, place)
    function = str(entry.get("function", entry.get("callpath", "")))
    return Found(function, str(entry.get("metric", "")), parameter, str(entry.get("unit", "")), row)


def _size(entry: dict[str, Any], place: str) -> tuple[str, float]:
    if "size" in entry:
        return str(entry.get("parameter", "x")), number(entry["size"], place, "the size")
    params = entry.get("params")
    if not isinstance(params, dict) or not params:
        raise MeasurementError(f'{place}: neither "size" nor "params" gives the size of the run')
    if len(params) > 1:
        raise MeasurementError(f"{place}: {len(params)} parameters; only one can grow")
    (name, size), *_ = params.items()
    return str(name), number(size, place, f"the parameter {name}")
