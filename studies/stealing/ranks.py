"""Runs phases of real messages on simulated networks: `mpi/steal` under SMPI.

    studies/stealing/run ranks
    studies/stealing/run many
    studies/stealing/run knowing

Each rank begins with a thousand tasks of `uneven`, each of which answers others every millisecond
(`tidings_steal_progress`). On the torus up to 256 ranks also run them so that none answers before
it ends. A look for messages takes no time. Of more than 1,024 ranks knowledge has a unit of 40 ms
in the table of all policies, so that it exchanges a quarter of its messages, and runs on the torus
alone; a table of its own has it at the usual unit. Runs are functions of their arguments, so as
many go on at a time as there are processors and --at-once says, none takes more than LIMIT_S of
one, and what a program has printed is kept below --kept: a table that was stopped goes on.

Exit status: 0 done, 1 a run failed, lost tasks or took longer than LIMIT_S, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from drawing.manifest import ROOT, Table, digest, replace

TASKS = 1000
"""Of a rank."""
LIMIT_S = 10_800
"""Seconds of a processor that a run may take: the table has to be made in a bounded time, and how
long it takes by a clock says nothing where others use the processors."""
MANY = 1024
"""Beyond so many ranks the unit of the gossip is longer."""
UNIT_MS, UNIT_OF_MANY_MS = 10, 40
"""The unit of the gossip, up to MANY ranks and beyond."""
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
    # The program has no variables outside its functions that change, so it needs no copy of itself
    # a rank, and its stacks are small: what a processor has to find in its caches are 4,096 ranks.
    "--cfg=smpi/privatization:no",
    "--cfg=contexts/stack-size:256",
)
ALLOCATION = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""Large pages for what is allocated: the rows of all ranks are more than small pages reach."""


T = TypeVar("T")


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
    unit_ms: int = 0
    """The unit of the gossip; 0 where there is none."""


def usual_unit_ms(victims: str, ranks: int) -> int:
    """Return the unit of the gossip among so many ranks; 0 where there is none."""
    if victims != "known":
        return 0
    return UNIT_MS if ranks <= MANY else UNIT_OF_MANY_MS


def cases(all_ranks: list[int]) -> Iterator[Case]:
    """Yield what is run for so many ranks."""
    for ranks in all_ranks:
        for network in NETWORKS:
            for victims in VICTIMS:
                unit_ms = usual_unit_ms(victims, ranks)
                if victims != "known" or network == "torus" or ranks <= MANY:
                    yield Case(network, ranks, PROGRESS_US, victims, unit_ms)
                if network == "torus" and ranks <= MOST_BETWEEN:
                    yield Case(network, ranks, 0, victims, unit_ms)


def knowing(all_ranks: list[int]) -> Iterator[Case]:
    """Yield knowledge at its usual unit among so many ranks, on the torus."""
    return (Case("torus", ranks, PROGRESS_US, "known", UNIT_MS) for ranks in all_ranks)


class Machine(NamedTuple):
    """A simulated network, by the files that smpirun reads."""

    platform: Path
    hosts: Path
    ranks: int


def machine(folder: Path, network: str, ranks: int) -> Machine:
    """Write a network of so many nodes."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Machine(folder / f"{network}-{ranks}.xml", folder / f"{network}-{ranks}.hosts", ranks)
    words = [network, "--nodes", str(ranks)]
    words += ["--output", str(made.platform), "--hosts", str(made.hosts)]
    subprocess.run([sys.executable, str(ROOT / "mpi/platforms/make.py"), *words], check=True)
    return made


def bounded() -> None:
    """Have the kernel end a process that takes too long."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))


