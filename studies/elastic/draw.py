"""Tasks while workers come and go: the table of the page."""

from __future__ import annotations

import sys

from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

COLUMNS = ("repeat", "tasks", "seconds", "tries", "lost", "killed", "longest_gap_ms")


def tables(table: Table) -> dict[str, str]:
    """Return a line for each time."""
    lines = [
        [row.text(name) for name in ("repeat", "seconds", "lost", "killed", "longest_gap_ms")]
        for row in table.rows
    ]
    heads = ["", "seconds", "tries lost", "workers killed", "longest time without a begin, ms"]
    return {"elastic": markdown(heads, lines)}


DRAWN = (Drawn("elastic.csv", COLUMNS, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
