"""Traces of simulated schedules: their bytes against the number of workers.

    studies/traces/run

The program `steal` of crates/steal-sim runs each case; a run is a function of its arguments. Lists
are those of a Fock matrix and of a tensor contraction, as lists and as tasks that divide them, by
both policies.

Written are `traces.csv`, a row for each run, and its manifest.

Exit status: 0 done, 1 a run failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from drawing.manifest import Table

CASE = ("program", "order", "policy", "workers", "seed")
FOUND = (
    "executed",
    "steals",
    "trace_bytes",
    "trace_bytes_median",
    "trace_bytes_most",
    "traces_above_1024",
    "efficiency",
    "makespan_ns",
)
COLUMNS = (*CASE, *FOUND)
PROGRAMS = ("scf-box", "tce")
ORDERS = ("help-first", "work-first", "list")
WORKERS = (64, 256, 1024, 4096, 32768)
RUN_S = 1200

Case = tuple[str, str, str, int, int]


def cases(most: int) -> Iterator[Case]:
    """Yield the cases of up to that many workers."""
    for workers in (count for count in WORKERS if count <= most):
        for program in PROGRAMS:
            orders = ORDERS[:2] if workers == WORKERS[-1] else ORDERS
            yield from ((program, order, "lifelines", workers, 1) for order in orders)
            if workers == 1024:
                for policy in ("random", "known"):
                    yield from ((program, order, policy, workers, 1) for order in ORDERS[:2])


def row(case: Case, text: str) -> list[object]:
    """Return the row of a case from the line that the program printed."""
    found = json.loads(text)
    if not found["complete"]:
        raise ValueError(f"{case}: the phase was not complete")
    return [*case, *(found[name] for name in FOUND)]


def main() -> int:
    """Run all cases, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="the program `steal`")
    parser.add_argument("--most-workers", type=int, default=WORKERS[-1])
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    table = Table(options.output / "traces.csv", seed=1)
    rows = []
    for case in cases(options.most_workers):
        words = [f"{name}={value}" for name, value in zip(CASE, case, strict=True)]
        command = [str(options.program), *words]
        try:
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=RUN_S
            )
            rows.append(row(case, done.stdout))
        except (subprocess.SubprocessError, OSError, ValueError, KeyError) as error:
            print(f"traces: {case}: {error}", file=sys.stderr)
            return 1
        print(*case, flush=True)
    table.write_rows(COLUMNS, rows)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
