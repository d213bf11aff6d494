"""Errors: what a task that has failed raises where its result is asked for.

An exception of the function itself is raised again as the same type. Its ``__cause__`` is a
``RemoteTraceback``, which has the worker's traceback. Everything else is a ``RemoteError``.
"""

from __future__ import annotations


class TaskError(Exception):
    """What can go wrong with tasks, beside the exceptions of their functions."""


class StoreError(TaskError):
    """The store cannot be had, or has refused a task. The text says why and what to do."""


class NoSpaceError(StoreError):
    """There is no room on this host for a blob of so many bytes. Nothing was left behind.

    A task that ends by it counts as lost by its host, so another one makes the call; if none has
    room, this is raised where its result is asked for. ``folder`` is where there is none,
    ``nbytes`` how long the blob is.
    """

    def __init__(self, text: str, folder: str, nbytes: int) -> None:
        super().__init__(text, folder, nbytes)
        self.text = text
        self.folder = folder
        self.nbytes = nbytes

    def __str__(self) -> str:
        """Return what was refused, where, and what helps."""
        return self.text


class LostError(TaskError):
    """A job is no longer this process's: it took too long, or was not heard of for some seconds.

    Nothing was written for it. Another has it by now, or will.
    """


class ConflictError(TaskError):
    """A key is not at the revision that was expected. Nothing was written."""


class SealError(TaskError):
    """A pickle is not from this cluster: it was not unpickled."""


class RemoteTraceback(TaskError):  # noqa: N818, what it is
    """The traceback of a worker, as the cause of the exception that was raised there.

    ``text`` is the traceback, ``host`` where it ran, ``attempts`` how often the task was tried.
    """

    def __init__(self, text: str, host: str, attempts: int) -> None:
        super().__init__(text, host, attempts)
        self.text = text
        self.host = host
        self.attempts = attempts

    def __str__(self) -> str:
        """Return the traceback with where it is from."""
        tries = "1 attempt" if self.attempts == 1 else f"{self.attempts} attempts"
        return f"on host {self.host}, after {tries}:\n{self.text}"


class RemoteError(TaskError):
    """A task has failed, and there is no exception of its function to raise again.

    ``cause`` is ``"error"`` (an exception that could not be passed on), ``"exit"``, ``"signal"``,
    ``"memory"``, ``"time"`` (over its limit), ``"lost"`` (its worker is gone) or ``"input"`` (it
    waits for a task that was not done); ``text`` what the worker has said, ``host`` where it ran
    last, ``attempts`` how often it was tried.
    """

    def __init__(self, text: str, cause: str, host: str, attempts: int) -> None:
        super().__init__(text, cause, host, attempts)
        self.text = text
        self.cause = cause
        self.host = host
        self.attempts = attempts

    def __str__(self) -> str:
        """Return what the worker has said, with where and why."""
        return f"{self.cause} on host {self.host}, attempt {self.attempts}: {self.text}"


class UnfitWarning(UserWarning):
    """Calls wait that no worker which is there could take. The text says what is missing."""
