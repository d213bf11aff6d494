"""Tidings for Python.

``tidings.Board`` reads the vector of this machine's agent from shared memory; it needs NumPy alone.
``tidings.pick`` asks the agent for nodes for work, ``tidings.publish`` gives it metrics of your
own, ``tidings.watch`` and ``tidings.watch_async`` yield what happens to nodes; they need nothing
besides Python. ``tidings.tasks`` has durable tasks.
``tidings.scaling`` tests how measurements grow against what is expected; it needs NumPy alone.

What is named here is imported when it is first used, so that each part loads without the others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidings.agent import Notice, publish, watch, watch_async
    from tidings.board import Board, BoardError
    from tidings.control import AgentError, AgentTimeoutError, PickError, RefusedError
    from tidings.entries import Entries, Entry
    from tidings.placement import Picked, UnsatisfiedError, pick

__all__ = [
    "AgentError",
    "AgentTimeoutError",
    "Board",
    "BoardError",
    "Entries",
    "Entry",
    "Notice",
    "PickError",
    "Picked",
    "RefusedError",
    "UnsatisfiedError",
    "pick",
    "publish",
    "watch",
    "watch_async",
]

_OF_BOARD = ("Board", "BoardError", "Entries", "Entry")
_MODULE_OF = dict.fromkeys(("Notice", "publish", "watch", "watch_async"), "agent")
_MODULE_OF |= dict.fromkeys(
    ("AgentError", "AgentTimeoutError", "PickError", "RefusedError"), "control"
)
_MODULE_OF |= dict.fromkeys(("Picked", "UnsatisfiedError", "pick"), "placement")
_PARTS = ("scaling", "tasks")


def __dir__() -> list[str]:
    """Name all that can be used, whether or not it was loaded."""
    return sorted({*globals(), *__all__, *_PARTS})


def __getattr__(name: str) -> Any:  # noqa: ANN401, whatever the name stands for
    """Load the part that has a name when it is first used."""
    if name in _PARTS:
        return importlib.import_module(f"tidings.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'tidings' has no attribute {name!r}")
    if name not in _OF_BOARD:
        return getattr(importlib.import_module(f"tidings.{_MODULE_OF[name]}"), name)
    try:
        from tidings import board
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise ModuleNotFoundError(
            f"tidings.{name} needs NumPy, which is not installed: `pip install numpy`",
            name="numpy",
        ) from None
    return getattr(board, name)
