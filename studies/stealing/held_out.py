"""The figures of the study with seeds that no rule was adjusted with.

    studies/stealing/run held-out

Rules of stealing were chosen by runs with the seeds 1 to 3. Here the program `steal` of
crates/steal-sim runs the same cases with others; a run is a function of its arguments.

Written are `held-out.csv`, a row for each iteration, and its manifest.

Exit status: 0 done, 1 a run failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drawing.manifest import Table

CASE = ("policy", "retain", "seed")
FOUND = ("iteration", "efficiency", "attempts", "steals", "tasks_moved")
COLUMNS = (*CASE, *FOUND)
SEEDS = (101, 102, 103, 104, 105)
POLICIES = ("random", "lifelines", "known")
WORKERS = 1024
RUN_S = 600

Case = tuple[str, str, int]


def cases() -> Iterator[Case]:
    """Yield a phase by each policy, and five iterations that are retained, with each seed."""
    for seed in SEEDS:
        yield from ((policy, "no", seed) for policy in POLICIES)
        yield ("known", "yes", seed)


def rows(case: Case, text: str) -> list[list[object]]:
    """Return the rows of a case from the lines that the program printed."""
    found: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    if not found or not all(line["complete"] and line["never"] == 0 for line in found):
        raise ValueError(f"{case}: tasks are missing")
    return [[*case, *(line[name] for name in FOUND)] for line in found]


def main() -> int:
    """Run all cases, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="the program `steal`")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    table = Table(options.output / "held-out.csv", seed=SEEDS[0])
    made: list[list[object]] = []
    for case in cases():
        words = [f"{name}={value}" for name, value in zip(CASE, case, strict=True)]
        iterations = 5 if case[1] == "yes" else 1
        command = [str(options.program), *words, f"workers={WORKERS}", f"iterations={iterations}"]
        try:
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=RUN_S
            )
            made += rows(case, done.stdout)
        except (subprocess.SubprocessError, OSError, ValueError, KeyError) as error:
            print(f"held-out: {case}: {error}", file=sys.stderr)
            return 1
        print(*case, flush=True)
    table.write_rows(COLUMNS, made)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
