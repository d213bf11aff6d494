"""Congestion by our tests, beside canaries."""

from __future__ import annotations

import itertools
import sys

from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

CONGESTION = ("case", "ours_is", "bytes", "rounds", "ours", "ours_low", "canary", "canary_low")


def sign(row: Row, of: str) -> int:
    """Return whether a factor is above one (1), below (-1), or neither for sure (0)."""
    return (row.number(f"{of}_low") > 1) - (row.number(f"{of}_high") < 1)


def same_sign(row: Row) -> str:
    """Return whether both factors are on the same side of one; a third word if one is on none."""
    both = {sign(row, "ours"), sign(row, "canary")}
    return "not sure" if 0 in both else "yes" if len(both) == 1 else "no"


def order(first: Row, second: Row, of: str) -> int:
    """Return which of two factors is greater for sure: that of the first (1) or second (-1)."""
    above = first.number(f"{of}_low") > second.number(f"{of}_high")
    return above - (second.number(f"{of}_low") > first.number(f"{of}_high"))


def interval(row: Row, of: str) -> str:
    """Return a factor with its interval."""
    low, high = row.number(f"{of}_low"), row.number(f"{of}_high")
    return f"{row.number(of):.2f} ({low:.2f} to {high:.2f})"


def of_congestion(table: Table) -> dict[str, str]:
    """Return a line for each case, and how pairs of cases are ordered."""
    lines = [
        [
            row.text("case"),
            row.text("ours_is"),
            row.text("rounds"),
            interval(row, "ours"),
            interval(row, "canary"),
            same_sign(row),
        ]
        for row in table
    ]
    heading = ["case", "our test", "rounds", "ours, factor", "canary, factor", "same sign"]
    pairs = [
        (order(first, second, "ours"), order(first, second, "canary"))
        for first, second in itertools.combinations(table, 2)
    ]
    both = [pair for pair in pairs if 0 not in pair]
    same = sum(ours == canary for ours, canary in both)
    counts = [len(pairs), len(pairs) - len(both), same, len(both) - same]
    columns = ["pairs of cases", "not told apart by one of them", "same order", "opposite order"]
    return {
        "congestion": markdown(heading, lines),
        "order": markdown(columns, [list(map(str, counts))]),
    }


DRAWN = (Drawn("congestion.csv", CONGESTION, tables=of_congestion),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