class Program:
    """`tidings-mpi-steal` for SMPI, and what it has printed before."""

    def __init__(self, file: Path, kept: Path) -> None:
        """Take the program and the library beside it."""
        self.file, self.kept = file, kept
        built = [file, file.parent / "libtidings-applications.smpi.so"]
        self.digest = digest(b"".join(one.read_bytes() for one in built))

    def run(self, where: Machine, said: list[str]) -> str:
        """Return what it prints with these arguments; raises ValueError if it fails."""
        key = [self.digest, digest(where.platform.read_bytes()), str(where.ranks), *OPTIONS, *said]
        kept = self.kept / f"{digest(' '.join(key).encode())[:32]}.jsonl"
        if kept.exists():
            return kept.read_text(encoding="utf-8")
        command = ["smpirun", "-platform", str(where.platform), "-hostfile", str(where.hosts)]
        command += ["-n", str(where.ranks), *OPTIONS, str(self.file), *said]
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            preexec_fn=bounded,
            env={**os.environ, **ALLOCATION},
        )
        if done.returncode != 0:
            why = done.stderr[-500:] or f"more than {LIMIT_S} s of a processor?"
            raise ValueError(f"{' '.join(said)}: status {done.returncode}: {why}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace(kept, done.stdout.encode())
        return done.stdout


def words(case: Case, application: str = "") -> list[str]:
    """Return the program's arguments, for `uneven` of so many ranks or another application."""
    said = [application or f"uneven:{TASKS * case.ranks}", "--model", "--task-ns", "1000"]
    said += ["--selection", case.victims]
    if case.progress_us:
        said += ["--progress-us", str(case.progress_us)]
    if case.unit_ms:
        said += ["--unit-us", str(1000 * case.unit_ms)]
    return said


def phases(
    program: Program, where: Machine, said: list[str], tasks: int = 0
) -> list[dict[str, Any]]:
    """Run phases; raises ValueError if one fails or a task did not run once.

    There are so many tasks, or those of `uneven`.
    """
    lines = [json.loads(line) for line in program.run(where, said).splitlines()]
    tasks = tasks or TASKS * where.ranks
    for line in lines:
        if line["tasks"] != tasks:
            raise ValueError(f"{' '.join(said)}: {line['tasks']} of {tasks} tasks ran")
    return lines


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


def measured(program: Program, platforms: Path, case: Case) -> list[Row]:
    """Run a case; return its row."""
    where = machine(platforms, NETWORKS[case.network], case.ranks)
    (line,) = phases(program, where, words(case))
    return [row(case, line)]


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return the command line of a table of ranks."""
    made = argparse.ArgumentParser(description=doc)
    made.add_argument("--program", type=Path, required=True)
    made.add_argument("--platforms", type=Path, required=True)
    made.add_argument("--kept", type=Path, required=True)
    made.add_argument("--output", type=Path, required=True, help="a table")
    made.add_argument("--command", required=True, help="what makes it")
    made.add_argument("--ranks", type=int, nargs="+", required=True)
    made.add_argument("--at-once", type=int, default=len(os.sched_getaffinity(0)))
    return made


def make(
    given: argparse.Namespace,
    columns: Sequence[str],
    wanted: Iterable[T],
    measure: Callable[[Program, Path, T], Sequence[Sequence[object]]],
) -> None:
    """Measure all cases and write the table of their rows; ends the program if one fails."""
    table = Table(given.output, command=given.command)
    program = Program(given.program, given.kept)

    def rows(case: T) -> Sequence[Sequence[object]]:
        made = measure(program, given.platforms, case)
        print(*made[-1], file=sys.stderr, flush=True)
        return made

    with ThreadPoolExecutor(given.at_once) as runs:
        try:
            all_rows = [row for made in runs.map(rows, wanted) for row in made]
        except ValueError as error:
            runs.shutdown(cancel_futures=True)
            sys.exit(str(error))
    table.write_rows(columns, all_rows)


if __name__ == "__main__":
    line = parser(__doc__)
    line.add_argument("--knowing", action="store_true", help="knowledge alone, at its usual unit")
    arguments = line.parse_args()
    wanted = knowing if arguments.knowing else cases
    make(arguments, Row._fields, wanted(arguments.ranks), measured)
