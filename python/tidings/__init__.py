"""Tidings for Python.

``tidings.Board`` reads the vector of this machine's agent from shared memory; it needs NumPy alone.
``tidings.plots`` draws the figures of docs/results, ``tidings.tables`` writes their tables; both
read the CSV files that ``tidings sim`` and the benches write.
"""

from tidings.board import Board, BoardError, Entries, Entry

__all__ = ["Board", "BoardError", "Entries", "Entry"]
