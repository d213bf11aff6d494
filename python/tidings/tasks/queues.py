"""Queues of data: items that programs put, and others claim, each once.

An item is a task as any other: a record in the store, that goes to another when its holder dies.
The bytes are those that ``tidings queue put --data`` and ``claim`` use, so programs of all
languages share a queue.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import tidings.tasks._native as _native
from tidings.tasks import connection, seal
from tidings.tasks.connection import Session
from tidings.tasks.effects import item
from tidings.tasks.jobs import Job
from tidings.tasks.options import milliseconds
from tidings.tasks.serializers import Serializer

if TYPE_CHECKING:
    from tidings.tasks.executor import Executor

# Items of one request.
_BATCH = 1_000


class QueueState(NamedTuple):
    """How many items of a queue are where."""

    ready: int
    delayed: int
    running: int
    unfit: int


class Queue:
    """A queue of data. It is there as long as it has items; nobody makes it.

    It lies in the store of ``executor`` or in ``store``; without either in that of the current
    executor, else in the usual one. ``keys`` is the key file of a store of several hosts.
    ``serializer`` is ``"json"``, ``"pickle"`` or ``"bytes"``.
    """

    def __init__(
        self,
        name: str,
        *,
        store: str | None = None,
        executor: Executor | None = None,
        keys: str | os.PathLike[str] | None = None,
        serializer: str = "json",
    ) -> None:
        self.name = name
        self._connection = connection.connection_of(store, executor, keys)
        self._serializer = Serializer(serializer, self._connection.seal)

    def put(
        self,
        data: Any,
        *,
        key: str | None = None,
        delay: float | str | None = None,
        priority: int = 0,
        group: str = "",
        retries: int = 0,
    ) -> str:
        """Put an item; return its id once it is in the store.

        ``key``: an item with the same key is put once. ``delay``: not before that time. The larger
        ``priority`` comes first. ``group``: groups share the queue fairly. ``retries``: how often
        it is tried again after an exception.
        """
        task = uuid.uuid4().bytes if key is None else _native.item_id(self.name, key)
        made = self._item(task, data, delay=delay, priority=priority, group=group, retries=retries)
        self._put([made])
        return task.hex()

    def put_all(
        self,
        items: Iterable[Any],
        *,
        delay: float | str | None = None,
        priority: int = 0,
        group: str = "",
        retries: int = 0,
    ) -> int:
        """Put many items, a thousand at a time; return how many. It waits while the queue is full.

        Of each thousand all are in the store, or none.
        """
        source, count = iter(items), 0
        while batch := list(itertools.islice(source, _BATCH)):
            how = {"delay": delay, "priority": priority, "group": group, "retries": retries}
            self._put([self._item(uuid.uuid4().bytes, one, **how) for one in batch])
            count += len(batch)
        return count

    def claim(self, *, lease: float | str | None = None, timeout: float | None = None) -> Job:
        """Return the next item as a job of this process; wait for one, at most ``timeout`` seconds.

        The job is this process's until it ends, or dies, or is silent for some seconds: nothing
        has to be renewed. ``lease`` bounds it from above: a job that has not ended by then counts
        as lost, and goes to others, although this process lives.
        """
        session = Session(self._connection)
        try:
            self._offer(session, 1)
            given = session.next_job(timeout)
            self._offer(session, 0)
            return Job(session, given, self._serializer, milliseconds(lease), is_last=True)
        except BaseException:
            session.leave()
            raise

    def jobs(
        self, *, lease: float | str | None = None, timeout: float | None = None
    ) -> Iterator[Job]:
        """Return one job after the other, until none has come for ``timeout`` seconds.

        Going on completes a job. Leaving the loop gives it back; to let an exception fail it, or to
        go on after a LostError, use ``with job:`` in the loop.
        """
        session = Session(self._connection)
        try:
            self._offer(session, 1)
            while True:
                try:
                    given = session.next_job(timeout)
                except TimeoutError:
                    return
                serializer, lease_ms = self._serializer, milliseconds(lease)
                with Job(session, given, serializer, lease_ms, is_last=False) as job:
                    yield job
        finally:
            left = session.leave()
            if left is not None:
                with contextlib.suppress(Exception):
                    left.result()

    def __iter__(self) -> Iterator[Job]:
        """Return one job after the other, for ever. See ``jobs``."""
        return self.jobs()

    def __len__(self) -> int:
        """Return how many items have not ended."""
        state = self.overview()
        return state.ready + state.delayed + state.running

    def __bool__(self) -> bool:
        """Return True: a queue without items is a queue."""
        return True

    def overview(self) -> QueueState:
        """Return how many items are where; ``unfit`` are ready ones that nobody could take now."""
        own = self._connection.own
        queues, _ = own.ask(own.native.overview)
        for name, ready, delayed, running, unfit in queues:
            if name == self.name:
                return QueueState(ready, delayed, running, unfit)
        return QueueState(0, 0, 0, 0)

    def _item(self, task: bytes, data: Any, **how: Any) -> dict[str, Any]:
        closed = self._serializer.close(seal.DATA, task, self._serializer.dumps(data))
        return {**item(self.name, closed, **how), "task": task}

    def _put(self, items: list[dict[str, Any]]) -> None:
        own = self._connection.own
        own.ask(own.native.put, items)

    def _offer(self, session: Session, slots: int) -> None:
        session.ask(session.native.offer, self.name, slots)
