"""Caliper's JSON: split (``json-split``) and records (``cali-query -j``).

A file of the split form is one run; its size is the global `mpi.world.size`, `numhosts` or `size`.
A record has its own, or that of the file. The function is the path of regions; every numeric column
that does not name a rank or size is a metric. The rows of the ranks are reduced to their maximum,
since the slowest rank decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tidings.scaling.columns import MeasurementError
from tidings.scaling.readers.found import Found, number

SIZES = ("mpi.world.size", "size", "jobsize", "numhosts", "omp.num.threads")
_NO_METRICS = {*SIZES, "rank", "mpi.rank", "path", "region", "function", "node", "event.begin"}


def is_split(whole: Any) -> bool:  # noqa: ANN401
    """Whether a document is of the split form."""
    return isinstance(whole, dict) and {"data", "columns", "nodes"} <= set(whole)


def split(whole: dict[str, Any], path: str) -> list[Found]:
    """Read the split form."""
    columns, nodes = whole["columns"], whole["nodes"]
    records = []
    for cells in whole["data"]:
        record = dict(zip(columns, cells))
        if isinstance(record.get("path"), int):
            record["path"] = _path(nodes, record["path"])
        records.append({**{key: whole[key] for key in SIZES if key in whole}, **record})
    return read_records(records, path)


def read_records(records: Iterable[dict[str, Any]], path: str) -> list[Found]:
    """Read records; the largest value over the ranks of one run counts."""
    largest: dict[tuple[str, str, float], float] = {}
    parameters: dict[float, str] = {}
    for index, record in enumerate(records):
        place = f"{path}: record {index + 1}"
        parameter = next((name for name in SIZES if name in record), None)
        if parameter is None:
            raise MeasurementError(f"{place}: no {' or '.join(SIZES)} gives the size of the run")
        size = number(record[parameter], place, parameter)
        parameters[size] = parameter
        for function, metric, value in _values(record):
            key = (function, metric, size)
            largest[key] = max(value, largest.get(key, value))
    return [
        Found(function, metric, "p", "", size, path, "", value, (f"{path}: {function}", 0))
        for (function, metric, size), value in largest.items()
    ]


def _values(record: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    function = record.get("path") or record.get("region") or record.get("function")
    if not function:
        return
    name = "/".join(function) if isinstance(function, list) else str(function)
    for metric, value in record.items():
        if metric not in _NO_METRICS and isinstance(value, (int, float)) and value > 0:
            yield name, metric, float(value)


def _path(nodes: list[dict[str, Any]], index: int) -> str:
    labels: list[str] = []
    at: int | None = index
    while at is not None and len(labels) <= len(nodes):
        labels.append(str(nodes[at].get("label", at)))
        at = nodes[at].get("parent")
    return "/".join(reversed(labels))
