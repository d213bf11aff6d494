"""Tables in pages: Markdown, and its place between two marks of a page.

A table of a page stands between the lines ``<!-- table: NAME -->`` and ``<!-- end -->``. It is
replaced as a whole; all else is left as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from drawing.csv_table import TableError

END = "<!-- end -->"


def markdown(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    rows = [heading, ["---"] * len(heading), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def rounded(number: float, digits: int, unit: str = "") -> str:
    """Return a number with its unit; a dash where nothing was measured."""
    return "-" if math.isnan(number) else f"{number:.{digits}f}{unit}"


def seconds(milliseconds: float) -> str:
    """Return milliseconds as seconds."""
    return rounded(milliseconds / 1e3, 2, " s")


def insert(page: str, tables: dict[str, str]) -> str:
    """Return the page with each table in its place; ``TableError`` if it has no place for one."""
    for name, text in tables.items():
        begin = f"<!-- table: {name} -->\n"
        before, found, rest = page.partition(begin)
        _, ended, after = rest.partition(END)
        if not found or not ended or begin in after:
            raise TableError(f"the page needs one `{begin.strip()}` with an `{END}` below it")
        page = f"{before}{begin}\n{text.rstrip()}\n\n{END}{after}"
    return page


def write(page: Path, tables: dict[str, str]) -> None:
    """Put tables into a page, which is replaced as a whole."""
    text = insert(page.read_text(encoding="utf-8"), tables)
    fresh = page.with_name(f".{page.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(page)
