"""What agents hold while they are read: the table of the page, a line for each minute."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator

from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

COLUMNS = ("elapsed_s", "agent", "rss_kib", "descriptors")
HEADING = ("minute", "KiB, mean", "most", "descriptors, least", "most")
MINUTE_S = 60.0


def lines(table: Table) -> Iterator[list[str]]:
    """Return a line for each minute that was measured as a whole."""
    minutes: dict[int, list[Row]] = {}
    for row in table:
        minutes.setdefault(int(row.number("elapsed_s") // MINUTE_S) + 1, []).append(row)
    # The last sample is the end of the last minute.
    for minute in sorted(minutes)[:-1]:
        memory = [row.whole("rss_kib") for row in minutes[minute]]
        descriptors = [row.whole("descriptors") for row in minutes[minute]]
        mean = int(statistics.mean(memory))
        yield [
            str(minute),
            str(mean),
            str(max(memory)),
            str(min(descriptors)),
            str(max(descriptors)),
        ]


def tables(table: Table) -> dict[str, str]:
    """Return the growth of all agents, by minutes."""
    return {"minutes": markdown(HEADING, lines(table))}


DRAWN = (Drawn("soak.csv", COLUMNS, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
