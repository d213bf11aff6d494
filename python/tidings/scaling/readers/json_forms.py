"""JSON of other tools: Google Benchmark, pytest-benchmark, hyperfine, Criterion and Extra-P.

Caliper is in `caliper`. If a tool has no field for the size, the size is the number at the end of
the name (``sort/1024``, ``test_sort[1024]``) or the only numeric parameter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tidings.scaling.columns import MeasurementError
from tidings.scaling.readers import caliper
from tidings.scaling.readers.found import Found, Size, number
from tidings.scaling.two_parameters.products import SEPARATOR

_NAMED_SIZE = re.compile(r"^(.*?)[/\[:=\-_ ]+(?:[A-Za-z]+[:=\-])?(\d+(?:\.\d+)?)\]?$")
_TO_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def document(text: str) -> Any:  # noqa: ANN401
    """Return a file's JSON value, or None where it is not one value."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def rows(whole: Any, path: str) -> Iterable[Found]:  # noqa: ANN401
    """Read a document by its format."""
    if caliper.is_split(whole):
        return caliper.split(whole, path)
    if isinstance(whole, list) and all(isinstance(record, dict) for record in whole):
        return caliper.read_records(whole, path)
    if isinstance(whole, dict):
        for key, reader in (
            ("benchmarks", _benchmarks),
            ("results", _hyperfine),
            ("measurements", _extra_p),
        ):
            if key in whole:
                return reader(whole, path)
        if "mean" in whole and "slope" in whole:
            return _criterion(whole, path)
    raise MeasurementError(
        f"{path}: JSON of no known format; JSON Lines, Google Benchmark, pytest-benchmark, "
        "hyperfine, Criterion, Caliper and Extra-P are read"
    )


def _benchmarks(whole: dict[str, Any], path: str) -> Iterator[Found]:
    """Google Benchmark and pytest-benchmark both have a list of benchmarks."""
    for index, entry in enumerate(whole["benchmarks"]):
        place = f"{path}: benchmark {index + 1}"
        if "stats" in entry:
            yield from _pytest_benchmark(entry, place)
        elif entry.get("run_type", "iteration") == "iteration" and not entry.get("error_occurred"):
            yield _google(entry, index, place)


def _google(entry: dict[str, Any], index: int, place: str) -> Found:
    name = str(entry.get("run_name", entry.get("name", "")))
    function, size = _split(name, place)
    scale = _TO_SECONDS.get(str(entry.get("time_unit", "ns")), 1e-9)
    value = number(entry.get("real_time"), place, "real_time") * scale
    repetition = str(entry.get("repetition_index", index))
    return Found(function, "time", "n", "s", size, "", repetition, value, (place, 0))


def _pytest_benchmark(entry: dict[str, Any], place: str) -> Iterator[Found]:
    params = entry.get("params") or {}
    numbers = {key: value for key, value in params.items() if isinstance(value, (int, float))}
    name = str(entry.get("name", ""))
    if len(numbers) == 1:
        (parameter, size), *_ = numbers.items()
        function = name.split("[")[0]
    else:
        parameter = "n"
        function, size = _split(name, place)
    stats = entry["stats"]
    values = stats.get("data") or entry.get("data") or [stats.get("median")]
    at, where = float(size), (place, 0)
    for repetition, value in enumerate(values):
        seconds = number(value, where, "a time")
        yield Found(function, "time", parameter, "s", at, "", repetition, seconds, where)


def _hyperfine(whole: dict[str, Any], path: str) -> Iterator[Found]:
    for index, entry in enumerate(whole["results"]):
        place = f"{path}: result {index + 1}"
        params = entry.get("parameters") or {}
        function = str(entry.get("command", ""))
        if len(params) == 1:
            (parameter, size), *_ = params.items()
            function = _without_size(function, parameter, str(size))
            at = number(size, place, f"the parameter {parameter}")
        else:
            parameter = "n"
            function, at = _split(function, place)
        for repetition, value in enumerate(entry.get("times") or [entry.get("median")]):
            seconds = number(value, place, "a time")
            yield Found(function, "time", parameter, "s", at, "", repetition, seconds, (place, 0))


def _without_size(name: str, parameter: str, size: str) -> str:
    """Return a command, or the name that `-n` gave it, with ``{parameter}`` for the size.

    The size is a word of its own, as in ``sort 1024``, or the end of one, as in ``sort1024``.
    """
    found, count = re.subn(rf"(?<![\w.]){re.escape(size)}(?![\w.])", f"{{{parameter}}}", name)
    return found if count else re.sub(rf"(?<![\d.]){re.escape(size)}$", f"{{{parameter}}}", name)


def _criterion(whole: dict[str, Any], path: str) -> Iterator[Found]:
    """Criterion's estimates.json is in target/criterion/GROUP/SIZE/new."""
    parts = path.replace("\\", "/").split("/")
    sizes = [index for index, part in enumerate(parts) if re.fullmatch(r"\d+(\.\d+)?", part)]
    if not sizes:
        raise MeasurementError(
            f"{path}: no folder of this path is a size, as in .../sort/1024/new/"
        )
    at = sizes[-1]
    typical = whole.get("slope") or whole.get("median") or whole["mean"]
    seconds = number(typical.get("point_estimate"), path, "point_estimate") * 1e-9
    function = parts[at - 1] if at else ""
    yield Found(function, "time", "n", "s", float(parts[at]), "", "", seconds, (path, 0))


def _extra_p(whole: dict[str, Any], path: str) -> Iterator[Found]:
    """Extra-P's JSON: per call path and metric a list of ``{"point": [8], "values": [..]}``."""
    parameters = [str(name) for name in whole.get("parameters", ["x"])]
    if len(parameters) not in (1, 2):
        raise MeasurementError(f"{path}: {len(parameters)} parameters; at most two can grow")
    for function, metrics in whole["measurements"].items():
        for metric, listed in metrics.items():
            for index, entry in enumerate(listed):
                place = f"{path}: {function}, {metric}, point {index + 1}"
                point = entry["point"]
                size = _point(point, len(parameters), place)
                names = (function, metric, SEPARATOR.join(parameters), "")
                for repetition, value in enumerate(entry["values"]):
                    found = number(value, place, "a value")
                    yield Found(*names, size, "", repetition, found, (place, 0))


def _point(point: Any, count: int, place: str) -> Size:  # noqa: ANN401
    listed = point if isinstance(point, list) else [point]
    found = [number(part, place, "the point") for part in listed]
    if len(found) != count:
        raise MeasurementError(f"{place}: a point of {len(found)} numbers, not {count}")
    return found[0] if count == 1 else (found[0], found[1])


def _split(name: str, place: str) -> tuple[str, float]:
    found = _NAMED_SIZE.match(name)
    if not found:
        raise MeasurementError(
            f"{place}: `{name}` has no size at its end, like `sort/1024`, and no numeric parameter"
        )
    return found.group(1), float(found.group(2))
