"""Tidings for Python.

``tidings.Board`` reads the vector of this machine's agent from shared memory; it needs NumPy alone.
``tidings.pick`` asks the agent for nodes for work; it needs nothing besides Python.
``tidings.scaling`` tests how measurements grow against what is expected; it needs NumPy alone.

What is named here is imported when it is first used, so that each part loads without the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidings.board import Board, BoardError, Entries, Entry
    from tidings.placement import (
        AgentError,
        AgentTimeoutError,
        Picked,
        PickError,
        RefusedError,
        UnsatisfiedError,
        pick,
    )

__all__ = [
    "AgentError",
    "AgentTimeoutError",
    "Board",
    "BoardError",
    "Entries",
    "Entry",
    "PickError",
    "Picked",
    "RefusedError",
    "UnsatisfiedError",
    "pick",
]

_OF_BOARD = ("Board", "BoardError", "Entries", "Entry")


def __getattr__(name: str) -> Any:  # noqa: ANN401, whatever the name stands for
    """Load the part that has a name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'tidings' has no attribute {name!r}")
    if name not in _OF_BOARD:
        from tidings import placement

        return getattr(placement, name)
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
