"""Work stealing on simulated workers: what selecting victims by knowledge saves."""

from __future__ import annotations

import statistics
import sys
from functools import partial

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from held_out import COLUMNS as HELD_OUT
from iterations import WAYS
from iterations import Row as Iterated
from matplotlib.figure import Figure

COLUMNS = (
    "part",
    "program",
    "policy",
    "workers",
    "seed",
    "unit_ms",
    "iteration",
    "efficiency",
    "attempts",
    "steals",
    "moved",
    "messages",
    "bytes",
    "waiting_s",
    "searching_s",
    "terminating_s",
    "retained",
    "balanced",
    "herd",
)
RANKS = (
    "network",
    "ranks",
    "progress_us",
    "victims",
    "seconds",
    "efficiency",
    "tasks",
    "attempts",
    "steals",
    "moved",
    "messages",
    "bytes",
)
HEADS = ("victims", "efficiency", "attempts", "steals", "tasks moved")
POLICIES = ("random", "lifelines", "known")
COUNTS = ("attempts", "steals", "moved")


def middle(table: Table, column: str) -> float:
    """Return the median of a column."""
    return statistics.median(table.numbers(column))


def counts(table: Table) -> list[str]:
    """Return efficiency and counts, medians where there are several seeds."""
    shown = [f"{middle(table, 'efficiency'):.4f}"]
    return shown + [f"{middle(table, column):,.0f}" for column in COUNTS]


def idle(table: Table) -> list[str]:
    """Return the shares of the workers' time without a task: searching, waiting, at the end."""
    seconds = [middle(table, f"{kind}_s") for kind in ("searching", "waiting", "terminating")]
    share = (1 - middle(table, "efficiency")) / max(sum(seconds), 1e-9)
    return [f"{100 * share * part:.3f} %" for part in seconds]


def scale(table: Table) -> str:
    """Return the policies on so many workers."""
    own = table.where(part="scale")
    lines = []
    for (workers,) in sorted(own.distinct("workers"), key=lambda one: int(one[0])):
        for policy in POLICIES:
            rows = own.where(workers=workers, policy=policy)
            lines.append([f"{int(workers):,}", policy, *counts(rows), *idle(rows)])
    heads = ["workers", *HEADS, "searching", "waiting", "at the end"]
    return markdown(heads, lines)


def ways(table: Table) -> str:
    """Return other ways to select and to divide, beside the usual ones."""
    usual = table.where(part="scale", workers="1024", seed="1")
    lines = [[policy, *counts(usual.where(policy=policy))] for policy in POLICIES]
    own = table.where(part="ways")
    lines += [[policy, *counts(own.where(policy=policy))] for (policy,) in own.distinct("policy")]
    return markdown(list(HEADS), lines)


def units(table: Table) -> str:
    """Return knowledge by the unit of the gossip."""
    lines = []
    own = table.where(policy="known", workers="1024", program="like", iteration="1", seed="1")
    for unit in ("1", "10", "64", "256", "1024"):
        case = "scale" if unit == "10" else "unit"
        lines.append([f"{unit} ms", *counts(own.where(part=case, unit_ms=unit))])
    return markdown(["unit", *HEADS[1:]], lines)


def applications(table: Table) -> str:
    """Return the policies on real costs, and with slow workers."""
    lines = []
    for part in ("applications", "slow"):
        own = table.where(part=part)
        for (program,) in own.distinct("program"):
            name = "like, a quarter at half speed" if part == "slow" else program
            for policy in POLICIES:
                rows = own.where(program=program, policy=policy)
                lines.append([name, policy, *counts(rows)])
    return markdown(["program", *HEADS], lines)


def retained(table: Table) -> str:
    """Return iterations that begin with what each worker ran before."""
    lines = []
    own = table.where(part="retain")
    for policy in (*POLICIES, "persistence"):
        for iteration in ("1", "2", "3", "5"):
            row = own.where(policy=policy, iteration=iteration)
            share = f"{middle(row, 'retained'):.3f}"
            balanced = f"{middle(row, 'balanced'):,.0f}"
            lines.append([policy, iteration, *counts(row), balanced, share])
    heads = [HEADS[0], "iteration", *HEADS[1:], "by the balancer", "ran where before"]
    return markdown(heads, lines)


