"""Jobs of ranks that die: how one is started, killed and read, and what its witness has noted.

A rank is killed from outside, by SIGKILL, once so many tasks of the job have begun: the witness, a
file that all ranks map (mpi/recover/witness.h), says so, and who they are. A job has a limit: who
is over it hangs, and is ended with all its processes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

MAGIC = 0x315353454E544957
RANKS = 64
HEAD = struct.Struct(f"<8Q{RANKS}q")
TASK = struct.Struct("<II")
HOPS_S = 0.0002
"""Between two looks at a witness."""

Line = dict[str, Any]


class Head(NamedTuple):
    """What a witness has noted; times in nanoseconds of the monotonic clock, 0 for none."""

    tasks: int
    begun: int
    killed: int
    killed_ns: int
    again_ns: int
    twice_ns: int
    left: int
    pids: tuple[int, ...]


class Witness:
    """A file in which ranks note their tasks; it need not be there yet."""

    def __init__(self, path: Path) -> None:
        """Look at this file from now on."""
        self.path = path
        self._map: mmap.mmap | None = None

    def _mapped(self) -> mmap.mmap | None:
        if self._map is None:
            with contextlib.suppress(OSError, ValueError), self.path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                if len(mapped) >= HEAD.size:
                    self._map = mapped
        return self._map

    def head(self) -> Head | None:
        """Return what it has noted, if a rank has opened it."""
        mapped = self._mapped()
        if mapped is None:
            return None
        magic, *rest = HEAD.unpack_from(mapped)
        return Head(*rest[:7], tuple(rest[7:])) if magic == MAGIC else None

    def tasks(self) -> list[tuple[int, int]]:
        """Return how often each task has begun, and ended."""
        mapped = self._mapped()
        return list(TASK.iter_unpack(mapped[HEAD.size :])) if mapped else []

    def __enter__(self) -> Witness:
        """Do nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        if self._map is not None:
            self._map.close()


class Kill(NamedTuple):
    """A death: of which rank, when so many tasks of the job have begun, and how long after."""

    rank: int
    begun: int
    after_s: float = 0.0


class Ended(NamedTuple):
    """How a job ended: with which status, None if it hung; what it said; who was killed when."""

    status: int | None
    lines: list[Line]
    said: str
    killed: list[tuple[int, int]]
    """Ranks that were killed from outside, and when."""
    head: Head | None
    tasks: list[tuple[int, int]]
    seconds: float


def lines_of(text: str) -> list[Line]:
    """Return the lines of JSON in what a program printed."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def end_all(process: subprocess.Popen[bytes]) -> None:
    """End a job with all its ranks: they have groups of their own, and its session."""
    for pid in [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]:
        with contextlib.suppress(ProcessLookupError):
            if is_of_job(pid, process.pid):
                os.kill(pid, signal.SIGKILL)
    process.wait()


def is_of_job(pid: int, session: int) -> bool:
    """Return whether a process is in the session of a job; a number is soon another's."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return int(stat.rpartition(")")[2].split()[3]) == session


class Job:
    """A job that runs."""

    def __init__(self, command: Sequence[str], witness: Path, folder: Path) -> None:
        """Start it; its folder is for what it prints, and for what Open MPI keeps."""
        self.folder, self.witness = folder, Witness(witness)
        self.output, self.errors = folder / "output", folder / "errors"
        with self.output.open("wb") as output, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command,
                stdout=output,
                stderr=errors,
                stdin=subprocess.DEVNULL,
                cwd=folder,
                env={**os.environ, "TMPDIR": str(folder)},
                start_new_session=True,
            )
        self.began_s = time.monotonic()

    def is_over(self, until_s: float) -> bool:
        """Return whether it has ended, or is to be ended."""
        return self.process.poll() is not None or time.monotonic() > until_s

    def await_begun(self, begun: int, until_s: float) -> bool:
        """Wait until so many tasks have begun; false if the job ends before."""
        while not self.is_over(until_s):
            head = self.witness.head()
            if head and head.begun >= begun:
                return True
            time.sleep(HOPS_S)
        return False

    def kill(self, kill: Kill, until_s: float) -> int | None:
        """Kill a rank when its time has come; when that was, None if the job was faster."""
        if not self.await_begun(kill.begun, until_s):
            return None
        time.sleep(kill.after_s)
        head = self.witness.head()
        # Who has left the last phase has nothing that could be lost.
        if not head or head.left or not is_of_job(head.pids[kill.rank], self.process.pid):
            return None
        now_ns = time.monotonic_ns()
        os.kill(head.pids[kill.rank], signal.SIGKILL)
        return now_ns

    def end(self, kills: Sequence[Kill], limit_s: float) -> Ended:
        """Kill those, in order, and wait for its end."""
        until_s = self.began_s + limit_s
        killed = []
        for kill in kills:
            when_ns = self.kill(kill, until_s)
            if when_ns is not None:
                killed.append((kill.rank, when_ns))
        status: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self.process.wait(max(0.0, until_s - time.monotonic()))
        head = self.witness.head()
        if status is None:
            end_all(self.process)
        printed = self.output.read_text(encoding="utf-8", errors="replace")
        said = printed + self.errors.read_text(encoding="utf-8", errors="replace")
        seconds = time.monotonic() - self.began_s
        return Ended(status, lines_of(printed), said, killed, head, self.witness.tasks(), seconds)


class Launcher(NamedTuple):
    """How jobs are started: the words before the program, but for the ranks, and the program."""

    words: tuple[str, ...]
    program: str

    def command(self, ranks: int, words: Sequence[str]) -> list[str]:
        """Return the command of so many ranks with these words."""
        return [*self.words, "-n", str(ranks), self.program, *words]

    def run(
        self, ranks: int, words: Sequence[str], kills: Sequence[Kill] = (), limit_s: float = 60
    ) -> Ended:
        """Run a job to its end in a folder of its own."""
        with tempfile.TemporaryDirectory() as name:
            witness = Path(name) / "witness"
            command = self.command(ranks, [*words, "--witness", str(witness)])
            job = Job(command, witness, Path(name))
            with job.witness:
                return job.end(kills, limit_s)


def plain(mpirun: str, program: str) -> Launcher:
    """Return a launcher of Open MPI 5 whose job ends with the first of its ranks."""
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    # A job has a folder of its own.
    found = [str(Path(shutil.which(one) or one).absolute()) for one in (mpirun, program)]
    return Launcher((found[0], "--map-by", "slot:oversubscribe"), found[1])


def surviving(mpirun: str, program: str) -> Launcher:
    """Return a launcher of Open MPI 5 whose ranks survive the deaths of others."""
    own = plain(mpirun, program)
    ulfm = ("--with-ft", "ulfm", "--mca", "async_mpi_finalize", "1")
    return own._replace(words=(*own.words, *ulfm))


def options(doc: str | None) -> argparse.ArgumentParser:
    """Return what each program that measures ranks takes; its first line says what it does."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n", 1)[0])
    parser.add_argument("--mpirun", required=True, help="the launcher of Open MPI 5")
    parser.add_argument("--program", required=True, help="what mpi/recover/build has built")
    parser.add_argument("--output", type=Path, help="write the table into this folder")
    return parser
