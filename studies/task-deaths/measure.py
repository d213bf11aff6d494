"""Times from what happens to a host until a task begins elsewhere, as `tests/recovery` takes them.

    studies/task-deaths/run

The hosts, what happens to them and the moment at which a task begins are those of the tests
(`tests/recovery/times.rs`), so what is measured is what is tested. The programs are those of
TIDINGS_BIN_DIR.

Exit status: 0 done, 1 a test failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from drawing.manifest import Table, first_line

COLUMNS = ("store", "agents", "target", "fault", "number", "elsewhere_s")


# The tests of a table: those of `times.rs` with quick elections, and all others.
QUICK = "quick_elections"
TESTS = {"elsewhere": ("times::", "--skip", QUICK), "elections": (QUICK,)}


def measured(table: str, repeats: int, rows: Path) -> int:
    """Let the tests measure, and return their exit status; the rows are in a file then."""
    which, *skipped = TESTS[table]
    words = [os.environ.get("CARGO", "cargo"), "test", "--locked", "-p", "tidings-tests"]
    words += ["--test", "recovery", which, "--", "--nocapture", "--test-threads=1", *skipped]
    own = {"TIDINGS_RECOVERY_TIMES": str(repeats), "TIDINGS_RECOVERY_ROWS": str(rows)}
    return subprocess.run(words, check=False, env={**os.environ, **own}).returncode


def main() -> int:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("table", choices=sorted(TESTS))
    parser.add_argument("--repeats", type=int, default=20, help="of each case")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats: at least 1")
    table = Table(options.output / f"{options.table}.csv")
    facts: dict[str, object] = {"load_before": round(os.getloadavg()[0], 2)}
    with tempfile.TemporaryDirectory(prefix="task-deaths-") as folder:
        file = Path(folder, "rows")
        if measured(options.table, options.repeats, file) != 0:
            print("measure.py: a test failed: there is no table", file=sys.stderr)
            return 1
        rows = list(csv.reader(file.read_text("utf-8").splitlines()))
    facts["load_after"] = round(os.getloadavg()[0], 2)
    table.write_rows(COLUMNS, rows, facts=facts, added={"etcd": first_line(["etcd", "--version"])})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
