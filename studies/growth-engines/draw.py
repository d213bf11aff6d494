"""The tables of the page, from the CSV files beside it."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path

from drawing.pages import write

SUITES = ("drawn", "held-out", "tuning")
ASKED = (
    ("leading growth exact, %", "at least 66", "all", "exact"),
    ("exponent within 1/4, %", "at least 89", "all", "near"),
    ("false alarms, %", "at most 1", "all", "alarm"),
    ("broken expectations caught, %", "at least 80", "all", "caught"),
    ("false alarms where forced to decide, %", "at most 3.5", "all", "forced_alarm"),
    ("caught where forced to decide, %", "at least 91", "all", "forced_caught"),
    ("exact with spikes, %", "at least 68", "noise:spiky", "exact"),
    (
        "exact where sizes differ as runs do, %",
        "at least 46",
        "noise:run-level",
        "exact",
    ),
    ("exact at 25 % noise, %", "at least 40", "noise:25", "exact"),
)
PERCENT = ("exact", "near", "far", "covered_4", "covered_64", "alarm", "caught")
HEADINGS = ("exact", "near", "×64", "covered ×4", "covered ×64", "alarm", "caught")


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cell(row: dict[str, str], name: str) -> str:
    """Return a share in per cent, or nothing."""
    return f"{100 * float(row[name]):.1f}" if row[name] else ""


def by_tool(rows: list[dict[str, str]]) -> str:
    """Return the tools over all cases."""
    lines = [f"| tool | cases | {' | '.join(HEADINGS)} | CPU ms |", f"|{'---|' * 10}"]
    for row in rows:
        if row["group"] == "all":
            cells = " | ".join(cell(row, name) for name in PERCENT)
            cpu = f"{float(row['cpu_ms']):.1f}"
            lines.append(f"| {row['tool']} | {row['cases']} | {cells} | {cpu} |")
    return "\n".join(lines)


def by_group(rows: list[dict[str, str]]) -> str:
    """Return the default engine by families and noise, and Extra-P's better figure beside it."""
    lines = [
        f"| group | cases | {' | '.join(HEADINGS)} | Extra-P exact | near |",
        f"|{'---|' * 11}",
    ]
    own = [row for row in rows if row["tool"] == "tidings" and row["group"] != "all"]
    for row in own:
        others = [
            other
            for other in rows
            if other["tool"].startswith("Extra-P") and other["group"] == row["group"]
        ]
        best = [
            f"{100 * max((float(other[name]) for other in others), default=0):.1f}"
            for name in ("exact", "near")
        ]
        cells = " | ".join(cell(row, name) for name in PERCENT)
        lines.append(f"| {row['group']} | {row['cases']} | {cells} | {' | '.join(best)} |")
    return "\n".join(lines)


def asked(suites: dict[str, list[dict[str, str]]]) -> str:
    """Return what was asked of the default engine, and what was measured on each suite."""
    own = {
        suite: {row["group"]: row for row in rows if row["tool"] == "tidings"}
        for suite, rows in suites.items()
    }
    lines = [f"| | asked | {' | '.join(suites)} |", f"|{'---|' * (2 + len(suites))}"]
    for what, goal, group, score in ASKED:
        cells = [cell(groups[group], score) for groups in own.values()]
        lines.append(f"| {what} | {goal} | {' | '.join(cells)} |")
    brier = [f"{float(groups['all']['brier']):.3f}" for groups in own.values()]
    lines.append(f"| Brier score | at most 0.048 | {' | '.join(brier)} |")
    covered = [_range(groups) for groups in own.values()]
    lines.append(f"| coverage by family, % | 93 to 97 | {' | '.join(covered)} |")
    return "\n".join(lines)


def _range(groups: dict[str, dict[str, str]]) -> str:
    """Return the least and the largest coverage of a family."""
    families = [row for group, row in groups.items() if group.startswith("family:")]
    found = [100 * float(row[at]) for row in families for at in ("covered_4", "covered_64")]
    return f"{min(found):.1f} to {max(found):.1f}"


def coverage(rows: list[dict[str, str]]) -> str:
    """Return the coverage of the default engine's intervals by family."""
    lines = ["| family | cases | covered ×4 | covered ×64 |", f"|{'---|' * 4}"]
    for row in rows:
        cells = f"{cell(row, 'covered_4')} | {cell(row, 'covered_64')}"
        lines.append(f"| {row['family']} | {row['cases']} | {cells} |")
    return "\n".join(lines)


