"""The readings in payloads, default schema, version 1: docs/reference/payload.md, as columns.

All payloads are decoded at once, one column per reading. A reading that a machine lacks, or of a
node that is unheard, is not a number (NaN). What users published follows, a column of texts per
key.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCHEMA = 1
FIXED_BYTES = 44
_KIB = 1024.0
_KEY = re.compile(r"[a-z0-9_.-]{1,32}")

# Name, offset, presence bit, type, and the value of one step.
_COLUMNS = (
    ("cores", 8, 1, "<u2", 1.0),
    ("load1", 10, 2, "code16", 0.01),
    ("load5", 12, 3, "code16", 0.01),
    ("load15", 14, 4, "code16", 0.01),
    ("cpu_busy_percent", 16, 5, "<u2", 0.01),
    ("mem_total_bytes", 18, 6, "code16", _KIB),
    ("mem_available_bytes", 20, 7, "code16", _KIB),
    ("swap_total_bytes", 22, 8, "code16", _KIB),
    ("swap_used_bytes", 24, 9, "code16", _KIB),
    ("disk_read_bytes_s", 26, 10, "code16", 1.0),
    ("disk_write_bytes_s", 28, 11, "code16", 1.0),
    ("net_rx_bytes_s", 30, 12, "code16", 1.0),
    ("net_tx_bytes_s", 32, 13, "code16", 1.0),
    ("temperature_c", 34, 14, "<i2", 0.1),
    ("power_w", 36, 15, "code16", 0.1),
    ("uptime_s", 38, 16, "code16", 1.0),
    ("psi_cpu_percent", 40, 17, "u1", 0.4),
    ("psi_memory_percent", 41, 18, "u1", 0.4),
    ("psi_io_percent", 42, 19, "u1", 0.4),
)


def decode(payloads: NDArray[np.void], heard: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Decode payloads, one element per node; none if they are too short for readings."""
    size = payloads.dtype.itemsize
    if size < FIXED_BYTES:
        return {}
    raw = np.ascontiguousarray(payloads).view(np.uint8).reshape(len(payloads), size)
    presence = _numbers(raw, 0, "<u4")
    columns: dict[str, NDArray[Any]] = {}
    for name, at, bit, form, step in _COLUMNS:
        there = heard & (presence >> bit & 1 == 1)
        value = _code16(_numbers(raw, at, "<u2")) if form == "code16" else _numbers(raw, at, form)
        # Division gives the nearest number: 3 / 10 is 0.3, 3 * 0.1 is not.
        scaled = value * step if step >= 1.0 else value / round(1.0 / step, 6)
        columns[name] = np.where(there, scaled, np.nan)
    return columns


def decode_user(payloads: NDArray[np.void], heard: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Decode what users published, a column ``user.KEY`` for each key that any node has.

    The values are texts, as they were published; a node without the key has None. The metrics of
    a payload that breaks a rule are left out, as other readers refuse it.
    """
    tables = [
        _metrics(bytes(payload)[FIXED_BYTES:]) if is_heard else {}
        for payload, is_heard in zip(payloads, heard, strict=True)
    ]
    keys = sorted(set().union(*tables))
    columns: dict[str, NDArray[Any]] = {}
    for key in keys:
        column = np.empty(len(tables), dtype=object)
        column[:] = [table.get(key) for table in tables]
        columns[f"user.{key}"] = column
    return columns


def _metrics(area: bytes) -> dict[str, str]:
    """Decode the user metrics of one payload: key length, value length, key, value."""
    metrics: dict[str, str] = {}
    at, last = 0, ""
    while at < len(area) and area[at] != 0:
        value_at = at + 2 + area[at]
        end = value_at + area[at + 1] if at + 1 < len(area) else len(area) + 1
        if end > len(area):
            return {}
        try:
            key, value = area[at + 2 : value_at].decode("ascii"), area[value_at:end].decode()
        except UnicodeDecodeError:
            return {}
        if key <= last or not _KEY.fullmatch(key):
            return {}
        metrics[key] = value
        at, last = end, key
    return metrics


def _numbers(raw: NDArray[np.uint8], at: int, form: str) -> NDArray[Any]:
    size = np.dtype(form).itemsize
    numbers: NDArray[Any] = np.ascontiguousarray(raw[:, at : at + size]).view(form)[:, 0]
    return numbers


def _code16(code: NDArray[Any]) -> NDArray[np.float64]:
    """Decode numbers of 5 bits of exponent and 11 of mantissa."""
    exponent, mantissa = (code >> 11).astype(np.int64), (code & 0x7FF).astype(np.float64)
    large = np.ldexp(2048.0 + mantissa, (exponent - 1).astype(np.int32))
    return np.where(exponent == 0, mantissa, large)
