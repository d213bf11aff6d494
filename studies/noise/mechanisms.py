"""The table of mechanisms: which work here, and what those with a price take beside the plain path.

    studies/noise/run mechanisms

Which work is what `tidings doctor` finds by trying them; times are those of the bench of fast
paths, whose rows are medians over its repetitions. Written are `mechanisms.csv` and `paths.csv`.

Exit status: 0 done, 1 a program failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from drawing.manifest import Table
from machine import MachineError, begin

MECHANISMS = ("mechanism", "purpose", "verdict", "found", "remedy")
PATHS = ("path", "median_ns", "p99_ns", "ratio")


def findings(tidings: Path) -> list[list[object]]:
    """Return a row for each mechanism; that some do not work is no failure here."""
    words = [str(tidings), "doctor", "--json"]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)["findings"]
    except (ValueError, KeyError):
        raise MachineError(f"{' '.join(words)}: {done.stderr.strip()}") from None
    return [[one[name] or "" for name in MECHANISMS] for one in found]


def paths(text: str) -> list[list[object]]:
    """Return the rows of the table that the bench prints."""
    cells = [[cell.strip() for cell in line.strip("| \n").split("|")]
             for line in text.splitlines() if line.startswith("|")]  # fmt: skip
    rows = [own + [""] * (len(PATHS) - len(own)) for own in cells[2:]]
    if not rows:
        raise MachineError("the bench of fast paths prints no table")
    return [list(own) for own in rows]


def measure(options: argparse.Namespace) -> None:
    """Try and time all, and write both tables."""
    mechanisms = Table(options.output / "mechanisms.csv")
    times = Table(options.output / "paths.csv")
    rows = findings(options.tidings)
    timed = paths(options.paths.read_text(encoding="utf-8"))
    mechanisms.write_rows(MECHANISMS, rows)
    times.write_rows(PATHS, timed)


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tidings", type=Path, required=True)
    parser.add_argument("--paths", type=Path, required=True, help="what the bench has printed")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    return begin(lambda: measure(options))


if __name__ == "__main__":
    sys.exit(main())
