"""What the tables of real ranks show: random runs, kills, overhead and restarts."""

from __future__ import annotations

import statistics

from drawing import style
from drawing.csv_table import Table
from drawing.pages import markdown
from matplotlib.figure import Figure

RANDOM = (*("seed", "how", "ranks", "scheme", "phases", "copies", "deaths", "outside", "seconds"),)
DEATHS = (
    *("scheme", "seed", "ranks", "tasks", "task_us", "killed", "begun", "again_ms", "twice_ms"),
    *("started", "phase_ms"),
)
OVERHEAD = (
    *("scheme", "ulfm", "repetition", "pair", "ranks", "tasks", "task_us", "words"),
    *("recovered_ms", "bare_ms"),
)
RESTARTS = (
    *("scheme", "copies", "parts", "at_percent", "seed", "ranks", "tasks", "task_us", "words"),
    *("ended", "again", "computed", "seconds"),
)
SCHEMES = ("lazy", "collective", "non-collective")
WAYS = (
    *((scheme, copies, "0") for copies in ("1", "0") for scheme in SCHEMES),
    ("checkpoint", "0", "1"),
    ("checkpoint", "0", "10"),
)
TIMES = ("5", "50", "95")


def random_runs(table: Table) -> dict[str, str]:
    """Return how the random runs of each scheme ended."""
    lines = []
    for scheme in SCHEMES:
        own = table.where(scheme=scheme)
        counts = [len(own.where(how=how).rows) for how in ("exact", "refused", "wrong", "hung")]
        deaths = [f"{sum(own.numbers(column)):.0f}" for column in ("deaths", "outside")]
        lines.append([scheme, str(len(own.rows)), *deaths, *map(str, counts)])
    heads = ["scheme", "runs", "deaths", "from outside", "exact", "refused", "wrong", "hung"]
    return {"random": markdown(heads, lines)}


def known(table: Table, column: str) -> list[float]:
    """Return the values of a column, in order, where there is one."""
    return sorted(float(text) for text in (row.text(column) for row in table) if text)


def at(values: list[float], share: float) -> float:
    """Return the least value that this share of values, which are in order, is not above."""
    return values[min(len(values) - 1, int(share * len(values)))]


def deaths(table: Table) -> dict[str, str]:
    """Return how soon tasks began again after a kill."""
    lines = []
    for scheme in SCHEMES:
        own = table.where(scheme=scheme)
        cells = []
        for column in ("again_ms", "twice_ms"):
            values = known(own, column)
            shown = [statistics.median(values), at(values, 0.95), values[-1]]
            cells += [str(len(values)), *(f"{one:,.0f}" for one in shown)]
        lines.append([scheme, str(len(own.rows)), *cells])
    of = ("started again", "median", "p95", "most", "begun before", "median", "p95", "most")
    return {"deaths": markdown(["scheme", "kills", *of], lines)}


def interval(values: list[float]) -> tuple[float, float, float]:
    """Return the median of values, and its interval of 95 % by their order."""
    ordered, count = sorted(values), len(values)
    out = max(0, int(count / 2 - 0.98 * count**0.5))
    return statistics.median(ordered), ordered[out], ordered[count - 1 - out]


def over(table: Table) -> list[float]:
    """Return how much longer each recovered phase took than the bare one after it, in per cent."""
    pairs = zip(table.numbers("recovered_ms"), table.numbers("bare_ms"), strict=True)
    return [100 * (recovered / bare - 1) for recovered, bare in pairs]


def overhead(table: Table) -> dict[str, str]:
    """Return what recovery costs, beside bare phases of the same job."""
    lines = []
    for scheme in SCHEMES:
        cells = []
        for ulfm in ("0", "1"):
            middle, low, high = interval(over(table.where(scheme=scheme, ulfm=ulfm)))
            cells.append(f"{middle:+.2f} % [{low:+.2f}, {high:+.2f}]")
        lines.append([scheme, str(len(table.where(scheme=scheme, ulfm="1").rows)), *cells])
    bare = [statistics.median(table.where(ulfm=ulfm).numbers("bare_ms")) for ulfm in ("0", "1")]
    lines.append(["bare phases", str(len(table.rows)), f"{bare[0]:.1f} ms", f"{bare[1]:.1f} ms"])
    return {"overhead-of-ranks": markdown(["scheme", "pairs", "without ULFM", "with ULFM"], lines)}


def named(scheme: str, copies: str, parts: str) -> str:
    """Return what a way to survive is called."""
    if scheme == "checkpoint":
        return "begin again" if parts == "1" else f"{parts} checkpoints"
    return f"{scheme}, copies" if copies == "1" else scheme


def middle(table: Table, column: str) -> float:
    """Return the median of a column."""
    return statistics.median(known(table, column))


def restarts(table: Table) -> dict[str, str]:
    """Return how many ended tasks ran again, and for checkpoints also as computed."""
    lines = []
    for way in WAYS:
        own = table.where(scheme=way[0], copies=way[1], parts=way[2])
        cells = []
        for when in TIMES:
            case = own.where(at_percent=when)
            computed = known(case, "computed")
            also = f" ({statistics.median(computed):,.0f})" if computed else ""
            cells.append(f"{middle(case, 'again'):,.0f}{also}")
        lines.append([named(*way), *cells])
    ended = [f"{middle(table.where(at_percent=when), 'ended'):,.0f}" for when in TIMES]
    lines.append(["had ended at the kill", *ended])
    return {"restarts": markdown(["", *(f"killed at {when} %" for when in TIMES)], lines)}


def restarted(table: Table) -> Figure:
    """Draw ended tasks that ran again on real ranks against when a rank was killed."""
    drawn = style.blank(4.5, 3.0)
    axes = drawn.subplots()
    shown = (
        (("checkpoint", "0", "1"), style.VERMILION, "D-"),
        (("checkpoint", "0", "10"), style.ORANGE, "s-"),
        (("lazy", "0", "0"), style.BLUE, "o-"),
        (("non-collective", "1", "0"), style.GREEN, "^-"),
    )
    for way, colour, line in shown:
        own = table.where(scheme=way[0], copies=way[1], parts=way[2])
        values = [middle(own.where(at_percent=when), "again") for when in TIMES]
        axes.plot([int(when) for when in TIMES], values, line, color=colour, label=named(*way))
    axes.set_yscale("symlog")
    axes.set_xlabel("rank killed at, % of the tasks")
    axes.set_ylabel("ended tasks run again")
    handles, labels = axes.get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside right center")
    return drawn
