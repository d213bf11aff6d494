"""Table 1's question: LAMMPS on a stock machine, with roles, and with roles under a hostile load.

    studies/noise/run lammps

The launcher stays with the system; each rank is a program in the role `application`. More ranks
than there are cores of that role share them. Settings alternate within a repetition. Written is
`lammps.csv`: the seconds of the loop over time steps, as LAMMPS states them.

Exit status: 0 done, 1 a run failed (roles are undone), 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from pathlib import Path

from drawing.manifest import Table, first_line
from machine import MachineError, Tools, application_cores, begin, load, roles, said

COLUMNS = ("repetition", "ranks", "state", "load", "seconds")
LOADS = ("idle", "hostile")
LOOP = re.compile(r"^Loop time of ([0-9.e+-]+) on ", re.MULTILINE)
MELT = Path(__file__).parent.parent / "overhead-here/melt.in"
"""The input of the study of overheads; it is run for more steps."""
STEPS = "run 500"
FEW = 2
"""Repetitions of ranks that are more than the cores for applications: they take long."""


def command(tools: Tools, ranks: int, state: str) -> list[str]:
    """Return how LAMMPS is started."""
    launch = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    enter = [str(tools.tidings), "cores", "run", "--role", "application", "--"]
    own = ["lmp", "-in", "melt.in", "-log", "none"]
    return [*launch, "-np", str(ranks), *(enter if state == "application" else []), *own]


def seconds(tools: Tools, ranks: int, state: str, folder: Path) -> float:
    """Run LAMMPS; return how long its loop took."""
    found = LOOP.search(said(command(tools, ranks, state), cwd=folder))
    if found is None:
        raise MachineError("lmp states no `Loop time`")
    return float(found[1])


def plan(ranks: list[int], kept: int, repetition: int) -> list[tuple[int, str]]:
    """Return the ranks and loads that each state has in a repetition."""
    chosen = [count for count in ranks if count <= kept or repetition <= FEW]
    return [(count, kind) for count in chosen for kind in LOADS]


def measure(options: argparse.Namespace) -> None:
    """Measure all, and write the table."""
    tools = Tools(options.tidings, options.tidings, options.c)
    table = Table(options.output / "lammps.csv", seed=1)
    kept = len(application_cores(tools))
    chance, began = random.Random(1), time.monotonic()
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory(dir=options.c) as place:
        text = MELT.read_text(encoding="ascii").replace(STEPS, f"run {options.steps}")
        (Path(place) / "melt.in").write_text(text, encoding="ascii")
        for repetition in range(1, options.repetitions + 1):
            states = ["stock", "application"]
            chance.shuffle(states)
            for state in states:
                chosen = plan(options.ranks, kept, repetition)
                chance.shuffle(chosen)
                with roles(tools, state):
                    for ranks, kind in chosen:
                        with load(tools, kind):
                            taken = seconds(tools, ranks, state, Path(place))
                        rows.append([repetition, ranks, state, kind, f"{taken:.6g}"])
                        spent = time.monotonic() - began
                        print(
                            f"{spent:5.0f} s  {state}, {kind}, {ranks}: {taken:.3f} s", flush=True
                        )
    facts = {"steps": options.steps, "application_cores": kept}
    table.write_rows(COLUMNS, rows, facts=facts, added={"lammps": first_line(["lmp", "-h"])})


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tidings", type=Path, required=True)
    parser.add_argument("--c", type=Path, required=True, help="the folder of the programs in C")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    return begin(lambda: measure(options))


if __name__ == "__main__":
    sys.exit(main())
