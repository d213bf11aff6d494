"""The table of measured values of a series that `tidings lab series` kept.

python -m drawing.series ROWS.jsonl TABLE.csv COMMAND [PROGRAM...]

A line for each row that has a function, a metric and a size, machine by machine. COMMAND makes the
table again; the manifest has the version of each PROGRAM. A value of the metric `steps` is exact:
it is taken of the first run only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drawing.manifest import ManifestError, Table, first_line
from drawing.measured import Value, rows

ASKED = {
    "openmpi": ["mpirun.openmpi", "--version"],
    "mpich": ["mpichversion"],
    "simgrid": ["smpirun", "-version"],
    "cc": ["cc", "--version"],
    "valgrind": ["valgrind", "--version"],
}
"""What says the version of a program."""
EXACT = "steps"
"""The metric that is the same in all runs."""
NAMED = ("program", "machine", "nodes", "ranks")
"""What rows have of the run that left them, beside its settings."""


def lines(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON Lines."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def wanted(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that the table has, machine by machine."""
    ordered = sorted(found, key=lambda row: str(row["machine"]))
    return [row for row in ordered if row["metric"] != EXACT or row["run"] == "0"]


def values(chosen: list[dict[str, Any]]) -> Iterator[Value]:
    """Yield the values of rows."""
    for row in chosen:
        names = (row["machine"], row["function"], row["metric"])
        yield Value(*names, float(row["size"]), row["run"], float(row["value"]), row["unit"])


def wall_s(source: Path, chosen: list[dict[str, Any]]) -> float:
    """Return how long the runs took that left the chosen rows of a file, by the journal beside it.

    The journal may have more: other cells, and runs that failed and were made again.
    """
    _, *runs = lines(source.with_name("runs.jsonl"))
    made = {run["index"]: run for run in runs if run["outcome"] == "ok"}
    marks = {mark(row) for row in chosen}
    took = 0.0
    for run in made.values():
        own = {name: run[name] for name in NAMED} | run["settings"]
        if any(mark(own | row) in marks for row in run["rows"]):
            took += run["wall_s"]
    return round(took, 3)


def mark(row: dict[str, Any]) -> frozenset[tuple[str, object]]:
    """Return what a row is known by: all that it has but measured numbers and the report."""
    return frozenset((name, value) for name, value in row.items() if isinstance(value, (str, int)))


def main() -> int:
    """Write what the command line asks for."""
    source, file, command, *programs = sys.argv[1:]
    try:
        made = Table(Path(file), command=command)
        chosen = wanted(lines(Path(source)))
        made.write_rows(
            Value._fields,
            rows(values(chosen)),
            added={name: first_line(ASKED[name]) for name in programs},
            wall_s=wall_s(Path(source), chosen),
        )
    except (OSError, ManifestError) as error:
        print(f"series.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