def kernels(rows: list[dict[str, str]]) -> str:
    """Return what each tool made of the kernels, in numbers of kernels."""
    heading = "| tool | kernels | exact | near | alarms | caught |"
    lines = [heading, f"|{'---|' * 6}"]
    asked = [row for row in rows if row["exact"]]
    for metric in ("count", "time"):
        for tool in dict.fromkeys(row["tool"] for row in asked):
            own = [row for row in asked if (row["tool"], row["metric"]) == (tool, metric)]
            cells = [f"{tool}, by {metric}", str(len(own))]
            for score in ("exact", "near", "alarm", "caught"):
                marked = [float(row[score]) for row in own if row[score]]
                cells.append(f"{sum(marked):.0f} of {len(marked)}")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def by_kernel(rows: list[dict[str, str]]) -> str:
    """Return what both engines name of each kernel that is counted."""
    named = {
        (row["tool"], row["kernel"]): row
        for row in rows
        if row["metric"] == "count" and row["exact"]
    }
    lines = ["| kernel | growth | tidings | paper, told E |", f"|{'---|' * 4}"]
    for kernel in dict.fromkeys(kernel for _, kernel in named):
        own, other = named["tidings", kernel], named["paper, told E", kernel]
        cells = [_exactly(row) for row in (own, other)]
        lines.append(f"| {kernel} | {own['expected']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _exactly(row: dict[str, str]) -> str:
    """Return the growth that is named, marked where it is not quite the true one."""
    return row["named"] if float(row["exact"]) else f"{row['named']} ≈"


def named(rows: list[dict[str, str]]) -> str:
    """Return how much of each kind of list is named, and by Extra-P."""
    tools = ("tidings", "tidings, told", "limit", "Extra-P, mean", "Extra-P, median")
    lines = [
        f"| cases | number | {' | '.join(f'{tool}: exact | near' for tool in tools)} |",
        f"|{'---|' * (2 + 2 * len(tools))}",
    ]
    found = {(row["tool"], row["group"]): row for row in rows}
    for group in dict.fromkeys(row["group"] for row in rows):
        cells = []
        for tool in tools:
            row = found.get((tool, group))
            cells += [cell(row, name) if row else "" for name in ("exact", "near")]
        lines.append(f"| {group} | {found[tools[0], group]['cases']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cost(rows: list[dict[str, str]]) -> str:
    """Return the CPU time of a model."""
    lines = [
        "| cases | number | tidings, ms | Extra-P, ms | ratio | largest ratio of 24 |",
        f"|{'---|' * 6}",
    ]
    for row in rows:
        times = [f"{float(row[name]):.1f}" for name in ("tidings_ms", "extra_p_ms")]
        ratios = [f"{float(row[name]):.2f}" for name in ("ratio", "largest")]
        lines.append(f"| {row['group']} | {row['cases']} | {' | '.join([*times, *ratios])} |")
    return "\n".join(lines)


def start(rows: list[dict[str, str]]) -> str:
    """Return the time of a start of each program."""
    lines = ["| program | wall, s | CPU, s | beside NumPy alone: wall | CPU |", f"|{'---|' * 5}"]
    for row in rows:
        cells = [
            f"{row[f'{of}_s']} ({row[f'{of}_least_s']} to {row[f'{of}_most_s']})"
            for of in ("wall", "cpu")
        ]
        ratios = [f"{float(row[f'{of}_ratio']):.2f}" for of in ("wall", "cpu")]
        lines.append(f"| {' | '.join([row['program'], *cells, *ratios])} |")
    return "\n".join(lines)


def two(rows: list[dict[str, str]]) -> str:
    """Return scores in two parameters, the better one of Extra-P's two beside each."""
    lines = [
        "| points | noise | cases | exact | Extra-P | near | Extra-P | ×8 | Extra-P | covered "
        "| violated: true | Extra-P | broken | Extra-P | wrong or none | Extra-P |",
        f"|{'---|' * 16}",
    ]
    own = [row for row in rows if row["tool"] == "tidings"]
    for row in own:
        place = row["layout"], row["noise"]
        others = [r for r in rows if (r["layout"], r["noise"]) == place and r not in own]
        parts = [*place, row["cases"]]
        for name, best in (("exact", max), ("near", max), ("far", max)):
            parts += [
                _whole(row[name]),
                _whole(best((r[name] for r in others), key=float)),
            ]
        parts.append(_whole(row["covered"]))
        for name, best in (("alarm", min), ("caught", max)):
            parts += [
                _whole(row[name]),
                _whole(best((r[name] for r in others), key=float)),
            ]
        parts += [_whole(_wrong(row)), _whole(min(_wrong(r) for r in others))]
        lines.append(f"| {' | '.join(parts)} |")
    return "\n".join(lines)


def _wrong(row: dict[str, str]) -> float:
    """Return the share of both expectations that got a wrong verdict, or none of the broken one."""
    return (float(row["alarm"]) + 1 - float(row["caught"])) / 2


def _whole(value: object) -> str:
    return f"{100 * float(str(value)):.0f}"


def timing(rows: list[dict[str, str]]) -> str:
    """Return the verdicts on fast functions."""
    lines = [
        "| function | expected | is | holds | violated | undecided | misfit |",
        f"|{'---|' * 7}",
    ]
    names = ("function", "expected", "is", "holds", "violated", "undecided", "misfit")
    lines += [f"| {' | '.join(row[name] for name in names)} |" for row in rows]
    return "\n".join(lines)


def few(rows: list[dict[str, str]]) -> str:
    """Return verdicts by the number of sizes, noise and family."""
    lines = [
        "| sizes | true | violated, % | undecided, % | near: violated, % | broken | violated, % "
        "| holds, % |",
        f"|{'---|' * 8}",
    ]
    for row in rows:
        true, broken, near = (int(row[name]) for name in ("true", "broken", "near"))
        parts = [f"{100 * int(row[name]) / true:.1f}" for name in ("alarms", "undecided")]
        parts += [f"{100 * int(row['near_alarms']) / near:.1f}", str(broken)]
        caught = (int(row[name]) for name in ("caught", "held"))
        parts += [f"{100 * count / broken:.1f}" if broken else "" for count in caught]
        lines.append(f"| {row['sizes']} | {true} | {' | '.join(parts)} |")
    return "\n".join(lines)


def steps(rows: list[dict[str, str]]) -> str:
    """Return verdicts with and without a step."""
    lines = [
        "| step | noise | true | violated, % | misfit, % | undecided, % | broken | caught, % |",
        f"|{'---|' * 8}",
    ]
    for row in rows:
        true, broken = int(row["true"]), int(row["broken"])
        parts = [f"{100 * int(row[n]) / true:.1f}" for n in ("alarms", "misfits", "undecided")]
        parts += [str(broken), f"{100 * int(row['caught']) / broken:.1f}"]
        lines.append(f"| {row['step']} | {row['noise']} | {true} | {' | '.join(parts)} |")
    return "\n".join(lines)


def million(rows: list[dict[str, str]]) -> str:
    """Return memory and time by form."""
    lines = ["| form | rows | MiB | CPU s |", "|---|---|---|---|"]
    lines += [f"| {r['form']} | {r['rows']} | {r['mib']} | {r['cpu_s']} |" for r in rows]
    return "\n".join(lines)


MADE: dict[str, tuple[str, Callable[[list[dict[str, str]]], str]]] = {
    "scaling-named": ("named", named),
    "scaling-cost": ("cost", cost),
    "scaling-start": ("start", start),
    "scaling-coverage": ("coverage", coverage),
    "scaling-kernels": ("kernel-verdicts", kernels),
    "scaling-counts": ("kernel-verdicts", by_kernel),
    "scaling-few": ("few-sizes", few),
    "scaling-steps": ("steps", steps),
    "scaling-two": ("two-parameters", two),
    "scaling-timing": ("timing", timing),
    "scaling-rows": ("rows", million),
}
"""Tables of the page, each from one file; what has not been measured has none."""


def main() -> None:
    """Write the tables into the page."""
    page = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("README.md"))
    tables = {}
    suites = {suite: read(page.parent / f"{suite}.csv") for suite in SUITES}
    tables["scaling-asked"] = asked(suites)
    for suite, rows in suites.items():
        tables[f"scaling-{suite}"] = by_tool(rows)
        tables[f"scaling-{suite}-groups"] = by_group(rows)
    for name, (file, made) in MADE.items():
        table = page.parent / f"{file}.csv"
        if table.exists():
            tables[name] = made(read(table))
    write(page, tables)


if __name__ == "__main__":
    main()