def tables(table: Table) -> dict[str, str]:
    """Return the tables of the page."""
    return {
        "scale": scale(table),
        "ways": ways(table),
        "unit": units(table),
        "applications": applications(table),
        "retain": retained(table),
    }


def figure(table: Table) -> Figure:
    """Draw attempts, steals and tasks moved against workers."""
    drawn = style.blank(7.0, 3.0)
    panels = drawn.subplots(1, 3, sharex=True)
    own = table.where(part="scale")
    workers = sorted((one for (one,) in own.distinct("workers")), key=int)
    colours = (style.BLUE, style.GREEN, style.VERMILION)
    for axes, column, title in zip(panels, COUNTS, HEADS[2:], strict=True):
        for policy, colour in zip(POLICIES, colours, strict=True):
            cases = [own.where(workers=one, policy=policy) for one in workers]
            values = [middle(case, column) for case in cases]
            axes.plot([int(one) for one in workers], values, "o-", color=colour, label=policy)
        axes.set_title(title)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("workers")
    panels[0].legend(loc="lower right")
    return drawn


def of_ranks(table: Table, name: str = "ranks") -> dict[str, str]:
    """Return a table of the page of ranks with real messages."""
    lines = []
    keys = ("network", "ranks", "progress_us", "victims")
    for network, ranks, progress_us, policy in table.distinct(*keys):
        own = table.where(network=network, ranks=ranks, progress_us=progress_us, victims=policy)
        answers = f"each {int(progress_us) // 1000} ms" if int(progress_us) else "when it ends"
        lines.append([network, f"{int(ranks):,}", answers, policy, *counts(own)])
    return {name: markdown(["network", "ranks", "a task answers", *HEADS], lines)}


def held_out(table: Table) -> dict[str, str]:
    """Return the page's table of seeds that no rule was adjusted with."""
    lines = []
    for policy in POLICIES:
        lines.append([policy, "", *own_counts(table.where(policy=policy, retain="no"))])
    for iteration in ("1", "5"):
        rows = table.where(retain="yes", iteration=iteration)
        lines.append(["known, retained", iteration, *own_counts(rows)])
    return {"held-out": markdown([HEADS[0], "iteration", *HEADS[1:]], lines)}


def own_counts(table: Table) -> list[str]:
    """Return the median of the seeds of each column, with the least and the largest."""
    shown = []
    for column in ("efficiency", "attempts", "steals", "tasks_moved"):
        numbers = table.numbers(column)
        form = ".4f" if column == "efficiency" else ",.0f"
        least, most = min(numbers), max(numbers)
        shown.append(f"{statistics.median(numbers):{form}} [{least:{form}}, {most:{form}}]")
    return shown


def broad(table: Table) -> dict[str, str]:
    """Return the page's tables of iterations to thousands of workers, and of a hundred thousand."""
    lines = []
    own = table.where(part="iterated")
    for program, workers in sorted(
        own.distinct("program", "workers"), key=lambda one: (one[0], int(one[1]))
    ):
        for (policy,) in own.distinct("policy"):
            case = own.where(program=program, workers=workers, policy=policy)
            first, last = case.where(iteration="1"), case.where(iteration="5")
            cells = [f"{middle(last, 'efficiency'):.4f}"]
            for column in COUNTS:
                cells += [f"{middle(one, column):,.0f}" for one in (first, last)]
            cells += [f"{middle(last, 'bytes') / 1e6:,.1f}", " / ".join(idle(last))]
            lines.append([program, f"{int(workers):,}", policy, *cells])
    heads = ["program", "workers", "way", "efficiency, 5th"]
    heads += [f"{name}, {time}" for name in HEADS[2:] for time in ("1st", "5th")]
    heads += ["MB, 5th", "searching / waiting / at the end, 5th"]
    large = table.where(part="large")
    rows = [[policy, *counts(large.where(policy=policy))] for policy in POLICIES]
    return {"iterated": markdown(heads, lines), "large": markdown(list(HEADS), rows)}


