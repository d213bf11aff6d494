"""What a study draws: of each table a figure beside it, and tables in its page.

A study's draw.py states its :class:`Drawn` and calls :func:`main`. A figure depends on its table
alone: no date, no random id, fonts as outlines, so that the same table gives the same file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from drawing import pages, style
from drawing.csv_table import Table, TableError


@dataclass(frozen=True)
class Drawn:
    """A table, the columns it must have, and what is drawn of it: a figure, tables of a page."""

    table: str
    columns: tuple[str, ...]
    figure: Callable[[Table], Figure] | None = None
    tables: Callable[[Table], dict[str, str]] | None = None
    page: str = "README.md"

    def draw(self, folder: Path, suffix: str = ".svg") -> None:
        """Draw what lies in a folder into it.

        Raises ``TableError`` for a table that is none or a page without a place for a table, and
        ``OSError`` where something cannot be written.
        """
        table = Table.read(folder / self.table, self.columns)
        if self.figure is not None:
            with style.applied():
                style.save(self.figure(table), (folder / self.table).with_suffix(suffix))
        if self.tables is not None:
            pages.write(folder / self.page, self.tables(table))


def main(file: str, drawn: Sequence[Drawn], arguments: Sequence[str] | None = None) -> int:
    """Draw a study; return the exit code.

    0: drawn; 1: something cannot be written; 2: wrong arguments, a table that is none, or a page
    without a place for it.
    """
    parser = argparse.ArgumentParser(description="Draws a study's figures and tables.")
    parser.add_argument("--folder", type=Path, default=Path(file).resolve().parent)
    parser.add_argument("--png", action="store_true", help="figures as PNG, for a look at them")
    options = parser.parse_args(arguments)
    try:
        for one in drawn:
            one.draw(options.folder, ".png" if options.png else ".svg")
    except TableError as error:
        print(f"draw: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"draw: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0
