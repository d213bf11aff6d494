"""Figure 3 and the tables of the page, of those tables that have been measured."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from drawing import style
from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent

SETTINGS = (
    "repetition",
    "state",
    "load",
    "agent",
    "interval_ms",
    "lost_share",
    "longest_us",
    "preemptions_per_s",
    "tick_share",
    "speed_variation",
    "named_share",
    "own_share",
)
LOOKS = (
    (style.VERMILION, "-"),
    (style.ORANGE, "--"),
    (style.GREEN, "-."),
    (style.BLUE, "-"),
    (style.GREY, ":"),
)
PANELS = {
    "idle": ("stock, idle", "shielded, idle", "application, idle"),
    "hostile load": ("stock, hostile", "shielded, hostile", "application, hostile"),
    **{
        f"agent at {interval} ms": (
            f"stock, idle, {interval} ms, unconfined",
            f"application, idle, {interval} ms, application core",
            f"application, idle, {interval} ms, service core",
        )
        for interval in (256, 16, 1)
    },
}


def number(value: float) -> str:
    """Return a number with three digits that count, or all before the point."""
    if value == 0:
        return "0"
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.{1 if size >= 10 else 2}f}"


def middle(values: Sequence[float], scale: float = 1) -> str:
    """Return a median, with the least and the greatest of some values."""
    least, most = (number(scale * pick(values)) for pick in (min, max))
    return f"{number(scale * statistics.median(values))} [{least}, {most}]"


def of(rows: Table, column: str, scale: float = 1) -> str:
    """Return the median and the extremes of a column."""
    return middle(rows.numbers(column), scale)


def lines(table: Table) -> Figure:
    """Draw work over time, a panel for what runs beside, a line for each state."""
    drawn = style.blank(11.0, 2.7)
    panels = drawn.subplots(1, len(PANELS), sharey=True)
    for axes, (title, names) in zip(panels, PANELS.items(), strict=True):
        for name, (colour, dash) in zip(names, LOOKS, strict=False):
            own = table.where(setting=name)
            label = name.rpartition(", ")[2] if "ms" in name else name.partition(",")[0]
            axes.plot(
                own.numbers("time_s"), own.numbers("work"), dash, color=colour, label=label, lw=0.9
            )
        axes.set_title(title)
        axes.set_ylim(-0.04, 1.1)  # a core that gets nothing has a line, too
        axes.legend(fontsize=6, loc="lower left")
    panels[0].set_ylabel("work in a quantum of 1 ms")
    panels[len(PANELS) // 2].set_xlabel("time, s")
    return drawn


def figure_3(table: Table) -> dict[str, str]:
    """Return a line for each setting, and what an agent adds."""
    heads = ["state", "load", "agent", "lost, %", "longest, ms", "preemptions/s", "tick, %"]
    heads += ["speed cv, %", "named, %"]
    made = []
    for state, load, agent, interval in table.distinct("state", "load", "agent", "interval_ms"):
        own = table.where(state=state, load=load, agent=agent, interval_ms=interval)
        cells = [of(own, "lost_share", 100), of(own, "longest_us", 1e-3)]
        cells += [of(own, "preemptions_per_s"), of(own, "tick_share", 100)]
        cells += [of(own, "speed_variation", 100), of(own, "named_share", 100)]
        made.append([state, load, f"{interval} ms, {agent}" if agent else "", *cells])
    return {
        "settings": markdown(heads, sorted(made)),
        "agent": added(table),
        "goals": goals(table),
    }


def goals(table: Table) -> str:
    """Return what was to be reached, what was, and whether it is enough; medians all."""

    def median(column: str, **cells: str) -> float:
        found = table.where(agent="", **cells).numbers(column)
        return statistics.median(found) if found else float("nan")

    hostile = {"state": "application", "load": "hostile"}
    lost = 100 * median("lost_share", **hostile)
    stock = 100 * median("lost_share", state="stock", load="hostile")
    tick = 100 * median("tick_share", state="application", load="idle")
    made = [
        ("loss under the hostile load, of that of a stock core", lost / stock, 1 / 20),
        ("loss under the hostile load, %; at most that of the tick and 0.5", lost, tick + 0.5),
        ("longest gap under the hostile load, ms", median("longest_us", **hostile) / 1e3, 5.0),
    ]
    for state, agent, interval in table.distinct("state", "agent", "interval_ms"):
        if agent == "service core":
            pairs = paired(table, state, agent, interval)
            beside = f"an agent at {interval} ms on the service core"
            made += [
                (f"loss that {beside} adds, points", statistics.median(points(pairs)), 0.1),
                (f"preemptions beside {beside}, times", statistics.median(times(pairs)), 1.05),
            ]
    return reached(made)


def reached(made: Sequence[tuple[str, float, float]]) -> str:
    """Return a line for each goal: what was measured, the most that it may be, whether it holds."""
    cells = [
        [what, number(value), number(most), "yes" if value <= most else "no"]
        for what, value, most in made
        if value == value  # what was not measured is no number
    ]
    return markdown(["goal", "measured", "at most", "holds"], cells)


def added(table: Table) -> str:
    """Return what an agent adds, within each repetition, to the same state without one."""
    heads = ["state", "agent", "added loss, points", "preemptions, times those without"]
    made = []
    with_one = [key for key in table.distinct("state", "agent", "interval_ms") if key[1]]
    for state, agent, interval in sorted(with_one):
        pairs = paired(table, state, agent, interval)
        made.append([state, f"{interval} ms, {agent}", middle(points(pairs)), middle(times(pairs))])
    return markdown(heads, made)


Pairs = Sequence[tuple[Row, Row]]


def points(pairs: Pairs) -> list[float]:
    """Return what each pair lost more, in points."""
    return [100 * (one.number("lost_share") - none.number("lost_share")) for one, none in pairs]


def times(pairs: Pairs) -> list[float]:
    """Return the preemptions of each by those of its other; one a second more, as none may be."""
    counts = [[1 + own.number("preemptions_per_s") for own in pair] for pair in pairs]
    return [one / none for one, none in counts]


def paired(table: Table, state: str, agent: str, interval: str) -> Pairs:
    """Return measurements beside an agent, each with that of its repetition without one."""
    without = {row.text("repetition"): row
               for row in table.where(state=state, load="idle", agent="")}  # fmt: skip
    beside = table.where(state=state, load="idle", agent=agent, interval_ms=interval)
    return [(row, without[row.text("repetition")]) for row in beside]


def lammps(table: Table) -> dict[str, str]:
    """Return the times of LAMMPS, as Table 1 has them."""
    counts = sorted((ranks for (ranks,) in table.distinct("ranks")), key=int)
    heads = ["state", "load", *(f"ranks: {ranks}, s" for ranks in counts)]
    made = []
    for state, load in sorted(table.distinct("state", "load"), reverse=True):
        cells = []
        for ranks in counts:
            own = table.where(state=state, load=load, ranks=ranks)
            cells.append(of(own, "seconds") if own.rows else "-")
        made.append([state, load, *cells])
    return {"lammps": markdown(heads, made)}


def agreement(table: Table) -> dict[str, str]:
    """Return what each program measured, and how far apart two of them are within a repetition."""
    heads = ["program", "lost, %", "gaps/s", "longest, ms", "named, %", "own time, %"]
    made = []
    for (program,) in table.distinct("program"):
        own = table.where(program=program)
        has_names = own.rows[0].text("named_share") != ""
        cells = [of(own, "lost_share", 100), of(own, "gaps_per_s"), of(own, "longest_us", 1e-3)]
        cells += [of(own, name, 100) if has_names else "" for name in ("named_share", "own_share")]
        made.append([program, *cells])
    return {"agreement": markdown(heads, made), "apart": apart(table)}


def apart(table: Table) -> str:
    """Return differences within a repetition, and of a program from itself in the next one."""
    shares = {
        (row.text("program"), row.whole("repetition")): 100 * row.number("lost_share")
        for row in table
    }
    last = max(repetition for _, repetition in shares)

    def differences(one: str, other: str, later: int) -> list[float]:
        rounds = range(1, last + 1 - later)
        return [shares[one, at] - shares[other, at + later] for at in rounds]

    made = [
        ["FTQ less spin", middle(differences("ftq", "spin", 0))],
        ["FTQ with names less without", middle(differences("ftq", "ftq without names", 0))],
    ]
    if last > 1:
        floor = differences("spin", "spin", 1)
        made.append(["floor: spin less spin in the next repetition", middle(floor)])
    return markdown(["difference", "points of loss"], made)


def mechanisms(table: Table) -> dict[str, str]:
    """Return what works here, and why not."""
    made = [[row.text("mechanism"), row.text("verdict"), row.text("found")] for row in table]
    return {"mechanisms": markdown(["mechanism", "works", "seen"], made)}


def paths(table: Table) -> dict[str, str]:
    """Return times of the fast paths."""
    made = [[row.text(cell) for cell in ("path", "median_ns", "p99_ns", "ratio")] for row in table]
    heads = ["path", "median, ns", "99 %, ns", "ratio to the plain path"]
    return {"paths": markdown(heads, made), "path-goals": path_goals(table)}


def path_goals(table: Table) -> str:
    """Return what the fast paths were to reach, and what they did."""

    def ns(path: str, column: str = "median_ns") -> float:
        return table.where(path=path).numbers(column)[0]

    caller, ring = "send, curried: caller", "message: soft interrupt, and a ring"
    dispatched, seccomp = "getppid, dispatched", "getppid, by seccomp's notification"
    responder = min(ns(f"message: threads that {what}") for what in ("spin", "sleep"))
    merge = ns("program: a merge of 128 words, each raised") - ns("program: a frame that passes")
    later = ns("send, curried: done") - ns("send, plain")
    by_seccomp = ns(dispatched) / ns(seccomp)
    by_a_responder = ns(ring) / responder
    return reached(
        [
            ("curried send, the caller, ns", ns(caller), 25),
            ("the same, 99 %", ns(caller, "p99_ns"), 60),
            ("curried send, done later than a plain one, ns", later, 500),
            ("shipped call, ns", ns("getppid, shipped"), 500),
            ("call of an unmodified program, dispatched, ns", ns(dispatched), 2000),
            ("the same, of the time by seccomp's notification", by_seccomp, 1 / 12),
            ("active message, ns", ns(ring), 2000),
            ("the same, 99 %", ns(ring, "p99_ns"), 3000),
            ("the same, of that of the best responder in user space", by_a_responder, 1 / 3),
            ("merge of 128 words in XDP, ns, less a frame that passes", merge, 250),
            ("attach of the space in a fresh process, µs",
             ns("space: attached in a fresh process") / 1e3, 100),
            ("a cell of the space read while it is written, ns",
             ns("space: a cell, written without a pause"), 25),
            ("the same, its writer killed", ns("space: a cell, its writer killed"), 25),
        ]
    )  # fmt: skip


Tables = Callable[[Table], dict[str, str]]
AGREED = ("repetition", "program", "lost_share", "gaps_per_s", "longest_us", "named_share",
          "own_share")  # fmt: skip
KINDS: tuple[tuple[str, tuple[str, ...], Callable[[Table], Figure] | None, Tables | None], ...] = (
    ("settings", SETTINGS, None, figure_3),
    ("quanta", ("setting", "time_s", "work"), lines, None),
    ("lammps", ("repetition", "ranks", "state", "load", "seconds"), None, lammps),
    ("agreement", AGREED, None, agreement),
    ("mechanisms", ("mechanism", "purpose", "verdict", "found", "remedy"), None, mechanisms),
    ("paths", ("path", "median_ns", "p99_ns", "ratio"), None, paths),
)

FOLDER = Path(sys.argv[sys.argv.index("--folder") + 1]) if "--folder" in sys.argv else HERE
DRAWN = tuple(
    Drawn(f"{name}.csv", columns, figure, tables)
    for name, columns, figure, tables in KINDS
    if (FOLDER / f"{name}.csv").exists()  # parts are measured one by one
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
