"""Counters of commands: the words that go before a command, and where its count is found.

callgrind and perf print their counts when the command ends; the counting library, preloaded, writes
a file for each process. If a command has several processes, ranks for example, the largest count is
used: the others wait for that process. Each counter gives words that go before the command, so that
a launcher can put them behind its own: every rank is counted alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tidings.scaling.counters import library
from tidings.scaling.counters.library import CounterError

MEMORY = ("allocations", "heap", "held", "pss")
"""Counted by the library; `held` is the heap still in use at the end."""

COUNTERS = ("callgrind", "perf", *MEMORY)

_SAID = {
    "callgrind": re.compile(r"Collected\s*:\s*([0-9]+)"),
    "perf": re.compile(r"^([0-9]+),[^,]*,instructions", re.MULTILINE),
}
_UNITS = {"heap": "B", "held": "B", "pss": "B"}


@dataclass(frozen=True)
class Counter:
    """One counter: its name, and the part that it counts.

    `toggle` is a function's name with wildcards: callgrind counts inside of it only. `marked` means
    that the command sets the library's marks, and that only the part between them counts.
    """

    name: str
    toggle: str = ""
    marked: bool = False

    @property
    def metric(self) -> str:
        """The metric that is counted, if it is not named otherwise."""
        return self.name if self.name in MEMORY else "instructions"

    @property
    def unit(self) -> str:
        """The unit of the counts; none for plain numbers."""
        return _UNITS.get(self.name, "")

    @property
    def exact(self) -> bool:
        """Whether a second run counts the same."""
        return self.name == "callgrind"

    def words(self, folder: Path) -> list[str]:
        """Return the words before the command; processes write their counts into the folder."""
        if self.name == "callgrind":
            return self._callgrind(folder)
        if self.name == "perf":
            _found("perf", "Debian: linux-perf")
            return ["perf", "stat", "-x,", "-e", "instructions:u"]
        words = ["env", _preload(library.path()), f"TIDINGS_COUNTS={folder}"]
        return [*words, "TIDINGS_COUNTS_PSS=1"] if self.name == "pss" else words

    def _callgrind(self, folder: Path) -> list[str]:
        _found("valgrind", "Debian: valgrind")
        words = ["valgrind", "--tool=callgrind"]
        if self.toggle:
            words.append(f"--toggle-collect={self.toggle}")
        if not self.marked:
            return [*words, "--callgrind-out-file=/dev/null"]
        out = f"--callgrind-out-file={folder}/callgrind.%p"
        preload = _preload(library.path(callgrind=True))
        return ["env", preload, *words, "--instr-atstart=no", out]

    def count(self, said: str, folder: Path) -> float:
        """Return the count of a command that ended; `said` is its standard error."""
        if self.name in MEMORY:
            return self._reported(folder)
        if self.marked:
            return self._between_marks(folder)
        counts = [float(found) for found in _SAID[self.name].findall(said)]
        if not counts or (self.toggle and not any(counts)):
            lines = said.strip().splitlines() or ["nothing"]
            why = f"no function is called `{self.toggle}`" if counts else lines[-1]
            raise CounterError(f"{self.name} counted no instructions here: {why}")
        return max(counts)

    def _reported(self, folder: Path) -> float:
        reports = [json.loads(path.read_text()) for path in folder.glob("*.json")]
        if self.marked:
            reports = [report for report in reports if report["marks"]]
        if not reports:
            statically = "is linked statically, or did not exit by itself"
            why = "set no marks" if self.marked else statically
            raise CounterError(f"no process reported its {self.name}: the command {why}")
        return float(max(report[self.name] for report in reports))

    def _between_marks(self, folder: Path) -> float:
        """Sum the parts that each process' marks made callgrind write."""
        counts: dict[str, int] = {}
        for path in folder.glob("callgrind.*.*"):
            process = path.name.split(".")[1]
            found = re.search(r"^totals: ([0-9]+)", path.read_text(), re.MULTILINE)
            counts[process] = counts.get(process, 0) + (int(found.group(1)) if found else 0)
        if not counts:
            raise CounterError("callgrind counted no instructions here: the command set no marks")
        return float(max(counts.values()))


def _preload(path: Path) -> str:
    """Return the setting that preloads a library before those preloaded already."""
    return " ".join([f"LD_PRELOAD={path}", *os.environ.get("LD_PRELOAD", "").split()])


def _found(program: str, package: str) -> None:
    if shutil.which(program) is None:
        raise CounterError(f"{program} is missing: install it ({package})")
