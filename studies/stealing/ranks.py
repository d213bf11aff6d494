"""Runs phases of real messages on simulated networks: `mpi/steal` under SMPI.

    studies/stealing/run ranks

Each rank begins with a thousand tasks of `uneven`. A look for a message that was sent to a rank and
has not arrived takes 5 us of its time; one where nothing was sent takes none. Of 4,096 ranks those
that ask at random are left out: they exchange a hundred times as many messages as the others. Exit
status: 0 done, 1 a run failed, lost tasks or took longer than LIMIT_S, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from drawing.manifest import ROOT, Table

TASKS = 1000
"""Of a rank."""
LIMIT_S = 900
"""Of a run: one that takes longer ends the table, which has to be made in a bounded time."""
TIMED_OUT = 124
"""What `timeout` answers then."""
MOST_RANDOM = 1024
"""The most ranks of which each asks others at random."""
NETWORKS = {"torus": "torus", "fat tree": "fat-tree"}
VICTIMS = ("random", "lifelines", "known")
OPTIONS = (
    "--log=root.thres:error",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/grow-injected-times:no",
    "--cfg=smpi/iprobe:5e-6",
    "--cfg=smpi/test:5e-6",
    "--cfg=smpi/wtime:0",
)


class Row(NamedTuple):
    """A phase."""

    network: str
    ranks: int
    victims: str
    seconds: str
    efficiency: str
    tasks: int
    attempts: int
    steals: int
    moved: int
    messages: int
    bytes: int


def platform(folder: Path, network: str, ranks: int) -> list[str]:
    """Write a network of so many nodes; the words of smpirun that name it."""
    folder.mkdir(parents=True, exist_ok=True)
    file, hosts = folder / f"{network}-{ranks}.xml", folder / f"{network}-{ranks}.hosts"
    words = [network, "--nodes", str(ranks), "--output", str(file), "--hosts", str(hosts)]
    subprocess.run([sys.executable, str(ROOT / "mpi/platforms/make.py"), *words], check=True)
    return ["-platform", str(file), "-hostfile", str(hosts), "-n", str(ranks)]


def phase(program: Path, where: list[str], ranks: int, victims: str) -> dict[str, Any]:
    """Run a phase; exits if it fails or a task did not run once."""
    words = [f"uneven:{TASKS * ranks}", "--model", "--task-ns", "1000", "--selection", victims]
    command = ["timeout", str(LIMIT_S), "smpirun", *where, *OPTIONS, str(program), *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode == TIMED_OUT:
        sys.exit(f"{ranks} ranks, {victims}: not done after {LIMIT_S} s")
    if done.returncode != 0:
        sys.exit(f"{ranks} ranks, {victims}: status {done.returncode}: {done.stderr[-500:]}")
    line: dict[str, Any] = json.loads(done.stdout)
    if line["tasks"] != TASKS * ranks:
        sys.exit(f"{ranks} ranks, {victims}: {line['tasks']} tasks ran")
    return line


def victims_of(ranks: int) -> list[str]:
    """Return how victims are selected among so many ranks."""
    return [one for one in VICTIMS if one != "random" or ranks <= MOST_RANDOM]


def row(name: str, line: dict[str, Any], victims: str) -> Row:
    """Return what a phase printed; steals are those that were asked for and those pushed."""
    return Row(
        network=name,
        ranks=line["ranks"],
        victims=victims,
        seconds=f"{line['seconds']:.4f}",
        efficiency=f"{line['efficiency']:.4f}",
        tasks=line["tasks"],
        attempts=line["attempts"],
        steals=line["steals"] + line["pushed"],
        moved=line["moved"],
        messages=line["messages"],
        bytes=line["bytes"],
    )


def main() -> int:
    """Measure and write the table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--platforms", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    given = parser.parse_args()
    table = Table(given.output / "ranks.csv", command="studies/stealing/run ranks")
    rows = []
    for ranks in given.ranks:
        for name, network in NETWORKS.items():
            where = platform(given.platforms, network, ranks)
            rows += [
                row(name, phase(given.program, where, ranks, one), one) for one in victims_of(ranks)
            ]
    table.write_rows(Row._fields, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
