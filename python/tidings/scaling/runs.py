"""Runs: commands at several sizes, repetitions interleaved, each result written at once.

All sizes are run once before any is run again, so that slow drifts of the machine affect every size
alike. Each line is written as soon as its run ends; a later start skips lines that are there
already, so the runs may be stopped at any time. Lines name their command, so results of another
command are not mistaken for them; one process at a time adds to a file. The value is the wall time
of the command, the match of a regular expression in its output, or the count of a counter
(`counters.commands`). If a command prints several values, they are of one run and share its name.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tidings.scaling.launchers import RunError, Wanted, here
from tidings.scaling.stated_run import StatedRun

__all__ = ["RunError", "make"]


def make(stated: StatedRun, folder: Path, progress: TextIO, anew: bool = False) -> int:
    """Make the runs that are not yet in the output file; return how many were made.

    With `anew` the rows of this function, metric and sizes are removed first.
    """
    output = folder / stated.output
    output.parent.mkdir(parents=True, exist_ok=True)
    with _appended(output) as file:
        done = _done(output, stated, anew)
        wanted = [
            Wanted(start, size)
            for start in range(stated.repetitions)
            for size in stated.sizes
            if (start, size) not in done
        ]
        if not wanted:
            print(f"{stated.function}: all {len(done)} runs are in {output}", file=progress)
            return 0
        began = time.monotonic()
        for number, (one, values) in enumerate(_results(stated, wanted, folder), 1):
            _must_be_usable(stated, one, values)
            file.write("".join(json.dumps(row) + "\n" for row in _rows(stated, one, values)))
            file.flush()
            left = (time.monotonic() - began) / number * (len(wanted) - number)
            print(
                f"{stated.function} {stated.parameter}={one.size:g}: {_said(values)} "
                f"({number} of {len(wanted)}{_rest(left)})",
                file=progress,
                flush=True,
            )
    return len(wanted)


@contextmanager
def _appended(output: Path) -> Iterator[TextIO]:
    """Open a file to add rows; if none comes, no empty file is left, which a check could not read.

    The first process locks it. On a file system without locks there is no lock.
    """
    with output.open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_there = output.exists() and os.path.samestat(os.fstat(file.fileno()), output.stat())
        except BlockingIOError:
            is_there = False
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK):
                raise
            is_there = True
        if not is_there:  # or the previous holder has just removed it
            raise RunError(f"{output}: another run is adding to it; wait until it ends")
        try:
            yield file
        finally:
            if output.exists() and output.stat().st_size == 0:
                output.unlink()


def _must_be_usable(stated: StatedRun, one: Wanted, values: list[float]) -> None:
    """Reject values that a check would reject, before they count as measured."""
    for value in values:
        if not 0 < value < math.inf:
            raise RunError(
                f"{stated.function} at {stated.parameter}={one.size:g} gave {value:g}, not a "
                "positive number: it is not kept; fix what prints it, or omit the size"
            )


def _results(
    stated: StatedRun, wanted: list[Wanted], folder: Path
) -> Iterator[tuple[Wanted, list[float]]]:
    if stated.launcher != "slurm":
        return here(stated, wanted, folder)
    from tidings.scaling.batch import jobs

    return jobs(stated, wanted, folder)


def _rows(stated: StatedRun, one: Wanted, values: list[float]) -> list[dict[str, Any]]:
    """Return a row for each value; several values of one run share its name."""
    row = {
        "function": stated.function,
        "metric": stated.metric,
        "command": stated.template,
        "parameter": stated.parameter,
        "size": one.size,
        "start": one.start,
        "unit": stated.unit,
    }
    if len(values) == 1:
        return [{**row, "repetition": one.start, "value": values[0]}]
    run = f"{one.size:g}.{one.start}"
    return [
        {**row, "run": run, "repetition": number, "value": value}
        for number, value in enumerate(values)
    ]


def _said(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.4g}"
    return f"{len(values)} values, {min(values):.4g} to {max(values):.4g}"


def _rest(seconds: float) -> str:
    """Return about how long the rest takes, if that is long."""
    if seconds < 10:
        return ""
    return f", {seconds:.0f} s left" if seconds < 120 else f", {seconds / 60:.0f} min left"


def _done(output: Path, stated: StatedRun, anew: bool) -> set[tuple[int, float]]:
    """Return the starts and sizes that the output file has; with `anew`, remove them."""
    content = output.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(output, len(whole))  # a row that was being written when its writer was killed
    lines = whole.decode(errors="replace").splitlines()
    mine = [_start_of(line, f"{output}:{at}", stated, anew) for at, line in enumerate(lines, 1)]
    if anew and any(mine):
        kept = [line for line, start in zip(lines, mine) if not start]
        output.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
    return set() if anew else {start for start in mine if start}


def _start_of(line: str, place: str, stated: StatedRun, anew: bool) -> tuple[int, float] | None:
    """Return start and size of a row, or None where it is of another function, metric or size."""
    try:
        row = json.loads(line)
        size = float(row["size"])
        named = (row["function"], row["metric"]) == (stated.function, stated.metric)
        if not named or size not in stated.sizes:
            return None
        command = str(row.get("command", stated.template))
        start = int(row["start"] if "start" in row else row["repetition"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RunError(f"{place}: not a row of a run; move the file away") from None
    if command != stated.template and not anew:
        raise RunError(
            f"{place}: {stated.function} at {stated.parameter}={size:g} was measured by another "
            f"command, `{command}`: `run --anew` measures it again"
        )
    return start, size
