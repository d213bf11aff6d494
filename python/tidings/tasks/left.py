"""Results that stay where they are until somebody asks for them.

A result that is too long for a record lies in a blob, with the store or on the node that has made
it. Its call has ended, and ``Left`` stands for the result in the future: it is brought when
``result()`` asks for it, or a callback is added, and goes to calls that read it without coming
here. If the future goes, nobody brings it.

Invariant: the record of the task is held until the result is here, or the ``Left`` is gone.
"""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Any, Protocol

from tidings.tasks.errors import StoreError


class Source(Protocol):
    """What brings results."""

    def fetch(self, left: Left) -> None:
        """Begin to bring a result; ``settle`` or ``fail`` is called with what has come of it."""

    def drop(self, task: bytes) -> None:
        """Nobody asks for the result of a task any more."""

    def wait_for(self, coming: concurrent.futures.Future[Any], timeout: float | None) -> None:
        """Wait until a result is here, or the time is over."""


class Left:
    """A result that was left where it is."""

    def __init__(self, source: Source, task: bytes) -> None:
        self.task = task
        self._source = source
        self._lock = threading.Lock()
        self._coming: concurrent.futures.Future[Any] | None = None
        # Whether somebody has asked for it, who was not content that it comes.
        self.is_read = False

    @property
    def is_here(self) -> bool:
        """Whether it was brought, or what cannot be brought is known."""
        coming = self._coming
        return coming is not None and coming.done()

    def fetch(self) -> concurrent.futures.Future[Any]:
        """Return what stands for the result that is brought."""
        with self._lock:
            if self._coming is not None:
                return self._coming
            coming = self._coming = concurrent.futures.Future()
        try:
            self._source.fetch(self)
        except Exception as error:
            self.fail(error)
        return coming

    def result(self, timeout: float | None) -> Any:
        """Return it, once it is here."""
        self.is_read = True
        coming = self.fetch()
        self._source.wait_for(coming, timeout)
        return coming.result(0 if timeout is not None else None)

    def exception(self) -> BaseException | None:
        """Return why it cannot be had, if that is known; nothing is brought."""
        coming = self._coming
        return coming.exception() if coming is not None and coming.done() else None

    def settle(self, value: Any) -> None:
        """Take it: it is here."""
        if self._coming is not None:
            self._coming.set_result(value)

    def fail(self, error: BaseException) -> None:
        """Take why it cannot be had. What the store does not have now may be asked for again."""
        with self._lock:
            coming = self._coming
            if isinstance(error, (StoreError, RuntimeError)):
                self._coming = None
        if coming is not None:
            coming.set_exception(error)

    def __del__(self) -> None:
        """Let it go, unless it is here."""
        if not self.is_here:
            self._source.drop(self.task)
