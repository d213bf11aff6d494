"""The figures of studies, drawn from their CSV files.

``python -m tidings.plots KIND TABLE.csv --output FIGURE.svg`` draws one; the kinds are those of
:data:`KINDS`. A figure depends on its table alone: no date, no random id, fonts as outlines, so
that the same table gives the same file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from tidings.csv_table import Table
from tidings.plots import (
    ages,
    busy,
    failures,
    figure2,
    gossip_busy,
    overhead,
    reproduction,
    strategies,
    style,
)

__all__ = ["KINDS", "Kind", "draw"]


@dataclass(frozen=True)
class Kind:
    """A kind of figure: the columns its table must have, and how it is drawn."""

    columns: tuple[str, ...]
    figure: Callable[[Table], Figure]


KINDS = {
    "figure2": Kind(figure2.COLUMNS, figure2.figure),
    "ages": Kind(ages.COLUMNS, ages.figure),
    "failures": Kind(failures.COLUMNS, failures.figure),
    "busy": Kind(busy.COLUMNS, busy.figure),
    "overhead": Kind(overhead.COLUMNS, overhead.figure),
    "gossip-busy": Kind(gossip_busy.COLUMNS, gossip_busy.figure),
    "reproduction": Kind(reproduction.COLUMNS, reproduction.figure),
    "strategies": Kind(strategies.COLUMNS, strategies.figure),
}


def draw(kind: str, table: Path, output: Path) -> None:
    """Draw a table into an SVG or PNG file, by its suffix.

    Raises ``KeyError`` for an unknown kind, ``TableError`` for a table that is none, ``ValueError``
    for another suffix and ``OSError`` where the file cannot be written.
    """
    if output.suffix not in style.SUFFIXES:
        raise ValueError(f"{output}: write {' or '.join(style.SUFFIXES)}")
    chosen = KINDS[kind]
    with style.applied():
        style.save(chosen.figure(Table.read(table, chosen.columns)), output)
