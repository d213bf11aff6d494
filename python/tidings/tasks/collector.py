"""The collector: one thread that takes what has ended and settles its futures.

Invariant: a future is among the pending ones from its submission until its task has ended or it
was cancelled; the store's client ends only when none is pending, and no future has a result that
was left where it is. The worker and its processes end before that.
"""

from __future__ import annotations

import atexit
import collections
import concurrent.futures
import contextlib
import functools
import os
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import tidings.tasks._native as _native
from tidings.tasks import failures, inputs, pickles, setup, unfit
from tidings.tasks.connection import Connection
from tidings.tasks.errors import RemoteError, SealError, StoreError
from tidings.tasks.future import Future
from tidings.tasks.left import Left
from tidings.tasks.seal import CALL, FAILURE, RESULT, Seal

_all: weakref.WeakSet[Collector] = weakref.WeakSet()

# What is told of tasks that is not how they have ended.
_NEWS = frozenset(("fetched", "unfit", "fits"))


class Collector:
    """The pending futures of an executor, and what settles them. Safe to use by all threads."""

    def __init__(
        self,
        client: _native.Client,
        seal: Seal,
        scratch: str,
        most: int | None = None,
        store: str = "memory:",
    ) -> None:
        self._seal = seal
        self._scratch = scratch
        # How many may be pending where others are submitted; None: any number.
        self._most = most
        self._client = client
        self._pending: dict[bytes, Future[Any]] = {}
        self._unfit = unfit.Unfit(store)
        # What has failed by an input of which it is not known here yet.
        self._early: list[tuple[Future[Any], str, Any]] = []
        self._lock = threading.Lock()
        # Results that are brought, those that nobody asks for any more, and how many there are.
        self._coming: dict[bytes, list[Left]] = {}
        self._dropped: collections.deque[bytes] = collections.deque()
        self._left = 0
        # Notified when fewer are pending, if somebody waits for that.
        self._room = threading.Condition(self._lock)
        self._waiting = 0
        self._closing = False
        self._is_over = False
        # Set when nothing is pending after the shutdown, and the worker is gone.
        self._rested = threading.Event()
        self._broken: BaseException | None = None
        self._connection: Connection | None = None
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._collect, name="tidings-collect", daemon=True)
        self._thread.start()
        _all.add(self)

    def reserve(self, task: bytes) -> tuple[Future[Any], bool]:
        """Return the future of a task, and whether it is new: a task is submitted once.

        Waits while as many are pending as may be.
        """
        with self._lock:
            self._check()
            if self._most is not None and len(self._pending) >= self._most:
                self._wait_for_room(self._most)
            known = self._pending.get(task)
            if known is not None:
                return known, False
            future: Future[Any] = Future(self, task)
            self._pending[task] = future
            return future, True

    def _wait_for_room(self, most: int) -> None:
        # What settles futures calls who waits for them, and they may submit.
        if threading.current_thread() is self._thread:
            return
        self._waiting += 1
        try:
            while len(self._pending) >= most:
                self._room.wait()
                self._check()
        finally:
            self._waiting -= 1

    def _make_room(self) -> None:
        if self._waiting:
            self._room.notify_all()

    def send(
        self, task: bytes, body: bytes, options: _native.Options, behind: Sequence[bytes] = ()
    ) -> None:
        """Submit the task of a future that was reserved, behind tasks that are held.

        Waits while the store is behind.
        """
        try:
            self._client.submit(task, self._seal.close(CALL, task, body), options, behind)
        except BaseException:
            self.release(task)
            raise

    def release(self, task: bytes) -> None:
        """Forget a future that was reserved, and will be settled otherwise or never."""
        with self._lock:
            self._pending.pop(task, None)
            self._make_room()
            is_awaited = (self._closing and not self._pending) or bool(self._early)
        if is_awaited:
            self._client.wake()

    def hold(self, task: bytes) -> bool:
        """Keep the record of a task that has not been told; return whether it is there."""
        return self._client.hold(task)

    def let_go(self, task: bytes) -> None:
        """Hold a task once less."""
        self._client.release([task])

    def fetch(self, left: Left) -> None:
        """Begin to bring a result that was left where it is."""
        with self._lock:
            if self._process != os.getpid():
                raise RuntimeError("a result is not brought after a fork: ask for it in the parent")
            if self._is_over:
                raise StoreError(f"the executor has ended: the result of {left.task.hex()} is gone")
            waiting = self._coming.setdefault(left.task, [])
            waiting.append(left)
        if len(waiting) == 1:
            self._client.fetch(left.task)

    def drop(self, task: bytes) -> None:
        """Nobody asks for the result of a task any more. Called wherever garbage is collected."""
        self._dropped.append(task)
        if self._process == os.getpid():
            self._client.wake()

    def wait_for(self, coming: concurrent.futures.Future[Any], timeout: float | None) -> None:
        """Wait until a result is here, or the time is over."""
        if threading.current_thread() is not self._thread:
            concurrent.futures.wait([coming], timeout)
            return
        # Nobody else settles it.
        while not coming.done():
            self._settle_all(self._client.take())

    def endpoint(self) -> str | None:
        """Return where other hosts reach this process."""
        return self._client.endpoint()

    def connection(self) -> Connection:
        """Return the connection with the same store."""
        with self._lock:
            self._check()
            if self._connection is None:
                self._connection = Connection(self._client, self._seal)
            return self._connection

    def cancel(self, task: bytes) -> None:
        """Nobody wants a task any more."""
        self.release(task)
        self._client.cancel(task)

    def withdraw(self, future: Future[Any]) -> bool:
        """Take a task back that no worker has, to do it here; return whether that came in time."""
        future.is_taken = True
        if self._client.withdraw(future._task):
            self.release(future._task)
            return True
        future.is_taken = False
        return False

    def leave_pending(self) -> None:
        """Do not wait for what is pending when the interpreter ends: nobody asks for it then."""
        _all.discard(self)

    def is_running(self, task: bytes) -> bool:
        """Whether a worker of this process does a task now."""
        return self._client.running(task)

    def shut_down(self, wait: bool, cancel: bool) -> None:
        """Take no more; end when all pending tasks have ended, or were cancelled."""
        if self._process != os.getpid():
            return  # it is the parent's
        with self._lock:
            self._closing = True
            self._make_room()
            pending = list(self._pending.values())
        if cancel:
            for future in pending:
                if not future.running():
                    future.cancel()
        self._client.wake()
        if wait and self._thread is not threading.current_thread():
            self._rested.wait()

    def abandon(self) -> None:
        """Take no more, and end at once: what is pending stays in the store, if that stays."""
        if self._process != os.getpid():
            return
        with self._lock:
            self._closing = self._is_over = True
            pending, self._pending = list(self._pending.values()), {}
            self._make_room()
        for future in pending:
            if concurrent.futures.Future.cancel(future):
                future.set_running_or_notify_cancel()
        self._client.wake()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def end(self) -> None:
        """Let all that is pending end, and leave: what was not brought is gone."""
        self.shut_down(wait=True, cancel=False)
        self._is_over = True
        self._client.wake()
        self._thread.join()

    def _check(self) -> None:
        if self._broken is not None:
            raise concurrent.futures.BrokenExecutor(str(self._broken)) from self._broken
        if self._closing:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self._process != os.getpid():
            raise RuntimeError("an executor does not outlive a fork: make another in the child")

    def _collect(self) -> None:
        try:
            while not self._has_ended():
                self._settle_all(self._client.take())
        finally:
            self._finish()

    def _has_ended(self) -> bool:
        """Whether nothing is pending, and nobody can ask for a result that is elsewhere."""
        self._release_dropped()
        with self._lock:
            if not self._closing or self._pending:
                return False
            if self._is_over:
                return True
            if self._coming:
                return False
        if self._left == 0:
            return True
        if not self._rested.is_set():
            self._rest()
            self._rested.set()
        return False

    def _rest(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._client.rest()

    def _finish(self) -> None:
        with self._lock:
            self._is_over = True
            coming, self._coming = self._coming, {}
        for left in (one for some in coming.values() for one in some):
            left.fail(StoreError("the executor has ended"))
        if self._connection is not None:
            self._connection.close()
        self._client.close()
        self._unfit.close()
        setup.remove(self._scratch)
        self._rested.set()

    def _release_dropped(self) -> None:
        dropped = []
        while self._dropped:
            dropped.append(self._dropped.popleft())
        if dropped:
            self._left -= len(dropped)
            self._client.release(dropped)

    def _settle_all(self, ended: list[tuple[bytes, str, Any]]) -> None:
        with self._lock:
            futures = [
                None if kind in _NEWS else self._pending.pop(task, None) for task, kind, _ in ended
            ]
            self._make_room()
        # One that is settled is not held here any more.
        futures.reverse()
        for task, kind, what in ended:
            future = futures.pop()
            if kind == "fetched":
                self._arrive(task, *what)
            elif kind in _NEWS:
                unfit.told(self._unfit, kind, what)
            elif kind == "left":
                self._leave(task, future)
            elif future is not None:
                self._settle(future, kind, what)
        while (count := len(self._early)) > 0:
            early, self._early = self._early, []
            for future, kind, what in early:
                self._settle(future, kind, what)
            if len(self._early) == count:
                break

    def _leave(self, task: bytes, future: Future[Any] | None) -> None:
        """Let a future end with a result that stays where it is, unless somebody wants it here."""
        self._left += 1
        left = Left(self, task)
        if future is None:
            return
        future.inputs = ()
        future.handles = ()
        if not future.leave(left):
            left.fetch().add_done_callback(functools.partial(_pass_on, future))

    def _arrive(self, task: bytes, kind: str, what: Any) -> None:
        """Take a result that was brought."""
        with self._lock:
            some = self._coming.pop(task, [])
        for left in some:
            try:
                value, error = self._result_of(task, kind, what), None
            except BaseException as raised:
                value, error = None, raised
            if error is None:
                left.settle(value)
            else:
                left.fail(error)
            if left.is_here:
                self._dropped.append(task)

    def _result_of(self, task: bytes, kind: str, what: Any) -> Any:
        """Return what a call has returned, or raise why it cannot be had."""
        if kind == "refused":
            raise StoreError(what)
        if kind == "cancelled":
            raise RemoteError("it was cancelled while it was made again", "lost", "?", 1)
        if kind == "failed":
            raise failures.error_of(what, lambda packed: self._seal.open(FAILURE, task, packed))
        packed = self._seal.open(RESULT, task, what)
        try:
            return pickles.loads(packed)
        except Exception as error:
            text = f"its result cannot be unpickled here: {error}"
            raise RemoteError(text, "error", "?", 1) from None

    def _settle(self, future: Future[Any], kind: str, what: Any) -> None:
        task, waited_for = future._task, future.inputs
        is_of_input = kind == "failed" and bool(what) and what[-1][1] == "input"
        failed = inputs.failed(waited_for) if is_of_input else None
        if is_of_input and failed is None and not all(one.done() for one in waited_for):
            self._early.append((future, kind, what))
            return
        future.inputs = ()
        future.handles = ()
        if kind == "done":
            try:
                future.settle(self._result_of(task, kind, what))
            except (SealError, RemoteError) as error:
                future.fail(error)
        elif failed is not None:
            inputs.pass_on(failed, future)
        elif kind == "failed":
            failure = failures.error_of(what, lambda packed: self._seal.open(FAILURE, task, packed))
            future.fail(failure)
            if isinstance(failure, concurrent.futures.BrokenExecutor):
                self._break(failure)
        elif kind == "cancelled":
            # It was cancelled elsewhere, unless it is done here instead.
            if not future.is_taken and concurrent.futures.Future.cancel(future):
                future.set_running_or_notify_cancel()
        else:
            future.fail(StoreError(what))

    def _break(self, error: BaseException) -> None:
        """Fail all: no process can be set up, so no task will ever run."""
        with self._lock:
            self._broken = error
            pending = list(self._pending)
        for task in pending:
            future = self._pending.get(task)
            with contextlib.suppress(Exception):
                self._client.cancel(task)
            if future is not None:
                future.fail(concurrent.futures.BrokenExecutor(str(error)))
            self.release(task)


def _pass_on(to: Future[Any], of: concurrent.futures.Future[Any]) -> None:
    """Settle a future by what was brought for it."""
    error = of.exception()
    if error is None:
        to.settle(of.result())
    else:
        to.fail(error)


def _finish() -> None:
    """Let what was submitted end before the interpreter does, unless Ctrl-C ends it."""
    # Whoever has pressed it goes on in an interactive one.
    was_interrupted = isinstance(getattr(sys, "last_value", None), KeyboardInterrupt)
    is_interactive = hasattr(sys, "ps1")
    for collector in list(_all):
        if collector._process != os.getpid():
            continue
        if was_interrupted and not is_interactive:
            collector.abandon()
        else:
            collector.end()


atexit.register(_finish)
