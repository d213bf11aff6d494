"""Recovery in simulated phases: what runs again when workers die, and its cost if none does."""

from __future__ import annotations

import statistics
import sys

import real_ranks
from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.figure import Figure

COLUMNS = (
    "part",
    "program",
    "scheme",
    "copies",
    "workers",
    "seed",
    "deaths",
    "at_percent",
    "tasks",
    "mean_us",
    "executed",
    "started",
    "again",
    "lost",
    "makespan_ms",
    "without_ms",
    "begun_again_ms",
    "messages",
    "bytes",
)
SCHEMES = ("lazy", "collective", "non-collective")
ROLLBACKS = ("checkpoint-at-begin", "checkpoints-10")
PROGRAMS = ("scf-line", "scf-box", "tce")
TIMES = ("5", "50", "95")


def middle(table: Table, column: str) -> float:
    """Return the median of a column."""
    return statistics.median(table.numbers(column))


def extra(table: Table) -> list[float]:
    """Return for each run how much longer it took than without deaths, in milliseconds."""
    pairs = zip(table.numbers("makespan_ms"), table.numbers("without_ms"), strict=True)
    return [makespan - without for makespan, without in pairs]


def again(table: Table) -> str:
    """Return how many ended tasks ran again, without copies and by a rollback."""
    lines = []
    own = table.where(part="failures", deaths="1", copies="0")
    for program in PROGRAMS:
        for at in TIMES:
            rows = own.where(program=program, at_percent=at)
            cells = [middle(rows.where(scheme=scheme), "again") for scheme in SCHEMES]
            back = [middle(rows.where(scheme=scheme), "again") for scheme in ROLLBACKS]
            factors = [f"{one / max(cells):.1f}" for one in back]
            lost = middle(rows.where(scheme="lazy"), "lost")
            shown = [f"{one:,.0f}" for one in (lost, *cells, *back)]
            lines.append([program, f"{at} %", *shown, *factors])
    heads = ["program", "death at", "lost", *SCHEMES, *ROLLBACKS, "factor", "factor"]
    return markdown(heads, lines)


def copied(table: Table) -> str:
    """Return how many tasks were started again where blocks have copies; none had ended."""
    lines = []
    own = table.where(part="failures", copies="1")
    for program in PROGRAMS:
        for at in TIMES:
            rows = own.where(program=program, at_percent=at)
            ended = sum(rows.numbers("again"))
            cells = [
                f"{middle(rows.where(scheme=scheme, deaths=deaths), 'started'):,.0f}"
                for deaths in ("1", "2")
                for scheme in SCHEMES
            ]
            lines.append([program, f"{at} %", f"{ended:.0f}", *cells])
    heads = ["program", "death at", "ended, again", *SCHEMES, *(f"{one}, two" for one in SCHEMES)]
    return markdown(heads, lines)


def time_lost(table: Table) -> str:
    """Return the time that a death costs, in milliseconds and of the phase."""
    lines = []
    own = table.where(part="failures", deaths="1")
    for program in PROGRAMS:
        for at in TIMES:
            rows = own.where(program=program, at_percent=at)
            kinds = [("1", scheme) for scheme in SCHEMES]
            kinds += [("0", scheme) for scheme in (*SCHEMES, *ROLLBACKS)]
            cases = [rows.where(scheme=scheme, copies=copies) for copies, scheme in kinds]
            cells = [f"{statistics.median(extra(case)):,.0f}" for case in cases]
            lines.append([program, f"{at} %", f"{middle(rows, 'without_ms'):,.0f}", *cells])
    heads = ["program", "death at", "phase", *SCHEMES, *(f"{one}, no copy" for one in SCHEMES)]
    return markdown([*heads, *ROLLBACKS], lines)


def overhead(table: Table) -> str:
    """Return what recovery costs where nobody dies, beside stealing alone."""
    lines = []
    own = table.where(part="overhead")
    for tasks, mean_us in own.distinct("tasks", "mean_us"):
        rows = own.where(tasks=tasks, mean_us=mean_us)
        alone = middle(rows.where(scheme="stealing-alone"), "messages")
        cells = []
        for scheme in ("owners-alone", *SCHEMES):
            case = rows.where(scheme=scheme)
            pairs = zip(case.numbers("makespan_ms"), case.numbers("without_ms"), strict=True)
            ratio = statistics.median(makespan / without for makespan, without in pairs)
            cells.append(f"{100 * (ratio - 1):+.2f} %")
        sent = [
            middle(rows.where(scheme=scheme), "messages") - alone
            for scheme in ("owners-alone", "lazy", "non-collective")
        ]
        messages = [f"{one / middle(rows, 'executed'):.2f}" for one in sent]
        lines.append([f"{int(tasks):,}", f"{int(mean_us) / 1000:g} ms", *cells, *messages])
    heads = ["tasks a worker", "a task", "owners alone", *SCHEMES]
    more = [f"messages a task, {one}" for one in ("owners alone", "lazy", "non-collective")]
    return markdown([*heads, *more], lines)


def tables(table: Table) -> dict[str, str]:
    """Return the tables of the page."""
    return {
        "again": again(table),
        "copied": copied(table),
        "time": time_lost(table),
        "overhead": overhead(table),
    }


def figure(table: Table) -> Figure:
    """Draw tasks that ran again against when a worker died, for each program."""
    drawn = style.blank(7.0, 3.0)
    panels = drawn.subplots(1, len(PROGRAMS), sharey=True)
    own = table.where(part="failures", deaths="1", copies="0")
    kinds = (
        ("checkpoint-at-begin", "back to the begin", style.VERMILION, "D-"),
        ("checkpoints-10", "ten checkpoints", style.ORANGE, "s-"),
        ("lazy", "selective, no copies", style.BLUE, "o-"),
    )
    for axes, program in zip(panels, PROGRAMS, strict=True):
        for scheme, label, colour, line in kinds:
            cases = [own.where(program=program, scheme=scheme, at_percent=at) for at in TIMES]
            values = [middle(case, "again") for case in cases]
            axes.plot([int(at) for at in TIMES], values, line, color=colour, label=label)
        axes.set_title(program)
        axes.set_yscale("log")
        axes.set_xlabel("death at, % of the phase")
    panels[0].set_ylabel("ended tasks run again")
    handles, labels = panels[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=len(kinds))
    return drawn


DRAWN = (
    Drawn("recovery.csv", COLUMNS, figure=figure, tables=tables),
    Drawn("random.csv", real_ranks.RANDOM, tables=real_ranks.random_runs),
    Drawn("deaths.csv", real_ranks.DEATHS, tables=real_ranks.deaths),
    Drawn("overhead.csv", real_ranks.OVERHEAD, tables=real_ranks.overhead),
    Drawn(
        "restarts.csv", real_ranks.RESTARTS, figure=real_ranks.restarted, tables=real_ranks.restarts
    ),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
