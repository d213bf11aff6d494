"""What is asked of each system: to start, to do calls, to be hurt, to stop."""

from __future__ import annotations

import abc
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import calls
from processes import Crew


@dataclass(frozen=True)
class Call:
    """A function of :mod:`calls` with all arguments but the number; the same as a command."""

    name: str
    words: tuple[str, ...] = ()

    @property
    def function(self) -> Callable[[int], int]:
        """Return it for systems that call functions."""
        whole: Callable[..., int] = getattr(calls, self.name)
        if self.name == "line":
            file, seconds = self.words
            return functools.partial(whole, file, float(seconds))
        return whole

    @property
    def command(self) -> list[str]:
        """Return it for systems that start programs: what the number is appended to."""
        return [os.environ["TASKS_PEERS_TASK"], self.name, *self.words]


class System(abc.ABC):
    """A system on this machine, with so many tasks at a time."""

    replaces_workers = False
    """Whether a worker that died is replaced at once, so that no slot is missing."""

    least = 0
    """How many calls it takes at least until its rate no longer rises with their number."""

    def __init__(self, folder: Path, slots: int) -> None:
        """Prepare it; its files go to a folder."""
        self.folder = folder
        self.slots = slots
        self.crew = Crew(folder)

    @abc.abstractmethod
    def start(self) -> None:
        """Return when all workers are there."""

    @abc.abstractmethod
    def submit(self, call: Call, count: int) -> None:
        """Submit calls with 0, 1, and so on."""

    @abc.abstractmethod
    def wait(self, seconds: float) -> int:
        """Wait until each of these calls has ended or is lost; return how many results came."""

    def all_of(self, call: Call, count: int) -> None:
        """Have so many calls done."""
        self.submit(call, count)
        done = self.wait(60)
        if done != count:
            raise RuntimeError(f"{done} results of {count}")

    def one(self, call: Call) -> None:
        """Have one call done."""
        self.all_of(call, 1)

    def graph(self, layers: int) -> list[int]:
        """Have the calls of a graph done (:mod:`graphs`); return the results of the last layer."""
        raise NotImplementedError

    def owner(self, pid: int) -> int:
        """Return the process that stands for the worker in which a task runs."""
        return self.crew.owner(pid)

    def coordinator(self) -> int:
        """Return the process that decides which worker gets a task."""
        raise NotImplementedError

    def restart(self) -> None:
        """Do what a supervisor does when the coordinator has died; nothing where none is needed."""
        return

    def stop(self) -> None:
        """End it; what is left will be killed."""
        self.crew.end()
