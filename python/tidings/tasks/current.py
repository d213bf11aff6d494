"""The current executor: the one to which tasks submit where none is named."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidings.tasks.executor import Executor

_lock = threading.Lock()
_entered: list[Executor] = []


def enter(executor: Executor) -> None:
    """Make an executor the current one."""
    with _lock:
        _entered.append(executor)


def leave(executor: Executor) -> None:
    """Make the one before it the current one."""
    with _lock:
        _entered.remove(executor)


def last() -> Executor | None:
    """Return the current one, if there is one."""
    with _lock:
        return _entered[-1] if _entered else None
