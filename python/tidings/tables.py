"""The tables of studies, written into their pages from their CSV files.

``python -m tidings.tables KIND TABLE.csv --into PAGE.md`` replaces what stands between the lines
``<!-- table: NAME -->`` and ``<!-- end -->`` of the page, for each table of that kind; all else is
left as it is. Exit codes: 0 written, 1 the page cannot be written, 2 wrong arguments, a table that
is none, or a page without a place for it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tidings import reproduction
from tidings.csv_table import Row, Table, TableError

END = "<!-- end -->"

# Ages are as before when these many looks are older by no more than this on average: as in
# studies/faults/starved.rs.
TOGETHER, AS_BEFORE = 5, 1.1


def markdown(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    rows = [heading, ["---"] * len(heading), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _rounded(number: float, digits: int, unit: str = "") -> str:
    return "-" if math.isnan(number) else f"{number:.{digits}f}{unit}"


def figure2(table: Table) -> dict[str, str]:
    """Return the ages by nodes and window, and those beside an independent simulation."""
    windows = [window for (window,) in table.distinct("window_percent")]
    grid = [
        [nodes, *(_rounded(age, 2) for age in table.where(nodes=nodes).numbers("age_avg_units"))]
        for (nodes,) in table.distinct("nodes")
    ]
    beside = [
        [
            row.text("nodes"),
            f"{row.text('window_percent')} %",
            _rounded(row.number("age_avg_units"), 2),
            f"{row.number('age_avg_expected_units'):g}",
            f"{row.number('deviation_percent'):+.2f} %",
            _rounded(row.number("age_max_units"), 1),
            _rounded(row.number("age_max_expected_units"), 1),
            _rounded(row.number("age_p99_units"), 1),
        ]
        for row in table
        if row.text("age_avg_expected_units")
    ]
    names = ["nodes", "window", "average", "expected", "deviation", "oldest", "expected", "99 %"]
    return {
        "figure2": markdown(["nodes", *(f"{window} %" for window in windows)], grid),
        "figure2-beside": markdown(names, beside),
    }


def ages(table: Table) -> dict[str, str]:
    """Return the slides' intervals in full, and the averages at all intervals."""
    slides = [
        [
            f"{row.text('interval_ms')} ms",
            row.text("nodes"),
            f"{_rounded(row.number('age_avg_s'), 2)} s",
            f"{row.text('age_avg_said_s').replace('-', ' to ')} s",
            f"{_rounded(row.number('age_p99_s'), 1)} s",
            f"{_rounded(row.number('age_max_s'), 1)} s",
        ]
        for (interval,) in table.distinct("interval_ms")
        for row in table.where(interval_ms=interval)
        if row.text("age_avg_said_s")
    ]
    averages = [
        [nodes, *(f"{1e3 * age:,.0f}" for age in table.where(nodes=nodes).numbers("age_avg_s"))]
        for (nodes,) in table.distinct("nodes")
    ]
    intervals = [f"{interval} ms" for (interval,) in table.distinct("interval_ms")]
    names = ["interval", "nodes", "average", "the slides", "99 % of all", "oldest of a node"]
    return {
        "ages": markdown(names, slides),
        "ages-averages": markdown(["nodes", *intervals], averages),
    }


def failures(table: Table) -> dict[str, str]:
    """Return what loss does, and what dead nodes do."""
    lost = [row for row in table if row.number("crashed_percent") == 0]
    dead = [row for row in table if row.number("crashed_percent") > 0]
    common = ["strategy", "nodes"]
    figures = ["average", "99 %", "oldest", "heard of", "younger than 20"]
    whole = [*common, "lost", *figures, "older than the threshold"]
    times = ["threshold", "noticed, mean of pairs", "everywhere, mean", "everywhere, longest"]
    loss = [
        [*_cells(row, "loss_percent"), f"{row.number('older_share'):.1e}".replace("nan", "-")]
        for row in lost
    ]
    crash = [
        [
            *_cells(row, "crashed_percent"),
            *(
                _rounded(row.number(column), 1)
                for column in (
                    "threshold_units",
                    "noticed_avg_units",
                    "noticed_everywhere_avg_units",
                    "noticed_everywhere_max_units",
                )
            ),
        ]
        for row in dead
    ]
    return {
        "failures-loss": markdown(whole, loss),
        "failures-crash": markdown([*common, "crashed", *figures, *times], crash),
    }


def _cells(row: Row, fault: str) -> list[str]:
    return [
        row.text("strategy"),
        row.text("nodes"),
        f"{row.text(fault)} %",
        _rounded(row.number("age_avg_units"), 2),
        _rounded(row.number("age_p99_units"), 1),
        _rounded(row.number("age_max_units"), 1),
        _rounded(100 * row.number("heard_share"), 3, " %"),
        _rounded(100 * row.number("fresh_share"), 1, " %"),
    ]


