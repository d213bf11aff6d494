"""How long does a schedule take that is done again? Pairs of a traced phase and its replay on MPI.

    studies/traces/run replay

The ranks of `tidings-mpi-steal` count a tree and fill a Fock matrix, write the trace of what they
did, and do the same again by it. The two runs of a pair follow each other, so that a change of the
machine's speed meets both; that they ran the same tasks in the same order is what their hashes say.

Written are `replay.csv`, a row for each pair, and its manifest.

Exit status: 0 done, 1 a run failed or ran in another order, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from drawing.manifest import Table
from overhead import middle

COLUMNS = ("program", "pair", "traced_s", "replayed_s", "steals", "tasks")
RANKS = 2
PROGRAMS = {"uts:T1": 30, "scf:16": 30}
"""Programs, with the pairs that take about a minute."""


class ReplayError(Exception):
    """A run that failed, or that did not do the same."""


def phase(options: argparse.Namespace, program: str, *words: str) -> dict[str, Any]:
    """Run a phase; return what it printed."""
    command = [str(options.mpirun), *options.launcher.split(), "-n", str(RANKS)]
    command += [str(options.program), program, *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise ReplayError(f"{program} {words[0]}: status {done.returncode}: {done.stderr[-500:]}")
    line: dict[str, Any] = json.loads(done.stdout)
    return line


def pair(options: argparse.Namespace, program: str, file: Path) -> tuple[Any, ...]:
    """Return the seconds of a traced phase and of its replay, its steals and its tasks."""
    traced = phase(options, program, "--trace", str(file))
    again = phase(options, program, "--replay", str(file))
    if traced["order"] != again["order"] or traced["tasks"] != again["tasks"]:
        raise ReplayError(f"{program}: order {traced['order']} was {again['order']} again")
    steals = traced["steals"] + traced["pushed"]
    return traced["seconds"], again["seconds"], steals, traced["tasks"]


def main() -> int:
    """Measure, write the table, and say what it comes to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="tidings-mpi-steal")
    parser.add_argument("--mpirun", type=Path, required=True)
    parser.add_argument("--launcher", default="--allow-run-as-root --bind-to core", help="options")
    parser.add_argument("--pairs", type=int, help="of each program")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    table = Table(options.output / "replay.csv", command="studies/traces/run replay")
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        for program, usual in PROGRAMS.items():
            ratios = []
            for number in range(1, (options.pairs or usual) + 1):
                traced, again, steals, tasks = pair(options, program, Path(folder, "trace"))
                rows.append([program, number, f"{traced:.6f}", f"{again:.6f}", steals, tasks])
                ratios.append(again / traced)
            found = "{:.3f} [{:.3f}, {:.3f}]".format(*middle(ratios))
            print(f"{program}: replayed / traced {found}, {len(ratios)} pairs", flush=True)
    table.write_rows(COLUMNS, rows)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ReplayError as error:
        print(f"replay: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
