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


def lines(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON Lines."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def values(found: list[dict[str, Any]]) -> Iterator[Value]:
    """Yield the values of rows, machine by machine."""
    for row in sorted(found, key=lambda row: str(row["machine"])):
        if row["metric"] == EXACT and row["run"] != "0":
            continue
        names = (row["machine"], row["function"], row["metric"])
        yield Value(*names, float(row["size"]), row["run"], float(row["value"]), row["unit"])


def wall_s(source: Path) -> float:
    """Return how long the runs took that left the rows: all that its journal has."""
    _, *runs = lines(source.with_name("runs.jsonl"))
    return round(sum(float(run["wall_s"]) for run in runs), 3)


def main() -> int:
    """Write what the command line asks for."""
    source, file, command, *programs = sys.argv[1:]
    try:
        made = Table(Path(file), command=command)
        found = list(values(lines(Path(source))))
        versions = {name: first_line(ASKED[name]) for name in programs}
        made.write_rows(Value._fields, rows(found), added=versions, wall_s=wall_s(Path(source)))
    except (OSError, ManifestError) as error:
        print(f"series.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
