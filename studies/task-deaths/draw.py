"""How soon tasks begin elsewhere after what happens to a host: the table and the figure."""

from __future__ import annotations

import math
import sys

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.figure import Figure

FAULTS = ("Killed", "Frozen", "Cut", "Dark")
NAMES = {
    ("file", "yes", "Worker"): "worker, with agents",
    ("file", "no", "Worker"): "worker, without agents",
    ("etcd", "yes", "Worker"): "worker, with agents, over etcd",
    ("etcd", "no", "Coordinator"): "coordinator, over etcd",
    ("etcd", "no", "Leader"): "leader of the etcd",
}
QUICK = {("quick etcd", "no", "Leader"): "leader, elections after 0.5 s"}
SHOWN = {"Killed": "killed", "Frozen": "frozen", "Cut": "cut off", "Dark": "without power"}
HEAD = ["what it happens to", "what happens", "times", "median s", "p95 s", "longest s"]
COLUMNS = ("store", "agents", "target", "fault", "number", "elsewhere_s")
COLOURS = (style.VERMILION, style.BLUE, style.GREEN, style.ORANGE)
LOOKS = dict(zip(FAULTS, zip("os^D", COLOURS, strict=True), strict=True))


def times_s(table: Table, case: tuple[str, str, str], fault: str) -> list[float]:
    """Return the times of a case, ascending."""
    store, agents, target = case
    rows = table.where(store=store, agents=agents, target=target, fault=fault)
    return sorted(rows.numbers("elsewhere_s"))


def quantile(values: list[float], share: float) -> float:
    """Return the least value that at least such a share does not exceed."""
    return values[math.ceil(share * len(values)) - 1]


def lines_of(table: Table, names: dict[tuple[str, str, str], str]) -> str:
    """Return a line for each case."""
    lines = []
    for case, name in names.items():
        for fault in FAULTS:
            values = times_s(table, case, fault)
            shares = [f"{quantile(values, share):.2f}" for share in (0.5, 0.95, 1.0)]
            lines.append([name, SHOWN[fault], str(len(values)), *shares])
    return markdown(HEAD, lines)


def elsewhere(table: Table) -> dict[str, str]:
    """Return the lines of all that may happen."""
    return {"elsewhere": lines_of(table, NAMES)}


def elections(table: Table) -> dict[str, str]:
    """Return the lines of the leader of an etcd that soon has another."""
    return {"elections": lines_of(table, QUICK)}


def figure(table: Table) -> Figure:
    """Draw each time as a point: a row for each case, a mark for each thing that happens."""
    drawn = style.blank(7.0, 3.2)
    axes = drawn.subplots()
    for row, case in enumerate(NAMES):
        for at, fault in enumerate(FAULTS):
            values = times_s(table, case, fault)
            marker, colour = LOOKS[fault]
            places = [row + 0.18 * (at - 1.5)] * len(values)
            label = SHOWN[fault] if row == 0 else None
            axes.plot(values, places, marker, color=colour, label=label, alpha=0.6)
    axes.set_yticks(range(len(NAMES)), list(NAMES.values()))
    axes.invert_yaxis()
    axes.set_xlim(left=0.0)
    axes.set_xlabel("seconds until a task begins elsewhere")
    axes.grid(visible=False, axis="y")
    axes.legend(loc="upper center")
    return drawn


DRAWN = (
    Drawn("elsewhere.csv", COLUMNS, tables=elsewhere, figure=figure),
    Drawn("elections.csv", COLUMNS, tables=elections),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