def busy(table: Table) -> dict[str, str]:
    """Return the cost of a unit and its share at each interval, one table."""
    intervals = [interval for (interval,) in table.distinct("interval_ms")]
    settings = table.distinct("entry_bytes", "datagram_bytes", "nodes")
    lines = []
    for entry, datagram, nodes in settings:
        rows = table.where(entry_bytes=entry, datagram_bytes=datagram, nodes=nodes)
        first = rows.rows[0]
        costs = [_rounded(first.number(column), 0) for column in ("send_us", "receive_us")]
        lines.append([entry, datagram, nodes, *costs, *(_share(row) for row in rows)])
    names = ["entry, B", "datagram, B", "nodes", "out, µs", "in, µs"]
    return {"busy": markdown([*names, *(f"{interval} ms" for interval in intervals)], lines)}


def _share(row: Row) -> str:
    share = 100 * row.number("busy_share")
    text = f"{share:.2g} %" if share < 10 else f"{share:.0f} %"
    return text if row.text("possible") == "yes" else f"**{text}**"


def strategies(table: Table) -> dict[str, str]:
    """Return a line for each case, with average, 99 % and oldest of each strategy."""
    names = [strategy for (strategy,) in table.distinct("strategy")]
    case = ("nodes", "window_percent", "loss", "dead_percent", "clock_error_ms")
    lines = []
    for cells in table.distinct(*case):
        nodes, window, loss, dead, clock = cells
        rows = table.where(**dict(zip(case, cells, strict=True)))
        found = {row.text("strategy"): row for row in rows}
        hour = float(clock) >= 3_600_000
        lines.append(
            [
                nodes,
                f"{window} %",
                f"{100 * float(loss):g} %",
                f"{dead} %",
                "any" if hour else f"{clock} ms",
                *(_ages(found[name]) if name in found else "-" for name in names),
            ]
        )
    heading = ["nodes", "window", "lost", "dead", "clocks", *names]
    return {"strategies": markdown(heading, lines)}


def _ages(row: Row) -> str:
    columns = (("age_avg_units", 2), ("age_p99_units", 1), ("age_max_units", 1))
    return " / ".join(_rounded(row.number(column), digits) for column, digits in columns)


def deaths(table: Table) -> dict[str, str]:
    """Return how soon simulated kills were known, a line for each case."""
    lines = [
        [
            row.text("strategy"),
            row.text("host"),
            f"{row.text('loss_percent')} %",
            *(_seconds(row.number(column)) for column in ("half_ms", "all_ms", "all_worst_ms")),
            row.text("false_deaths"),
        ]
        for row in table
    ]
    names = ["strategy", "host", "lost", "half, median", "all, median", "all, worst", "false"]
    return {"deaths": markdown(names, lines)}


def deaths_agents(table: Table) -> dict[str, str]:
    """Return how soon kills of real agents were known, a line for each loss."""
    lines = []
    for (loss,) in table.distinct("loss_percent"):
        rows = table.where(loss_percent=loss)
        half, everybody = rows.numbers("half_ms"), rows.numbers("all_ms")
        lines.append(
            [
                f"{loss} %",
                str(len(everybody)),
                *(_seconds(_median(values)) for values in (half, everybody)),
                *(_seconds(max(values)) for values in (half, everybody)),
            ]
        )
    names = ["lost", "kills", "half, median", "all, median", "half, worst", "all, worst"]
    return {"deaths-agents": markdown(names, lines)}


def starved(table: Table) -> dict[str, str]:
    """Return the ages before, with and after the quota, a line for each number of agents."""
    lines = []
    for (agents,) in table.distinct("agents"):
        before, under, after = (
            table.where(agents=agents, phase=phase) for phase in ("before", "starved", "after")
        )
        averages = [_mean(rows.numbers("age_avg_ms")) for rows in (before, under)]
        oldest = [max(rows.numbers("age_max_ms")) for rows in (before, under)]
        estranged = max(under.numbers("estranged_pairs"))
        last, together = after.rows[-1], after.rows[-TOGETHER:]
        usual = _mean([row.number("age_avg_ms") for row in together]) <= AS_BEFORE * averages[0]
        none = all(row.number("estranged_pairs") == 0 for row in together)
        in_vain = "" if usual and none else "not in "
        lines.append(
            [
                agents,
                *(_seconds(age) for age in averages),
                f"{averages[1] / averages[0]:.2f}",
                *(_seconds(age) for age in oldest),
                f"{oldest[1] / oldest[0]:.2f}",
                f"{estranged:.0f}",
                f"{in_vain}{last.number('time_s'):.1f} s",
            ]
        )
    names = ["agents", "average before", "starved", "ratio", "oldest before", "starved", "ratio"]
    return {"starved": markdown([*names, "pairs estranged", "as before after"], lines)}