def by_workers(table: Table) -> Figure:
    """Draw time without a task in the fifth iteration against the number of workers."""
    drawn = style.blank(8.0, 3.0)
    panels = drawn.subplots(1, 2, sharey=True)
    own = table.where(part="iterated", iteration="5")
    lines = {"random": style.BLUE, "lifelines": style.GREEN, "known": style.VERMILION}
    for axes, program, title in zip(
        panels, ("like", "tce"), ("Fock matrix", "contraction"), strict=True
    ):
        for (policy,) in own.distinct("policy"):
            case = own.where(program=program, policy=policy)
            victims, _, retained = policy.partition("-")
            colour = lines.get(victims, style.ORANGE)
            mark = "s--" if retained else "o-"
            points = zip(case.numbers("workers"), case.numbers("efficiency"), strict=True)
            # A hundredth of a per cent is what a table says at least.
            shown = [(workers, max(100 * (1 - part), 0.01)) for workers, part in sorted(points)]
            axes.plot(*zip(*shown, strict=True), mark, color=colour, label=policy)
        axes.set_title(f"{title}: time without a task, %")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("workers")
    panels[1].legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return drawn


def iterations_of_ranks(table: Table, name: str = "iterations") -> dict[str, str]:
    """Return a table of the page of iterations with real messages: the first and the last."""
    lines = []
    for ranks, way in table.distinct("ranks", "way"):
        for iteration in ("1", "5"):
            row = table.where(ranks=ranks, way=way, iteration=iteration)
            cells = [*counts(row), f"{middle(row, 'balanced'):,.0f}"]
            cells.append(f"{middle(row, 'bytes') / 1e6:,.1f}")
            available = int(ranks) * middle(row, "seconds")
            for kind in ("searching_s", "waiting_s"):
                cells.append(f"{100 * middle(row, kind) / available:.3f} %")
            lines.append([f"{int(ranks):,}", way, iteration, *cells])
    heads = ["ranks", "way", "iteration", *HEADS[1:], "by the balancer", "MB"]
    return {name: markdown([*heads, "searching", "waiting"], lines)}


def by_iteration(table: Table) -> Figure:
    """Draw idle time and steals of the largest number of ranks against the iteration."""
    drawn = style.blank(8.0, 3.0)
    panels = drawn.subplots(1, 2, sharex=True)
    most = max((one for (one,) in table.distinct("ranks")), key=int)
    colours = (style.BLUE, style.GREEN, style.VERMILION)
    marks = {"": "o-", "retained": "s--", "balanced": "^:"}
    for way in WAYS:
        victims, _, beginning = way.partition(", ")
        own = table.where(ranks=most, way=way)
        at = own.numbers("iteration")
        colour = colours[POLICIES.index(victims)]
        lost = [100 * (1 - one) for one in own.numbers("efficiency")]
        panels[0].plot(at, lost, marks[beginning], color=colour, label=way)
        panels[1].plot(at, own.numbers("steals"), marks[beginning], color=colour, label=way)
    panels[0].set_title(f"time without a task, % ({int(most):,} ranks)")
    panels[1].set_title("steals")
    for axes in panels:
        axes.set_xlabel("iteration")
    panels[0].set_ylim(bottom=0)
    panels[1].set_yscale("log")
    panels[1].legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return drawn


DRAWN = (
    Drawn("stealing.csv", COLUMNS, figure=figure, tables=tables),
    Drawn("breadth.csv", COLUMNS, figure=by_workers, tables=broad),
    Drawn("held-out.csv", HELD_OUT, tables=held_out),
    Drawn("ranks.csv", RANKS, tables=of_ranks),
    Drawn("many.csv", RANKS, tables=partial(of_ranks, name="many")),
    Drawn("knowing.csv", RANKS, tables=partial(of_ranks, name="knowing")),
    Drawn("iterations.csv", Iterated._fields, tables=iterations_of_ranks),
    Drawn(
        "many-iterations.csv",
        Iterated._fields,
        figure=by_iteration,
        tables=partial(iterations_of_ranks, name="many-iterations"),
    ),
    Drawn(
        "most-iterations.csv",
        Iterated._fields,
        tables=partial(iterations_of_ranks, name="most-iterations"),
    ),
    Drawn(
        "most-others.csv",
        Iterated._fields,
        tables=partial(iterations_of_ranks, name="most-others"),
    ),
    Drawn(
        "contraction.csv",
        Iterated._fields,
        tables=partial(iterations_of_ranks, name="contraction"),
    ),
    Drawn(
        "many-contraction.csv",
        Iterated._fields,
        tables=partial(iterations_of_ranks, name="many-contraction"),
    ),
    Drawn(
        "most-contraction.csv",
        Iterated._fields,
        tables=partial(iterations_of_ranks, name="most-contraction"),
    ),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
