"""The programs that are compared: how each is started, and the seconds that it reports by size.

A reading is what a program says of one quantity: seconds of a message, or of a call, by bytes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from peer_statistics import interquartile_mean

Reading = dict[int, float]
Words = list[str | Path]
SIZES = [0, *(4**power for power in range(11))]
"""0 B, 1 B, 4 B, ... 1 MiB: those of tidings-mpi-characterize."""
REDUCED = SIZES[2:]
"""Those of a reduction of words of 4 B."""
REPETITIONS = 100
IMB_REPETITIONS, IMB_WINDOWS, IMB_MESSAGES = 400, 40, 64
"""Repetitions; windows of Uniband, and messages in one."""
NETPIPE_RUNS = ((1, 4096, 2000), (16384, 1 << 20, 100))
"""Its least and largest size, and messages of a trial: its clock has microseconds."""
LIMIT_S = 15.0
MIB = 1 << 20


class RunError(Exception):
    """A program failed, or printed something else than it should."""


class SlowError(Exception):
    """A program took far longer than it does on a machine that is not busy."""


class Places(NamedTuple):
    """Where programs and files of a session are."""

    mpi: Path
    """The folder with tidings-mpi-characterize."""
    imb: Path
    """The program IMB-MPI1."""
    library: Path
    """The folder in which libmpi.so.12 is Debian's MPICH."""
    calls: Path
    """libcalls.so of calls.c."""
    scratch: Path


LAUNCHERS = {
    "MPICH": ["mpiexec.mpich", "-n", "2", "-bind-to", "core"],
    "Open MPI": ["mpirun.openmpi", "-n", "2", "--bind-to", "core"],
}
"""Two ranks, each on a core of its own."""
AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")


def run(mpi: str, words: Words, variables: Mapping[str, str | Path], at: Path) -> str:
    """Run a program on two ranks; return what it prints."""
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    environment |= dict.fromkeys(AS_ROOT, "1")
    command = [*LAUNCHERS[mpi], *map(str, words)]
    started = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=at,
        env=environment,
    )
    try:
        printed, said = started.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired as error:
        started.terminate()  # so that the launcher ends its ranks
        started.communicate(timeout=LIMIT_S)
        raise SlowError(f"{' '.join(command)}: takes more than {LIMIT_S:.0f} s") from error
    if started.returncode != 0:
        raise RunError(f"{' '.join(command)}: exit code {started.returncode}: {said[-300:]}")
    return printed


def rows(text: str, test: str, variant: str) -> dict[int, list[float]]:
    """Return the samples of a test by size, without those of the warm-up; wrong data is refused."""
    found: dict[int, list[float]] = {}
    for line in text.splitlines():
        row = json.loads(line)
        if row["test"] != test or row.get("variant") != variant or "samples_s" not in row:
            continue
        if not row["valid"]:
            raise RunError(f"{test} of {row['bytes']} B: wrong data")
        samples = row["samples_s"][int(row["warmups"]) :]
        if not samples:
            raise SlowError(f"{test} of {row['bytes']} B: ranks came late to every repetition")
        found[int(row["bytes"])] = samples
    return found


def of_rows(text: str, test: str, variant: str) -> Reading:
    """Return a test as the lab reports it, but for the warm-up, which is a fixed one here."""
    samples = rows(text, test, variant)
    return {size: interquartile_mean(values) for size, values in samples.items()}


def of_imb(text: str, benchmark: str, value: Callable[[list[float]], float]) -> Reading:
    """Return the lines of one of IMB's benchmarks; `value` makes seconds of the numbers of one."""
    _, found, rest = text.partition(f"# Benchmarking {benchmark} ")
    if not found:
        raise RunError(f"IMB printed nothing of {benchmark}: {text[-300:]}")
    lines = re.findall(r"^ +\d[\d .]*$", rest.partition("# Benchmarking")[0], re.MULTILINE)
    numbers = [[float(word) for word in line.split()] for line in lines]
    return {int(line[0]): value(line) for line in numbers}


def ping_pong_s(line: list[float]) -> float:
    """Return seconds of `bytes repetitions usec Mbytes/sec`; the last has more digits, if any."""
    return line[0] / (1e6 * line[3]) if line[0] >= 1 else 1e-6 * line[2]


def uniband_s(line: list[float]) -> float:
    """Return seconds of `bytes repetitions Mbytes/sec Msg/sec`."""
    return 1 / line[3]


def allreduce_s(line: list[float]) -> float:
    """Return seconds of `bytes repetitions t_min t_max t_avg`: the mean of the slowest rank."""
    return 1e-6 * line[3]


def of_netpipe(text: str) -> Reading:
    """Return the lines of NetPIPE's file: bytes, Mbit/s with 2^20 bits in one, seconds."""
    found = {}
    for line in text.splitlines():
        size, rate, _ = line.split()
        if int(size) in SIZES:
            found[int(size)] = 8 * int(size) / (float(rate) * MIB)
    return found


def of_calls(text: str) -> Reading:
    """Return the lines of calls.c: bytes, calls, seconds."""
    return {int(size): float(took) for size, _, took in map(str.split, text.splitlines())}


class Programs:
    """The programs of a session."""

    def __init__(self, places: Places) -> None:
        """Write the sizes that IMB reads."""
        self.places = places
        for name, sizes in (("sizes", SIZES), ("reduced", REDUCED)):
            text = "".join(f"{size}\n" for size in sizes)
            (places.scratch / name).write_text(text, encoding="utf-8")

    def characterize(
        self,
        mpi: str,
        *options: str,
        below: Path | None = None,
        repetitions: int = REPETITIONS,
    ) -> str:
        """Run our program."""
        name = {"MPICH": "mpich", "Open MPI": "openmpi"}[mpi]
        program = self.places.mpi / f"tidings-mpi-characterize.{name}"
        words = [program, "--repetitions", str(repetitions), "--beyond-cache", "0", *options]
        return self._with(mpi, words, {}, below)

    def _with(
        self,
        mpi: str,
        words: Words,
        variables: dict[str, str | Path],
        below: Path | None,
    ) -> str:
        """Run a program, with a library below its ranks."""
        if below:
            words = ["-genv", "LD_PRELOAD", below, *words]
            variables = {**variables, "CALLS_FILE": self.places.scratch / "calls"}
        return run(mpi, words, variables, self.places.scratch)

    def imb(self, benchmark: str, sizes: str, repetitions: int, below: Path | None = None) -> str:
        """Run one of IMB's benchmarks, under MPICH, whose binary interface it has."""
        words: Words = [self.places.imb, benchmark, "-npmin", "2", "-msglen", sizes]
        words += ["-iter", str(repetitions), "-iter_policy", "off", "-red_data_type", "int"]
        return self._with("MPICH", words, {"LD_LIBRARY_PATH": self.places.library}, below)

    def netpipe(self, mpi: str, *options: str) -> Reading:
        """Run NetPIPE without perturbed sizes; it reports the best of 7 means."""
        program = {"MPICH": "NPmpich2", "Open MPI": "NPopenmpi"}[mpi]
        file = self.places.scratch / "np.out"
        found: Reading = {}
        for least, most, repeats in NETPIPE_RUNS:
            words: Words = [program, *options, "-p", "0", "-l", str(least), "-u", str(most)]
            run(mpi, [*words, "-n", str(repeats), "-o", file], {}, self.places.scratch)
            found |= of_netpipe(file.read_text(encoding="utf-8"))
        return found

    def calls(self) -> Reading:
        """Return what calls.c wrote of the last run."""
        return of_calls((self.places.scratch / "calls").read_text(encoding="utf-8"))
