"""Launchers: how runs are started, and when their values come.

A launcher gets the wanted runs, in their order, and yields the values of each. *local* starts the
command itself, *mpirun* puts ``mpirun -n TASKS`` before it; both make one run after the other.
*slurm* is in `batch`. The words of a counter go behind the launcher's: each rank is counted.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidings.scaling.counters.library import CounterError
from tidings.scaling.stated_run import StatedRun

_GRACE_S = 5.0
"""How long a command that was asked to end may take."""


class RunError(Exception):
    """A run failed. Earlier measurements stay in the output file."""


@dataclass(frozen=True, order=True)
class Wanted:
    """One start of a command: the start's number, from 0, and the size."""

    start: int
    size: float


@dataclass(frozen=True)
class Ended:
    """A command that ended: its output, its exit code, and the seconds it took."""

    out: str
    err: str
    code: int
    seconds: float


def words_of(stated: StatedRun, size: float, counts: Path) -> list[str]:
    """Return the words of a run that follow those of its launcher."""
    try:
        counting = stated.counter.words(counts) if stated.counter else []
    except CounterError as error:
        raise RunError(str(error)) from None
    return [*counting, *stated.words(size)]


def values_of(stated: StatedRun, size: float, ended: Ended, counts: Path) -> list[float]:
    """Return the values of a run that ended: one, or one for each match of its `value`."""
    command = " ".join(stated.words(size))
    if ended.code:
        last = ended.err.strip().splitlines()[-1:] or ["no message"]
        raise RunError(f"`{command}` exited with {ended.code}: {last[0]}")
    if stated.counter:
        try:
            return [stated.counter.count(ended.err, counts)]
        except CounterError as error:
            raise RunError(f"`{command}`: {error}") from None
    if not stated.value:
        return [ended.seconds]
    found = [
        match.group(match.lastindex or 0)
        for match in re.finditer(stated.value, ended.out, re.MULTILINE)
    ]
    if not found:
        raise RunError(f"`{command}`: no `{stated.value}` in its output")
    try:
        return [float(text) for text in found]
    except ValueError:
        raise RunError(f"`{command}`: `{stated.value}` finds text that is not a number") from None


def here(
    stated: StatedRun, wanted: Sequence[Wanted], folder: Path
) -> Iterator[tuple[Wanted, list[float]]]:
    """Make runs on this machine, by mpirun or without, one after the other."""
    for one in wanted:
        with tempfile.TemporaryDirectory(prefix="tidings-scaling-") as name:
            words = words_of(stated, one.size, Path(name))
            if stated.launcher == "mpirun":
                words = [*stated.launch, "-n", str(stated.tasks_at(one.size)), *words]
            ended = _started(words, folder)
            values = values_of(stated, one.size, ended, Path(name))
        yield one, values


def _started(words: list[str], folder: Path) -> Ended:
    began = time.perf_counter()
    try:
        started = subprocess.Popen(
            words,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise RunError(f"`{words[0]}`: {error.strerror}") from None
    with started:
        try:
            out, err = started.communicate()
        except BaseException:
            _end(started)
            raise
    return Ended(out, err, started.returncode, time.perf_counter() - began)


def _end(started: subprocess.Popen[str]) -> None:
    """End a command that nobody waits for any more: a launcher ends its processes at SIGTERM."""
    started.terminate()
    try:
        started.wait(_GRACE_S)
    finally:
        started.kill()
