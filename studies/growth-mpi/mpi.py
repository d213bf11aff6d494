"""The MPI study: collective operations and the memory of communicators, as Tables 2 and 3.

    python studies/growth-mpi/mpi.py --programs target/mpi --output studies/growth-mpi

Runs the programs of mpi/scaling on the machines of machines.py, one after the other, and writes
mpi.csv, a line a value, with its manifest. draw.py makes tables of it. With --raw what
was measured is kept there, and a study that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import machines
from drawing import measured as table
from drawing.manifest import ManifestError, Table, first_line
from machines import Real, RunError, Simulated, checked, say

FUNCTIONS = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "alltoall", "bcast_all",
    "bcast_tree",
)  # fmt: skip
MESSAGE_BYTES = 128
SIMULATED_RANKS = (16, 32, 64, 128, 256, 512, 1024)
NAIVE_RANKS = (4, 8, 16, 32, 64)
REAL_RANKS = (2, 4, 6, 8, 12, 16)
MEMORY_RANKS = (2, 4, 8, 16, 32)
REPETITIONS = 10
LATE_S = 0.05
"""On this computer ranks share processors, so that nobody starts to the microsecond."""


def simulate(machine: Simulated, ranks: int, programs: Path, place: Path) -> None:
    """Measure all operations on a simulated machine: once each, virtual time is exact."""
    words = ["--file", str(place / f"{machine.label}.jsonl"), "--run", f"{ranks}"]
    words += ["--bytes", str(MESSAGE_BYTES), "--repetitions", "1", "--warmups", "1"]
    for functions in alike(machine, ranks):
        only = [word for function in functions for word in ("--only", function)]
        command = machine.command(programs, ranks, functions[0], MESSAGE_BYTES, place)
        checked([*command, *words, *only])


def alike(machine: Simulated, ranks: int) -> list[list[str]]:
    """Return the operations in groups that one run can measure: its settings are theirs."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for function in FUNCTIONS:
        settings = machine.settings(function, MESSAGE_BYTES * ranks)
        groups.setdefault(tuple(settings), []).append(function)
    return list(groups.values())


def measure(mpi: Real, ranks: int, run: int, programs: Path, place: Path) -> None:
    """Measure all operations with an MPI on this computer."""
    words = ["--file", str(place / f"{mpi.label}.jsonl"), "--run", f"{ranks}-{run}", "--sleep"]
    words += ["--bytes", str(MESSAGE_BYTES), "--repetitions", str(REPETITIONS)]
    program = str(programs / f"tidings-mpi-collectives.{mpi.flavour}")
    checked([*mpi.launcher(ranks, programs), program, *words, "--late", str(LATE_S)])


def weigh(mpi: Real, ranks: int, programs: Path, place: Path) -> None:
    """Measure the memory of an MPI and its objects."""
    program = str(programs / f"tidings-mpi-memory.{mpi.flavour}")
    checked(
        [
            *mpi.launcher(ranks, programs),
            program,
            str(place / f"{mpi.label}.jsonl"),
            f"memory-{ranks}",
        ]
    )


def study(programs: Path, place: Path, quick: bool) -> Iterator[str]:
    """Run everything; yields what was done. `quick`: five small sizes of one machine of each."""
    spread, naive = SIMULATED_RANKS, NAIVE_RANKS
    simulated: list[tuple[Simulated, tuple[int, ...]]]
    simulated = [(machine, spread) for machine in (*machines.SPREAD, *machines.PACKED)]
    simulated.append((machines.NAIVE, naive))
    runs, most = 2, None
    if quick:
        simulated, runs, most = [(machines.JUQUEEN, spread[:5])], 1, 2
    there = measured_runs(place)
    for machine, sizes in simulated:
        for ranks in sizes:
            if (machine.label, str(ranks)) not in there:
                simulate(machine, ranks, programs, place)
                yield f"{machine.label}: {ranks} ranks"
    for mpi in machines.REAL:
        for run in range(runs):
            for ranks in REAL_RANKS[:most]:
                if (mpi.label, f"{ranks}-{run}") not in there:
                    measure(mpi, ranks, run, programs, place)
                    yield f"{mpi.label}: {ranks} ranks, run {run}"
        for ranks in MEMORY_RANKS[:most]:
            if (mpi.label, f"memory-{ranks}") not in there:
                weigh(mpi, ranks, programs, place)
                yield f"{mpi.label}: memory of {ranks} ranks"


def measured_runs(place: Path) -> set[tuple[str, str]]:
    """Return machine and name of the runs that a stopped study completed; drop what others left."""
    there: set[tuple[str, str]] = set()
    for file in place.glob("*.jsonl"):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        functions: dict[str, set[str]] = {}
        for row in rows:
            functions.setdefault(row["run"], set()).add(row["function"])
        complete = {
            run for run, seen in functions.items() if seen >= set(FUNCTIONS) or "mpi" in seen
        }
        there |= {(file.stem, run) for run in complete}
        kept = [row for row in rows if row["run"] in complete]
        file.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    return there


def gathered(place: Path) -> Iterator[table.Value]:
    """Yield all values that were measured."""
    for file in sorted(place.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            names = (file.stem, row["function"], row["metric"])
            yield table.Value(*names, row["size"], row["run"], row["value"], row["unit"])


def versions() -> dict[str, str]:
    """Return which MPIs and which SimGrid there are."""
    asked = {
        "openmpi": ["mpirun.openmpi", "--version"],
        "mpich": ["mpichversion"],
        "simgrid": ["smpirun", "-version"],
    }
    return {name: first_line(command) for name, command in asked.items()}


def main() -> int:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=Path, required=True, help="what mpi/scaling/build built")
    parser.add_argument("--output", type=Path, required=True, help="folder of mpi.csv")
    parser.add_argument("--raw", type=Path, help="folder where measurements are kept")
    parser.add_argument("--quick", action="store_true", help="a few sizes of each kind of machine")
    options = parser.parse_args()
    command = "studies/growth-mpi/run" if not options.quick else "studies/growth-mpi/mpi.py --quick"
    try:
        made = Table(options.output / "mpi.csv", command=command)
    except ManifestError as error:
        print(f"mpi.py: {error}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        place = options.raw or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        noted, sources = place / "sources", f"{made.run['commit']} {made.run.get('trial', '')}\n"
        if noted.exists() and noted.read_text() != sources:
            print(f"mpi.py: {place}: measured from other sources: remove it", file=sys.stderr)
            return 1
        noted.write_text(sources)
        spent = place / "wall_s"
        before = float(spent.read_text()) if spent.exists() else 0.0
        began = time.monotonic() - before
        try:
            for done in study(options.programs, place, options.quick):
                spent.write_text(f"{time.monotonic() - began:.0f}")
                say(f"{time.monotonic() - began:6.0f} s  {done}")
        except RunError as error:
            print(f"mpi.py: {error}", file=sys.stderr)
            return 1
        values = list(gathered(place))
        wall_s = float(spent.read_text())
    made.write_rows(table.Value._fields, table.rows(values), added=versions(), wall_s=wall_s)
    return 0


if __name__ == "__main__":
    sys.exit(main())
