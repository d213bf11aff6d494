"""How soon killed agents are known to be dead: the tables, simulated and of real agents."""

from __future__ import annotations

import sys
from statistics import median_high

from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown, seconds

TIMES = ("half_ms", "all_ms", "all_p99_ms", "all_worst_ms")


def simulated(table: Table) -> dict[str, str]:
    """Return how soon simulated kills were known, a line for each case."""
    lines = [
        [
            row.text("strategy"),
            row.text("host"),
            f"{row.text('loss_percent')} %",
            row.text("crashes"),
            *(seconds(row.number(column)) for column in TIMES),
            row.text("false_deaths"),
        ]
        for row in table
    ]
    names = ["strategy", "host", "lost", "kills", "half, median", "all, median", "all, 99 %"]
    names += ["all, worst", "false"]
    return {"deaths": markdown(names, lines)}


def agents(table: Table) -> dict[str, str]:
    """Return how soon kills of real agents were known, a line for each sort and loss."""
    lines = []
    for end, loss in table.distinct("end", "loss_percent"):
        rows = table.where(end=end, loss_percent=loss)
        half, everybody = rows.numbers("half_ms"), rows.numbers("all_ms")
        lines.append(
            [
                end,
                f"{loss} %",
                str(len(everybody)),
                *(seconds(median_high(values)) for values in (half, everybody)),
                *(seconds(max(values)) for values in (half, everybody)),
            ]
        )
    names = ["agent", "lost", "kills", "half, median", "all, median", "half, worst", "all, worst"]
    return {"deaths-agents": markdown(names, lines)}


def hour(table: Table) -> dict[str, str]:
    """Return what became of the hour in which nobody dies."""
    lines = []
    for row in table:
        nodes, units = row.whole("nodes"), row.whole("units")
        probes, suspicions = row.whole("probes"), row.whole("suspicions")
        cleared = row.whole("suspicions_cleared")
        broken = row.whole("understated_ages") + row.whole("lowered_entries")
        lines.append(
            [
                f"{nodes:,}",
                f"{units:,}",
                f"**{row.whole('mistaken')}**",
                f"{suspicions:,}, {cleared:,} cleared",
                f"{probes:,}, {probes / nodes / units:.2f} a node and unit",
                f"{row.number('age_avg_units'):.1f} units",
                f"{row.whole('pairs_checked'):,} ages, {broken} violations",
            ]
        )
    names = ["nodes", "units", "false deaths", "suspected", "probes", "average age", "checks"]
    return {"deaths-hour": markdown(names, lines)}


DRAWN = (
    Drawn(
        "deaths.csv",
        ("strategy", "host", "loss_percent", "crashes", *TIMES, "false_deaths"),
        tables=simulated,
    ),
    Drawn("deaths-agents.csv", ("end", "loss_percent", "half_ms", "all_ms"), tables=agents),
    Drawn("deaths-hour.csv", ("nodes", "units", "mistaken", "probes"), tables=hour),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
