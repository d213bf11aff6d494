"""Tidings for Python.

``tidings.Board`` reads the vector of this machine's agent from shared memory; it needs NumPy alone.
``tidings.scaling`` tests how measurements grow against what is expected; it needs NumPy alone, too.
``tidings.plots`` draws the figures of docs/results, ``tidings.tables`` writes their tables; both
read the CSV files that ``tidings sim`` and the benches write.

What is named here is imported when it is first used, so that each part starts without the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidings.board import Board, BoardError, Entries, Entry

__all__ = ["Board", "BoardError", "Entries", "Entry"]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in __all__:
        from tidings import board

        return getattr(board, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
