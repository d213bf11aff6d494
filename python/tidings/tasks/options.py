"""Options: how the calls of a function are tried, and what they may take."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import tidings.tasks._native as _native

QUEUE = "python"

# The largest number of retries: two bytes of a record.
_MOST = 65_535

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def milliseconds(duration: float | str | None) -> int:
    """Return a duration in milliseconds: a number of seconds, or a text such as ``"10m"``."""
    if duration is None:
        return 0
    if isinstance(duration, str):
        read = re.fullmatch(r"\s*([0-9.]+)\s*(ms|s|m|h|d)\s*", duration)
        if read is None:
            raise ValueError(f"{duration!r} is no duration: write seconds, or '500ms', '10m', '2h'")
        duration = float(read[1]) * _UNITS_MS[read[2]] / 1_000
    if not 0 <= duration < 1e12:
        raise ValueError(f"a duration of {duration} s is not possible: write 0 or more")
    return max(1, round(duration * 1_000)) if duration else 0


def needs(need: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a function needs of a worker as a dictionary of its own."""
    if need is None:
        return {}
    if not isinstance(need, Mapping):
        raise TypeError(f"need is a mapping such as {{'cpus': 4, 'mem': '8GiB'}}, not {need!r}")
    return dict(need)


def _whole(name: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is a whole number from {least} to {most}, not {value!r}")
    return int(value)


@dataclass(frozen=True)
class Options:
    """How the calls of one function are done as tasks."""

    name: str
    queue: str = QUEUE
    group: str = ""
    priority: int = 0
    delay: float | str | None = None
    retries: int = 0
    poison_after: int = 3
    backoff: float | str = "100ms"
    timeout: float | str | None = None
    grace: float | str = 5.0
    need: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    key: Callable[..., str] | None = None
    keep: bool = False
    copies: int = 0

    @functools.cached_property
    def native(self) -> _native.Options:
        """Return them as the native module takes them, or say which is wrong."""
        return _native.Options(
            {
                "name": self.name[:200],
                "queue": self.queue,
                "group": self.group,
                "priority": _whole("priority", self.priority, -_MOST // 2, _MOST // 2),
                "delay_ms": milliseconds(self.delay),
                "retries": _whole("retries", self.retries, 0, _MOST),
                "losses": _whole("poison_after", self.poison_after, 0, _MOST),
                "backoff_ms": milliseconds(self.backoff),
                "time_ms": milliseconds(self.timeout),
                "grace_ms": milliseconds(self.grace),
                "need": ",".join(f"{name}={amount}" for name, amount in self.need.items()),
                "filter": self.where,
                "keep": self.keep or self.key is not None,
                "copies": _whole("copies", self.copies, 0, _MOST),
            }
        )
