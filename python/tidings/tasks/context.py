"""The context of a task: what its function can ask and say while it runs."""

from __future__ import annotations

from typing import Protocol

from tidings.tasks.effects import Effect, Effects
from tidings.tasks.seal import Seal


class Worker(Protocol):
    """What a task asks, and tells, the worker that has given it to this process."""

    def is_cancelled(self, task: bytes, attempt: int) -> bool:
        """Return whether nobody wants this try."""

    def report(self, task: bytes, attempt: int, thousandths: int, text: str) -> None:
        """Say how far it is."""


class Context:
    """The task that this process does now. Each call has one: so it is made of plain slots."""

    __slots__ = ("_seal", "_worker", "attempt", "made", "queue", "task")

    def __init__(self, task: bytes, attempt: int, queue: str, worker: Worker, seal: Seal) -> None:
        self.task = task
        self.attempt = attempt
        self.queue = queue
        self._worker = worker
        self._seal = seal
        # Its effects; None if it has asked for none.
        self.made: Effects | None = None

    @property
    def effects(self) -> Effects:
        """What is to be written when it is done."""
        if self.made is None:
            self.made = Effects(self.task, self._seal)
        return self.made

    def is_cancelled(self) -> bool:
        """Return whether nobody wants this try."""
        return self._worker.is_cancelled(self.task, self.attempt)

    def report(self, thousandths: int, text: str) -> None:
        """Say how far it is."""
        self._worker.report(self.task, self.attempt, thousandths, text)


_current: Context | None = None
_is_in_memory = False


def enter(context: Context | None) -> None:
    """Say which task this process does now."""
    global _current
    _current = context


def set_in_memory() -> None:
    """Say that the store of this process's tasks is in the memory of another process."""
    global _is_in_memory
    _is_in_memory = True


def is_in_memory() -> bool:
    """Return whether this process does tasks of a store that it cannot reach."""
    return _is_in_memory


def queue() -> str:
    """Return the queue of this task."""
    if _current is None:
        raise RuntimeError("this process does no task")
    return _current.queue


def effect(*, serializer: str = "json") -> Effect:
    """Return what collects writes that are in the same commit as the end of this task.

    ``with tidings.tasks.effect() as e: e.store["sum/3"] = 42; e.queue("next").put(1)``. All of it
    happens once, if the task returns; nothing of it if it fails, or runs a second time elsewhere.
    """
    if _current is None:
        raise RuntimeError("effect() is for tasks: outside of one, use Store and Queue")
    return Effect(_current.effects, serializer)


def cancelled() -> bool:
    """Return whether nobody wants this task any more: it should return soon."""
    return _current is not None and _current.is_cancelled()


def progress(share: float, text: str = "") -> None:
    """Say how much of this task is done, from 0 to 1, and at what it is."""
    if _current is not None:
        _current.report(round(min(max(share, 0.0), 1.0) * 1_000), text[:200])


def attempt() -> int:
    """Return which try of its task this is, from 1; 0 outside of tasks.

    With the task's id it makes a key by which a receiver of side effects knows repetitions.
    """
    return 0 if _current is None else _current.attempt


def task_id() -> str | None:
    """Return the id of the task that this process does, None outside of tasks."""
    return None if _current is None else _current.task.hex()
