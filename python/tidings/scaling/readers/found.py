"""Found rows: what a reader yields, with the names by which rows are grouped."""

from __future__ import annotations

from typing import Any, NamedTuple, Union

from tidings.scaling.columns import MeasurementError, Place, place_text

Size = Union[float, tuple[float, float]]


class Found(NamedTuple):
    """A row with function, metric, parameter and unit; a tuple, since there may be a million.

    With two parameters, `size` has both, and `parameter` both names, joined by `SEPARATOR`.
    """

    function: str
    metric: str
    parameter: str
    unit: str
    size: Size
    run: str
    repetition: int | str
    value: float
    place: Place


def number(value: Any, place: Place | str, what: str) -> float:  # noqa: ANN401
    """Return a number, or raise MeasurementError naming the place."""
    if type(value) is float:
        return value
    where = place if isinstance(place, str) else place_text(place)
    if isinstance(value, bool) or value is None or value == "":
        raise MeasurementError(f"{where}: {what} is missing")
    try:
        return float(value)
    except OverflowError:
        raise MeasurementError(f"{where}: {what} is too large a number") from None
    except (TypeError, ValueError):
        raise MeasurementError(f"{where}: {what} is `{value}`, not a number") from None
