"""Found rows: what a reader returns, with the names by which rows are grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidings.scaling.measurement import MeasurementError, Row


@dataclass(frozen=True)
class Found:
    """A row with function, metric, parameter and unit."""

    function: str
    metric: str
    parameter: str
    unit: str
    row: Row


def number(value: Any, place: str, what: str) -> float:  # noqa: ANN401
    """Return a number, or raise MeasurementError naming the place."""
    if isinstance(value, bool) or value is None or value == "":
        raise MeasurementError(f"{place}: {what} is missing")
    try:
        return float(value)
    except OverflowError:
        raise MeasurementError(f"{place}: {what} is too large a number") from None
    except (TypeError, ValueError):
        raise MeasurementError(f"{place}: {what} is `{value}`, not a number") from None
