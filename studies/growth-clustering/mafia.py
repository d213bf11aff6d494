"""The MAFIA study: four kernels of a clustering against the dimensions of a cluster, as Table 4.

    python studies/growth-clustering/mafia.py --program target/mafia --output .

Runs the program of the folder mafia for k = 3 to 16, sizes interleaved, and writes mafia.csv with
its manifest: steps that the kernels count themselves, seconds, and instructions counted by
callgrind, which makes a run some fifty times longer, so to k = 13. draw.py makes tables of it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from drawing import measured as table
from drawing.manifest import ManifestError, Table, first_line
from drawing.measured import Value
from machines import RunError, checked, say

KERNELS = ("gen", "dedup", "pcount", "unjoin")
DIMENSIONS = range(3, 17)
COUNTED_DIMENSIONS = range(3, 14)
RUNS = 3
POINTS, SPACE, CLUSTERS = 100_000, 20, 3
MACHINE = "MAFIA"


def words(k: int, points: int) -> list[str]:
    """Return the options of a run; the same seed for all, so that steps are exact."""
    numbers = {"cluster-dimensions": k, "points": points, "dimensions": SPACE, "clusters": CLUSTERS}
    return [f"--{name}={number}" for name, number in numbers.items()]


def timed(program: Path, k: int, run: int, place: Path, points: int) -> Iterator[Value]:
    """Run once; yields seconds, and in the first run steps."""
    file = place / f"{k}-{run}.jsonl"
    checked([str(program), *words(k, points), "--file", str(file)])
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["metric"] == "time" or run == 0:
            value, unit = float(row["value"]), str(row["unit"])
            yield Value(MACHINE, row["function"], row["metric"], float(k), str(run), value, unit)


def counted(program: Path, k: int, place: Path, points: int) -> Iterator[Value]:
    """Run under callgrind; yields the instructions of each kernel and what it calls."""
    file = place / f"{k}.callgrind"
    callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}"]
    checked([*callgrind, str(program), *words(k, points)])
    said = checked(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(file)])
    for kernel in KERNELS:
        found = re.search(rf"^\s*([\d,]+) .*:mafia_{kernel}\b", said, re.MULTILINE)
        if not found:
            raise RunError(f"callgrind_annotate names no mafia_{kernel} at k = {k}")
        instructions = float(found.group(1).replace(",", ""))
        yield Value(MACHINE, kernel, "instructions", float(k), "0", instructions, "")


def main() -> int:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", type=Path, required=True, help="what mafia/build built")
    parser.add_argument("--output", type=Path, required=True, help="folder of mafia.csv")
    options = parser.parse_args()
    try:
        made = Table(options.output / "mafia.csv", command="studies/growth-clustering/run")
    except ManifestError as error:
        print(f"mafia.py: {error}", file=sys.stderr)
        return 1
    began = time.monotonic()
    values: list[Value] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        try:
            for run in range(RUNS):
                for k in DIMENSIONS:
                    values += timed(options.program, k, run, place, POINTS)
                    say(f"{time.monotonic() - began:6.0f} s  k = {k}, run {run}")
            for k in COUNTED_DIMENSIONS:
                values += counted(options.program, k, place, POINTS)
                say(f"{time.monotonic() - began:6.0f} s  k = {k}, instructions")
        except RunError as error:
            print(f"mafia.py: {error}", file=sys.stderr)
            return 1
    versions = {name: first_line([name, "--version"]) for name in ("cc", "valgrind")}
    made.write_rows(Value._fields, table.rows(sorted(values)), added=versions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