def overhead(table: Table) -> dict[str, str]:
    """Return a line for each arm of a campaign, and Table 1's grid for each application."""
    lines = [
        [
            row.text("application"),
            row.text("nodes"),
            _arm(row),
            f"{row.text('pairs')} ({row.text('contaminated')})",
            f"{row.number('seconds'):.4g} s",
            _slowdown(row),
            f"{_percent(row.number('slowdown_low'))} to {_percent(row.number('slowdown_high'))} %",
            _percent(row.number("mpi_share"), 1),
            _percent(row.number("busy_share")),
            "" if math.isnan(age := row.number("age_avg_ms")) else _seconds(age),
        ]
        for row in table
    ]
    names = ["application", "nodes", "arm", "pairs (dropped)", "time", "slowdown", "95 % interval"]
    return {
        "overhead": markdown([*names, "MPI, %", "busy, %", "age"], lines),
        "slowdown-grid": "\n\n".join(_grid(table, *key) for key in _grids(table)),
    }


def _grids(table: Table) -> list[tuple[str, ...]]:
    return table.where(arm="gossip").distinct("application", "nodes", "entry_bytes")


def _grid(table: Table, application: str, nodes: str, entry: str) -> str:
    """Return slowdowns in the form of the paper's Table 1: a row an interval, a column a window."""
    own = table.where(application=application, nodes=nodes, entry_bytes=entry, arm="gossip")
    windows = [window for (window,) in own.distinct("window")]
    intervals = sorted({row.number("interval_ms") for row in own}, reverse=True)
    cells = {(row.number("interval_ms"), row.text("window")): row for row in own}
    lines = [
        [
            f"{interval:g} ms",
            *(
                _slowdown(cells[interval, window]) if (interval, window) in cells else "—"
                for window in windows
            ),
        ]
        for interval in intervals
    ]
    heading = f"{application}, {nodes} nodes, entries of {entry} B"
    return markdown([heading, *windows], lines)


def _arm(row: Row) -> str:
    name = row.text("arm")
    if name == "gossip":
        window = f"{row.text('window')} of {row.text('entry_bytes')} B"
        name = f"gossip, {row.number('interval_ms'):g} ms, {window}"
    return f"{name} (baseline)" if row.text("verdict") == "baseline" else name


def _slowdown(row: Row) -> str:
    """Return the slowdown where it may be told, else how large it can be."""
    verdict = row.text("verdict")
    if verdict == "baseline":
        return "A/A pairs"
    if verdict in ("slower", "faster"):
        return f"**{_percent(row.number('slowdown'))} %**"
    if verdict == "too few pairs":
        return verdict
    return f"≤ {_percent(max(row.number('slowdown_high'), row.number('floor')))} %"


def _percent(share: float, digits: int = 2) -> str:
    return "" if math.isnan(share) else f"{100 * share:.{digits}f}"


def _seconds(milliseconds: float) -> str:
    return _rounded(milliseconds / 1e3, 2, " s")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


ARMS = (
    "application",
    "nodes",
    "arm",
    "interval_ms",
    "window",
    "entry_bytes",
    "pairs",
    "contaminated",
    "seconds",
    "slowdown",
    "slowdown_low",
    "slowdown_high",
    "floor",
    "verdict",
    "mpi_share",
    "busy_share",
    "age_avg_ms",
)
KINDS: dict[str, tuple[tuple[str, ...], Callable[[Table], dict[str, str]]]] = {
    "figure2": (("nodes", "window_percent", "age_avg_units", "deviation_percent"), figure2),
    "ages": (("nodes", "interval_ms", "age_avg_s", "age_avg_said_s"), ages),
    "failures": (("strategy", "loss_percent", "crashed_percent", "older_share"), failures),
    "busy": (("nodes", "entry_bytes", "datagram_bytes", "busy_share", "possible"), busy),
    "deaths": (("strategy", "host", "loss_percent", "half_ms", "false_deaths"), deaths),
    "deaths-agents": (("loss_percent", "half_ms", "all_ms"), deaths_agents),
    "starved": (("agents", "phase", "time_s", "age_avg_ms", "estranged_pairs"), starved),
    "overhead": (ARMS, overhead),
    "reproduction": (reproduction.COLUMNS, reproduction.tables),
    "strategies": (("strategy", "nodes", "loss", "dead_percent", "clock_error_ms"), strategies),
}


def insert(page: str, tables: dict[str, str]) -> str:
    """Return the page with each table in its place; ``TableError`` if it has no place for one."""
    for name, text in tables.items():
        begin = f"<!-- table: {name} -->\n"
        before, found, rest = page.partition(begin)
        _, ended, after = rest.partition(END)
        if not found or not ended or begin in after:
            raise TableError(f"the page needs one `{begin.strip()}` with an `{END}` below it")
        page = f"{before}{begin}\n{text}\n{END}{after}"
    return page


def main(arguments: Sequence[str] | None = None) -> int:
    """Write what the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tidings.tables", description=__doc__)
    parser.add_argument("kind", choices=sorted(KINDS), help="what the table holds")
    parser.add_argument("table", type=Path, help="the CSV file")
    parser.add_argument("--into", type=Path, required=True, help="the page to change")
    options = parser.parse_args(arguments)
    columns, tables = KINDS[options.kind]
    try:
        made = tables(Table.read(options.table, columns))
        page = options.into.read_text(encoding="utf-8")
        options.into.write_text(insert(page, made), encoding="utf-8")
    except TableError as error:
        print(f"tidings.tables: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"tidings.tables: {options.into}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
