"""Futures: what stands for the result of a task until it is there."""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import Any, Protocol, TypeVar, cast

from tidings.tasks import inputs
from tidings.tasks.left import Left

T = TypeVar("T")

# A call that a worker has may come back to its queue, as one that lies behind the task that waits
# for it soon does: who waits asks after so many seconds whether to do it, then after twice as many,
# and at last so often.
AGAIN_FIRST = 0.06
AGAIN = 1.0

# How many results are brought before they are asked for, by who reads several in a row.
AHEAD = 8

# Held while it is decided whether a result that may stay where it is comes at once.
_deciding = threading.Lock()


class Keeper(Protocol):
    """What a future asks about its task."""

    def cancel(self, task: bytes) -> None:
        """Nobody wants a task any more."""

    def is_running(self, task: bytes) -> bool:
        """Whether a worker of this process does a task now."""


class Inline(Protocol):
    """What does a call here that is waited for, if nobody else does."""

    def wait(self, timeout: float | None) -> float | None:
        """Wait until the call has ended, or the time is over; return the time that is left."""


def bring(coming: Iterable[Any]) -> None:
    """Bring the first ones of those results that are read next, where they were left."""
    for future in itertools.islice(coming, AHEAD):
        if isinstance(future, Future):
            future.bring()


class Future(concurrent.futures.Future[T]):
    """The result of a task, now or later.

    It is a future of ``concurrent.futures``, so ``wait`` and ``as_completed`` of that module take
    it, and it can be awaited in ``asyncio``. Beside those it can be cancelled while it runs.

    A result of more than some kilobytes stays where it is until ``result()`` asks for it.
    """

    # What most calls never have is of the class.
    # What does the call here while it is waited for, in a task.
    inline: Inline | None = None
    # Whether this process is to do the call, and has cancelled the task for that.
    is_taken = False
    # What the call waits for, until it has ended.
    inputs: tuple[Future[Any], ...] = ()
    # Large blobs that it names, held until it has ended.
    handles: tuple[object, ...] = ()
    # The result, if it was left where it is; and whether somebody is to be called with it.
    _left: Left | None = None
    _is_wanted = False

    def __init__(self, keeper: Keeper, task: bytes) -> None:
        super().__init__()
        self._keeper = keeper
        self._task = task

    @property
    def id(self) -> str:
        """The id of the task: 32 hexadecimal digits."""
        return self._task.hex()

    @property
    def is_here(self) -> bool:
        """Whether it has ended, and its result need not be brought any more."""
        return self.done() and (self._left is None or self._left.is_here)

    @property
    def is_read(self) -> bool | None:
        """Whether ``result()`` was called, for one that was left where it is; else None."""
        return None if self._left is None else self._left.is_read

    def bring(self) -> None:
        """Begin to bring the result, if it was left where it is, so that ``result()`` has it."""
        if self._left is not None:
            self._left.fetch()

    def result(self, timeout: float | None = None) -> T:
        """Return the result, as soon as it is there; bring it, if it is elsewhere."""
        until = None if timeout is None else time.monotonic() + timeout
        result = super().result(self._time_left(timeout))
        if self._left is None:
            return result
        rest = None if until is None else max(0.0, until - time.monotonic())
        return cast("T", self._left.result(rest))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the exception that the call has raised, None if it has returned."""
        error = super().exception(self._time_left(timeout))
        return error if self._left is None else self._left.exception()

    def _time_left(self, timeout: float | None) -> float | None:
        return timeout if self.inline is None else self.inline.wait(timeout)

    def add_done_callback(self, fn: Callable[[Any], object]) -> None:
        """Call a function with this future once it has ended and its result is here."""
        with _deciding:
            self._is_wanted = True
            left = self._left
        if left is None or left.is_here:
            super().add_done_callback(fn)
        else:
            add = super().add_done_callback
            left.fetch().add_done_callback(lambda _: add(fn))

    def when_ended(self, fn: Callable[[Any], object]) -> None:
        """Call a function with this future once it has ended, wherever its result is."""
        super().add_done_callback(fn)

    def cancel(self) -> bool:
        """Cancel the task; return False if it has ended.

        One that runs is told to stop (``tidings.tasks.cancelled``), and its process is ended if it
        has not stopped after its grace.
        """
        was_cancelled = self.cancelled()
        if not super().cancel():
            return False
        if not was_cancelled:
            self.inputs = ()
            self._keeper.cancel(self._task)
            self.set_running_or_notify_cancel()
        return True

    def running(self) -> bool:
        """Return whether a worker of this process does the task now."""
        return not self.done() and self._keeper.is_running(self._task)

    def settle(self, result: T) -> None:
        """Set the result, unless the task was cancelled meanwhile."""
        try:
            self.set_result(result)
        except concurrent.futures.InvalidStateError:
            return  # `contextlib.suppress` takes as long as the rest of it

    def leave(self, left: Left) -> bool:
        """Let it end with a result that stays where it is; False: somebody wants it here."""
        with _deciding:
            if self._is_wanted:
                return False
            self._left = left
        try:
            self.set_result(cast("T", left))
        except concurrent.futures.InvalidStateError:
            self._left = None
        return True

    def fail(self, error: BaseException) -> None:
        """Set the exception, unless the task was cancelled meanwhile."""
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            self.set_exception(error)

    def __repr__(self) -> str:
        """Return its state, and of a result that may be elsewhere whether it is here."""
        if self._left is None:
            return super().__repr__()
        where = "is here" if self._left.is_here else "was not fetched"
        return f"<{type(self).__name__} at {id(self):#x} state=finished, its result {where}>"

    def __reduce__(self) -> Any:
        """Stand for the result in the arguments of a call."""
        return inputs.reduced(self)

    def __await__(self) -> Generator[Any, None, T]:
        """Wait for the result in ``asyncio``."""
        # A program that awaits has it; to the others it would be a fifth of the start.
        import asyncio

        return asyncio.wrap_future(self).__await__()
