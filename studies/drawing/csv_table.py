"""Tables of results as they lie in studies: CSV with a heading, mistakes named by place.

A cell is text, a number, or empty where nothing was measured. Whatever is wrong is said with file,
line and column, so that the file can be mended.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


class TableError(Exception):
    """A file is no table of the kind that was asked for."""


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    place: str
    cells: dict[str, str]

    def text(self, column: str) -> str:
        """Return the cell as it stands."""
        return self.cells[column]

    def number(self, column: str) -> float:
        """Return the cell as a number; NaN where it is empty, so that plots leave a gap."""
        cell = self.cells[column]
        if not cell:
            return math.nan
        try:
            return float(cell)
        except ValueError:
            raise TableError(f"{self.place}: {column} is `{cell}`, not a number") from None

    def whole(self, column: str) -> int:
        """Return the cell as a whole number."""
        number = self.number(column)
        if not number.is_integer():
            raise TableError(f"{self.place}: {column} is `{self.cells[column]}`, not whole")
        return int(number)


@dataclass(frozen=True)
class Table:
    """The lines of a CSV file."""

    rows: tuple[Row, ...]

    @classmethod
    def read(cls, file: Path, columns: Sequence[str]) -> Table:
        """Read a file that has at least these columns and one line."""
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TableError(f"{file}: {error}") from error
        reader = csv.DictReader(text.splitlines())
        missing = [column for column in columns if column not in (reader.fieldnames or [])]
        if missing:
            raise TableError(f"{file}:1: no column {', '.join(missing)}: is it the right table?")
        rows = []
        for cells in reader:
            place = f"{file}:{reader.line_num}"
            if None in cells or None in cells.values():
                raise TableError(f"{place}: not as many cells as the heading has")
            rows.append(Row(place, dict(cells)))
        if not rows:
            raise TableError(f"{file}: no line below the heading")
        return cls(tuple(rows))

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def where(self, **cells: object) -> Table:
        """Return the lines whose cells are these."""
        wanted = {column: str(value) for column, value in cells.items()}
        return Table(tuple(row for row in self.rows if wanted.items() <= row.cells.items()))

    def distinct(self, *columns: str) -> list[tuple[str, ...]]:
        """Return the different values of some columns, in the order in which they appear."""
        return list(dict.fromkeys(tuple(row.text(column) for column in columns) for row in self))

    def numbers(self, column: str) -> list[float]:
        """Return a column as numbers."""
        return [row.number(column) for row in self]
