"""What the simulation's costs are, from a measured table: words NAME=MICROSECONDS.

    python studies/weak-scaling/costs.py FOLDER hosts|dataflow

Exit status: 0 done, 1 there is no such table, 2 wrong arguments.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

from drawing.csv_table import Table

COLUMNS = ("workers", "task_ms", "tasks", "seconds", "holder_us")
LENGTH_MS = 50


def costs(folder: Path, name: str) -> dict[str, float]:
    """Return the costs, in microseconds: two of a busy holder, and what one worker's tasks took."""
    table = Table.read(folder / f"{name}.csv", COLUMNS)
    facts = json.loads((folder / f"{name}.manifest.json").read_text("utf-8"))["facts"]
    alone = table.where(workers="1", task_ms=str(LENGTH_MS))
    each = median(
        1e6 * seconds / tasks
        for seconds, tasks in zip(alone.numbers("seconds"), alone.numbers("tasks"), strict=True)
    )
    return {
        "TASK_US": float(facts["task_us"]),
        "WORKER_SECOND_US": float(facts["worker_second_us"]),
        "COMMIT_US": float(facts["commit_us"]),
        "ALONE_US": median(alone.numbers("holder_us")),
        "EACH_US": each,
    }


def main() -> int:
    """Print the words."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        found = costs(Path(sys.argv[1]), sys.argv[2])
    except OSError as error:
        print(f"costs.py: {error}: measure the part `{sys.argv[2]}` first", file=sys.stderr)
        return 1
    print(" ".join(f"{name}={value:.1f}" for name, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
