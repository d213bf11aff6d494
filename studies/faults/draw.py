"""Agents that get 5 % of a processor: the ages before, with and after the quota."""

from __future__ import annotations

import sys
from statistics import fmean

from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown, seconds

# Ages are as before when these many looks are older by no more than this on average: as in
# starved.rs.
TOGETHER, AS_BEFORE = 5, 1.1


def tables(table: Table) -> dict[str, str]:
    """Return the ages before, with and after the quota, a line for each number of agents."""
    lines = []
    for (agents,) in table.distinct("agents"):
        before, under, after = (
            table.where(agents=agents, phase=phase) for phase in ("before", "starved", "after")
        )
        averages = [fmean(rows.numbers("age_avg_ms")) for rows in (before, under)]
        oldest = [max(rows.numbers("age_max_ms")) for rows in (before, under)]
        estranged = max(under.numbers("estranged_pairs"))
        last, together = after.rows[-1], after.rows[-TOGETHER:]
        usual = fmean([row.number("age_avg_ms") for row in together]) <= AS_BEFORE * averages[0]
        none = all(row.number("estranged_pairs") == 0 for row in together)
        in_vain = "" if usual and none else "not in "
        lines.append(
            [
                agents,
                *(seconds(age) for age in averages),
                f"{averages[1] / averages[0]:.2f}",
                *(seconds(age) for age in oldest),
                f"{oldest[1] / oldest[0]:.2f}",
                f"{estranged:.0f}",
                f"{in_vain}{last.number('time_s'):.1f} s",
            ]
        )
    names = ["agents", "average before", "starved", "ratio", "oldest before", "starved", "ratio"]
    return {"starved": markdown([*names, "pairs estranged", "as before after"], lines)}


DRAWN = (
    Drawn(
        "starved.csv",
        ("agents", "phase", "time_s", "age_avg_ms", "estranged_pairs"),
        tables=tables,
    ),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
