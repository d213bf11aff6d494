"""Runs: commands at several sizes, repetitions interleaved, each result a line of JSON at once.

All sizes are run once before any is run again, so that slow drifts of the machine meet every size
alike. Each line is written as soon as its run ends; a later start skips what is there already. The
value is the wall time of the command, the number that a regular expression finds in its output, or
the instructions that it executes in user mode, counted by callgrind (exact to a few, fifty times
slower) or by perf (the processor's counter, where it has one for this user).
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from pathlib import Path
from typing import TextIO

from tidings.scaling.specification import StatedRun

_COUNTING: dict[str, tuple[list[str], str]] = {
    "callgrind": (
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"],
        r"Collected\s*:\s*([0-9]+)",
    ),
    "perf": (["perf", "stat", "-x,", "-e", "instructions:u"], r"^([0-9]+),[^,]*,instructions"),
}


class RunError(Exception):
    """A run failed. What was measured before stays in the output file."""


def make(stated: StatedRun, folder: Path, progress: TextIO) -> int:
    """Make the runs that are not yet in the output file; return how many were made."""
    output = folder / stated.output
    done = _done(output, stated)
    wanted = [
        (size, repetition)
        for repetition in range(stated.repetitions)
        for size in stated.sizes
        if (size, repetition) not in done
    ]
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("a", encoding="utf-8") as file:
        for number, (size, repetition) in enumerate(wanted, 1):
            value = _one(stated, size, folder)
            row = {
                "function": stated.function,
                "metric": stated.metric,
                "parameter": stated.parameter,
                "size": size,
                "repetition": repetition,
                "value": value,
                "unit": _unit(stated),
            }
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(
                f"{stated.function} {stated.parameter}={size:g}: {value:.4g} "
                f"({number} of {len(wanted)})",
                file=progress,
            )
    return len(wanted)


def _done(output: Path, stated: StatedRun) -> set[tuple[float, int]]:
    """Return sizes and repetitions that the output file has of this function and metric."""
    if not output.exists():
        return set()
    found = set()
    for number, line in enumerate(output.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            mine = (row["function"], row["metric"]) == (stated.function, stated.metric)
            if mine:
                found.add((float(row["size"]), int(row["repetition"])))
        except (ValueError, KeyError, TypeError):
            raise RunError(f"{output}:{number}: no row of a run; move the file away") from None
    return found


def _unit(stated: StatedRun) -> str:
    if stated.counter:
        return ""
    return stated.unit if stated.value else "s"


def _counted(counter: str, said: str) -> float:
    """Return the instructions that a counter reports on standard error."""
    found = re.search(_COUNTING[counter][1], said, re.MULTILINE)
    if not found:
        last = (said.strip().splitlines() or ["nothing"])[-1]
        raise RunError(f"{counter} counted no instructions here: {last}")
    return float(found.group(1))


def _one(stated: StatedRun, size: float, folder: Path) -> float:
    """Make one run and return its value."""
    command = stated.command.replace("{size}", f"{size:.17g}")
    words = [*_COUNTING.get(stated.counter, ([], ""))[0], *shlex.split(command)]
    began = time.perf_counter()
    try:
        ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RunError(f"`{words[0]}`: {error.strerror}") from None
    seconds = time.perf_counter() - began
    if ended.returncode:
        last = ended.stderr.strip().splitlines()[-1:] or ["no message"]
        raise RunError(f"`{command}` ended with {ended.returncode}: {last[0]}")
    if stated.counter:
        return _counted(stated.counter, ended.stderr)
    if not stated.value:
        return seconds
    found = re.search(stated.value, ended.stdout, re.MULTILINE)
    if not found:
        raise RunError(f"`{command}`: no `{stated.value}` in its output")
    return float(found.group(found.lastindex or 0))
