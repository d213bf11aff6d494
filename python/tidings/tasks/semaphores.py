"""Counting semaphores that the holders of their permits cannot leak.

Permits belong to a session: that of this process ends with it, and others get what it had. Nobody
overtakes those that wait.
"""

from __future__ import annotations

import concurrent.futures
import os
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from tidings.tasks import connection
from tidings.tasks.connection import Session
from tidings.tasks.errors import StoreError

if TYPE_CHECKING:
    from tidings.tasks.executor import Executor


class SemaphoreState(NamedTuple):
    """How many permits there are, how many are held, and how many waited for."""

    permits: int
    held: int
    waiting: int


class Permits:
    """Permits of a semaphore that this process holds, until ``release`` or the end of ``with``."""

    def __init__(self, session: Session, permits: int) -> None:
        self._session = session
        self.permits = permits
        # Permits that nobody holds any more go to others.
        self._finalizer = weakref.finalize(self, session.leave)
        self._finalizer.atexit = False

    @property
    def lost(self) -> bool:
        """Whether others have them, since this process was silent for some seconds."""
        return self._session.lapses > self._session.lapses_at_answer

    def release(self) -> None:
        """Give them back. Given back before, nothing happens."""
        if self._finalizer.detach() is not None:
            left = self._session.leave()
            if left is not None:
                left.result()

    def __enter__(self) -> Permits:
        """Hold them."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give them back."""
        self.release()


class Semaphore:
    """A counting semaphore of all processes that use a store.

    With ``permits`` it is made, or has that many from now on; without, it must be there when
    permits are acquired. ``with semaphore:`` holds one permit, ``with semaphore.acquire(n):`` more.
    ``store``, ``executor`` and ``keys`` are as of ``Queue``.
    """

    def __init__(
        self,
        name: str,
        permits: int | None = None,
        *,
        store: str | None = None,
        executor: Executor | None = None,
        keys: str | os.PathLike[str] | None = None,
    ) -> None:
        self.name = name
        # Those of the blocks that this object is entered for now, one permit each.
        self._entered: list[Permits] = []
        self._connection = connection.connection_of(store, executor, keys)
        if permits is not None:
            own = self._connection.own
            own.ask(own.native.set_permits, name, permits)

    def acquire(self, permits: int = 1, *, timeout: float | None = None) -> Permits:
        """Return permits once there are so many; wait at most ``timeout`` seconds for them.

        Each call waits for itself: one who holds permits and acquires more may wait for ever.
        """
        session = Session(self._connection)
        try:
            session.begin(session.native.acquire, self.name, permits).result(timeout)
        except concurrent.futures.TimeoutError:
            session.leave()
            raise TimeoutError(f"no {permits} permits of {self.name} in {timeout} s") from None
        except BaseException:
            session.leave()
            raise
        return Permits(session, permits)

    def __enter__(self) -> Permits:
        """Wait for one permit, as ``with acquire()`` does."""
        permits = self.acquire()
        self._entered.append(permits)
        return permits

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give it back."""
        # Whichever: one is as good as another.
        self._entered.pop().release()

    def overview(self) -> SemaphoreState:
        """Return how many permits are where."""
        own = self._connection.own
        _, semaphores = own.ask(own.native.overview)
        for name, permits, held, waiting in semaphores:
            if name == self.name:
                return SemaphoreState(permits, held, waiting)
        raise StoreError(
            f"there is no semaphore {self.name}: make it with Semaphore(name, permits)"
        )
