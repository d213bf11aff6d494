"""Runs phases of real messages on simulated networks: `mpi/steal` under SMPI.

    studies/stealing/run ranks

Each rank begins with a thousand tasks of `uneven`, each of which answers others every millisecond
(`tidings_steal_progress`). On the torus up to 256 ranks also run them so that none answers before
it ends. A look for messages takes no time, but who takes
in one of gossip waits while it is on its way. Of more than 1,024 ranks those that ask at random are
left out: they exchange a hundred times as many messages as the others; and knowledge has a unit of
40 ms there, so that it exchanges a quarter of its messages. Runs are functions of their arguments,
so as many go on at a time as there are processors, and none takes more than LIMIT_S of one.

Exit status: 0 done, 1 a run failed, lost tasks or took longer than LIMIT_S, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from drawing.manifest import ROOT, Table

TASKS = 1000
"""Of a rank."""
LIMIT_S = 3600
"""Seconds of a processor that a run may take: the table has to be made in a bounded time, and how
long it takes by a clock says nothing where others use the processors."""
MOST_RANDOM = 1024
"""The most ranks of which each asks others at random."""
UNIT_MS, UNIT_OF_MANY_MS = 10, 40
"""The unit of the gossip, up to so many ranks and beyond."""
PROGRESS_US = 1000
"""How often a task answers others."""
MOST_BETWEEN = 256
"""The most ranks of which some answer between tasks only."""
NETWORKS = {"torus": "torus", "fat tree": "fat-tree"}
VICTIMS = ("random", "lifelines", "known")
OPTIONS = (
    "--log=root.thres:error",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/grow-injected-times:no",
    "--cfg=smpi/iprobe:0",
    "--cfg=smpi/test:0",
    # It keeps all that are on their way, of all ranks, in one list, which it searches for each that
    # ends: with a thousand ranks for four fifths of its time.
    "--cfg=smpi/send-is-detached-thresh:0",
    "--cfg=smpi/wtime:0",
)


class Row(NamedTuple):
    """A phase."""

    network: str
    ranks: int
    progress_us: int
    victims: str
    seconds: str
    efficiency: str
    tasks: int
    attempts: int
    steals: int
    moved: int
    messages: int
    bytes: int


class Case(NamedTuple):
    """What a run is."""

    network: str
    ranks: int
    progress_us: int
    victims: str

    @property
    def unit_ms(self) -> int:
        """The unit of the gossip; 0 where there is none."""
        if self.victims != "known":
            return 0
        return UNIT_MS if self.ranks <= MOST_RANDOM else UNIT_OF_MANY_MS


def cases(all_ranks: list[int]) -> Iterator[Case]:
    """Yield what is run for so many ranks."""
    for ranks in all_ranks:
        for network in NETWORKS:
            for victims in VICTIMS:
                if victims != "random" or ranks <= MOST_RANDOM:
                    yield Case(network, ranks, PROGRESS_US, victims)
                if network == "torus" and ranks <= MOST_BETWEEN:
                    yield Case(network, ranks, 0, victims)


def platform(folder: Path, network: str, ranks: int) -> list[str]:
    """Write a network of so many nodes; the words of smpirun that name it."""
    folder.mkdir(parents=True, exist_ok=True)
    file, hosts = folder / f"{network}-{ranks}.xml", folder / f"{network}-{ranks}.hosts"
    words = [network, "--nodes", str(ranks), "--output", str(file), "--hosts", str(hosts)]
    subprocess.run([sys.executable, str(ROOT / "mpi/platforms/make.py"), *words], check=True)
    return ["-platform", str(file), "-hostfile", str(hosts), "-n", str(ranks)]


def bounded() -> None:
    """Have the kernel end a process that takes too long."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))


def phase(program: Path, where: list[str], case: Case) -> dict[str, Any]:
    """Run a phase; raises ValueError if it fails or a task did not run once."""
    tasks = TASKS * case.ranks
    words = [f"uneven:{tasks}", "--model", "--task-ns", "1000", "--selection", case.victims]
    if case.progress_us:
        words += ["--progress-us", str(case.progress_us)]
    if case.unit_ms:
        words += ["--unit-us", str(1000 * case.unit_ms)]
    command = ["smpirun", *where, *OPTIONS, str(program), *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, preexec_fn=bounded)
    if done.returncode != 0:
        said = done.stderr[-500:] or f"more than {LIMIT_S} s of a processor?"
        raise ValueError(f"{case}: status {done.returncode}: {said}")
    line: dict[str, Any] = json.loads(done.stdout)
    if line["tasks"] != tasks:
        raise ValueError(f"{case}: {line['tasks']} tasks ran")
    return line


def row(case: Case, line: dict[str, Any]) -> Row:
    """Return what a phase printed; steals are those that were asked for and those pushed."""
    return Row(
        network=case.network,
        ranks=line["ranks"],
        progress_us=case.progress_us,
        victims=case.victims,
        seconds=f"{line['seconds']:.4f}",
        efficiency=f"{line['efficiency']:.4f}",
        tasks=line["tasks"],
        attempts=line["attempts"],
        steals=line["steals"] + line["pushed"],
        moved=line["moved"],
        messages=line["messages"],
        bytes=line["bytes"],
    )


def measured(program: Path, platforms: Path, case: Case) -> Row:
    """Run a case; return its row."""
    where = platform(platforms, NETWORKS[case.network], case.ranks)
    made = row(case, phase(program, where, case))
    print(*made, file=sys.stderr, flush=True)
    return made


def main() -> int:
    """Measure and write the table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--platforms", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    given = parser.parse_args()
    table = Table(given.output / "ranks.csv", command="studies/stealing/run ranks")
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as runs:
        one = partial(measured, given.program, given.platforms)
        try:
            rows = list(runs.map(one, cases(given.ranks)))
        except ValueError as error:
            runs.shutdown(cancel_futures=True)
            sys.exit(str(error))
    table.write_rows(Row._fields, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
