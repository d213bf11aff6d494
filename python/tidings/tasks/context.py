"""The context of a task: what its function can ask and say while it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Context:
    """The task that this process does now."""

    task: bytes
    attempt: int
    is_cancelled: Callable[[], bool]
    report: Callable[[int, str], None]


_current: Context | None = None


def enter(context: Context | None) -> None:
    """Say which task this process does now."""
    global _current
    _current = context


def cancelled() -> bool:
    """Return whether nobody wants this task any more: it should return soon."""
    return _current is not None and _current.is_cancelled()


def progress(share: float, text: str = "") -> None:
    """Say how much of this task is done, from 0 to 1, and at what it is."""
    if _current is not None:
        _current.report(round(min(max(share, 0.0), 1.0) * 1_000), text[:200])


def attempt() -> int:
    """Return which try of its task this is, from 1; 0 outside of tasks.

    With the task's id it makes a key by which a receiver of side effects knows repetitions.
    """
    return 0 if _current is None else _current.attempt


def task_id() -> str | None:
    """Return the id of the task that this process does, None outside of tasks."""
    return None if _current is None else _current.task.hex()
