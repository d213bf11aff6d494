"""A table of measured values as CSV: of a machine, function and metric at a size."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tidings.scaling.measurement import Measurement, Row


class Value(NamedTuple):
    """One value: of which machine, function and metric, at which size, in which run."""

    machine: str
    function: str
    metric: str
    size: float
    run: str
    value: float
    unit: str


def rows(values: Iterable[Value]) -> list[list[str]]:
    """Return values as rows of the table, below `Value._fields`."""
    return [[*one[:3], f"{one.size:g}", one.run, f"{one.value:.9g}", one.unit] for one in values]


def read(path: Path) -> list[Value]:
    """Read values back."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Value(
                row["machine"],
                row["function"],
                row["metric"],
                float(row["size"]),
                row["run"],
                float(row["value"]),
                row["unit"],
            )
            for row in csv.DictReader(file)
        ]


def measurement(values: Iterable[Value], machine: str, function: str, metric: str) -> Measurement:
    """Return all of one machine, function and metric as a measurement."""
    chosen = [v for v in values if v[:3] == (machine, function, metric)]
    rows = [Row(v.size, v.run, str(at), v.value) for at, v in enumerate(chosen)]
    parameter = "k" if machine == "MAFIA" else "p"
    return Measurement.of(rows, function, metric, parameter, chosen[0].unit if chosen else "")
