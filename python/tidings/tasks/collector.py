"""The collector: one thread that takes what has ended and settles its futures.

Invariant: a future is among the pending ones from its submission until its task has ended or it
was cancelled; the store's client ends only when none is pending.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import os
import shutil
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import tidings.tasks._native as _native
from tidings.tasks import failures, inputs, pickles
from tidings.tasks.connection import Connection
from tidings.tasks.errors import RemoteError, SealError, StoreError
from tidings.tasks.future import Future
from tidings.tasks.seal import CALL, FAILURE, RESULT, Seal

_all: weakref.WeakSet[Collector] = weakref.WeakSet()


class Collector:
    """The pending futures of an executor, and what settles them. Safe to use by all threads."""

    def __init__(
        self, client: _native.Client, seal: Seal, scratch: str, most: int | None = None
    ) -> None:
        self._seal = seal
        self._scratch = scratch
        # How many may be pending where others are submitted; None: any number.
        self._most = most
        self._client = client
        self._pending: dict[bytes, Future[Any]] = {}
        # What has failed by an input of which it is not known here yet.
        self._early: list[tuple[Future[Any], str, Any]] = []
        self._lock = threading.Lock()
        # Notified when fewer are pending, if somebody waits for that.
        self._room = threading.Condition(self._lock)
        self._waiting = 0
        self._closing = False
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
        self._client.release(task)

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
            while True:
                self._settle_all(self._client.take())
                with self._lock:
                    if self._closing and not self._pending:
                        return
        finally:
            if self._connection is not None:
                self._connection.close()
            self._client.close()
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _settle_all(self, ended: list[tuple[bytes, str, Any]]) -> None:
        with self._lock:
            futures = [self._pending.pop(task, None) for task, _, _ in ended]
            self._make_room()
        # One that is settled is not held here any more.
        futures.reverse()
        for _, kind, what in ended:
            future = futures.pop()
            if future is not None:
                self._settle(future, kind, what)
        while (count := len(self._early)) > 0:
            early, self._early = self._early, []
            for future, kind, what in early:
                self._settle(future, kind, what)
            if len(self._early) == count:
                break

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
                future.settle(pickles.loads(self._seal.open(RESULT, task, what)))
            except SealError as error:
                future.fail(error)
            except Exception as error:
                text = f"its result cannot be unpickled here: {error}"
                future.fail(RemoteError(text, "error", "?", 1))
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


def _finish() -> None:
    """Let what was submitted end before the interpreter does."""
    for collector in list(_all):
        if collector._process == os.getpid():
            collector.shut_down(wait=True, cancel=False)


atexit.register(_finish)
