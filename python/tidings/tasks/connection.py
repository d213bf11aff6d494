"""Connections: requests of queues, semaphores, keys and spaces, and the thread that settles them.

A *session* is what jobs and permits belong to: it lasts while this process is heard of, which the
native module sees to, and what belongs to one that has ended goes to others. A connection has any
number of them.

Invariant: each request that was begun is settled, by its answer or by the end of the connection.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import itertools
import os
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tidings.tasks._native as _native
from tidings.tasks import context, current, setup
from tidings.tasks.errors import ConflictError, LostError, StoreError
from tidings.tasks.seal import Seal, key_file

if TYPE_CHECKING:
    from tidings.tasks.executor import Executor

# A job as it was given: task, attempt, data, and what is wrong with the data.
Given = tuple[bytes, int, "bytes | None", "str | None"]

# The seconds for which the end of a connection waits for an answer.
_PATIENCE_S = 3.0

_lock = threading.Lock()
_common: dict[tuple[str, str | None], Connection] = {}


class Connection:
    """A process at a store, for whatever needs sessions. Safe to use by all threads."""

    def __init__(
        self, client: _native.Client, seal: Seal, close: Callable[[], None] | None = None
    ) -> None:
        self.native = _native.Sessions(client)
        self.seal = seal
        self._close = close
        self._name = setup.name()
        self._numbers = itertools.count(1)
        # Sessions are ended by the garbage collector too, which may run while this is held.
        self._lock = threading.RLock()
        self._waiting: dict[int, concurrent.futures.Future[Any]] = {}
        self._sessions: dict[int, Session] = {}
        self._is_closed = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._settle_all, name="tidings-told", daemon=True)
        self._thread.start()
        self._own: Session | None = None
        # Whether it shares large blobs.
        self._shares = False

    @property
    def own(self) -> Session:
        """A session for requests that need none of their own."""
        with self._lock:
            known = self._own
        if known is None:
            made = Session(self)
            with self._lock:
                known = self._own = self._own or made
        return known

    def enter(self, session: Session) -> tuple[int, str]:
        """Note a new session; return its number and its name."""
        with self._lock:
            self._check()
            number = next(self._numbers)
            self._sessions[number] = session
        return number, f"{self._name}-{number}"

    def forget(self, number: int) -> None:
        """Note that a session is no more."""
        with self._lock:
            self._sessions.pop(number, None)

    def begin(
        self, session: int, request: Callable[..., None], *arguments: Any
    ) -> concurrent.futures.Future[Any]:
        """Begin a request of a session; return what stands for its answer."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        with self._lock:
            self._check()
            token = next(self._numbers)
            self._waiting[token] = future
        try:
            request((session, token), *arguments)
        except BaseException as error:
            with self._lock:
                self._waiting.pop(token, None)
            if isinstance(error, RuntimeError):
                raise StoreError(str(error)) from None
            raise
        return future

    def give_up(self, session: int, future: concurrent.futures.Future[Any]) -> None:
        """Let nobody wait for the answer to a request: a statement is withdrawn."""
        with self._lock:
            tokens = [token for token, waiting in self._waiting.items() if waiting is future]
            for token in tokens:
                del self._waiting[token]
        for token in tokens:
            self.native.give_up((session, token))

    def share(self) -> Session:
        """Return the session that shares large blobs, from the first call on."""
        session = self.own
        if not self._shares:
            session.ask(session.native.share)
            self._shares = True
        return session

    def close(self) -> None:
        """End: what was not answered yet fails, and what sessions hold goes to others."""
        if self._shares:
            # What nobody needs is not left in memory; without a coordinator nobody knows that.
            with contextlib.suppress(Exception):
                self.own.begin(self.native.free).result(_PATIENCE_S)
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            waiting, self._waiting = self._waiting, {}
            sessions, self._sessions = self._sessions, {}
        self.native.wake()
        ended = StoreError("the executor has ended")
        for future in waiting.values():
            future.set_exception(ended)
        for session in sessions.values():
            session.told("ended", str(ended))
        self.native.close()
        if self._close is not None:
            self._close()

    def _check(self) -> None:
        if self._is_closed:
            raise StoreError("the executor has ended")
        if self._process != os.getpid():
            raise StoreError("a connection does not outlive a fork: make another in the child")

    def _settle_all(self) -> None:
        while not self._is_closed:
            for number, token, kind, what in self.native.take():
                with self._lock:
                    session = self._sessions.get(number)
                if session is not None:
                    session.told(kind, what)
                if token:
                    self._settle(token, kind, what)

    def _settle(self, token: int, kind: str, what: Any) -> None:
        with self._lock:
            future = self._waiting.pop(token, None)
        if future is None:
            return
        if kind == "done":
            future.set_result(what)
        elif kind == "refused":
            future.set_exception(_refusal(*what))
        else:
            future.set_exception(StoreError(what))


class Session:
    """What jobs and permits belong to."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._jobs: queue.SimpleQueue[Given | StoreError] = queue.SimpleQueue()
        self.native = connection.native
        self.seal = connection.seal
        # Tries that no longer count, since this process was silent.
        self.lost: set[tuple[bytes, int]] = set()
        # How often permits and tuples went to others for that; and how often when the last answer
        # came.
        self.lapses = 0
        self.lapses_at_answer = 0
        self.number, name = connection.enter(self)
        self.native.open(self.number, name)

    def begin(
        self, request: Callable[..., None], *arguments: Any
    ) -> concurrent.futures.Future[Any]:
        """Begin a request; return what stands for its answer."""
        return self._connection.begin(self.number, request, *arguments)

    def give_up(self, future: concurrent.futures.Future[Any]) -> None:
        """Let nobody wait for the answer to a request: a statement is withdrawn."""
        self._connection.give_up(self.number, future)

    def ask(self, request: Callable[..., None], *arguments: Any) -> Any:
        """Return the answer to a request, or raise why it was refused."""
        return self.begin(request, *arguments).result()

    def next_job(self, timeout: float | None) -> Given:
        """Return the next job that it is given, or raise TimeoutError."""
        try:
            given = self._jobs.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError("no job has come") from None
        if isinstance(given, StoreError):
            self._jobs.put(given)
            raise given
        return given

    def told(self, kind: str, what: Any) -> None:
        """Take what was said, answers included."""
        if kind == "job":
            self._jobs.put(what)
        elif kind == "lapsed":
            tries, is_of_claims = what
            self.lost.update(tries)
            self.lapses += is_of_claims
        elif kind == "ended":
            self._jobs.put(StoreError(what))
        else:
            self.lapses_at_answer = self.lapses

    def leave(self) -> concurrent.futures.Future[Any] | None:
        """End it: what it holds goes to others. Return what stands for that."""
        try:
            future = self.begin(self.native.leave)
        except StoreError:
            return None
        self._connection.forget(self.number)
        return future


def connection_of(
    store: str | None, executor: Executor | None, keys: str | os.PathLike[str] | None
) -> Connection:
    """Return the connection with a store: that of an executor, else a common one.

    Where neither is named, it is that of the current executor, else the usual store's.
    """
    if store is not None and executor is not None:
        raise ValueError("name a store or an executor, not both")
    if store is None:
        executor = executor or current.last()
        if executor is not None:
            return executor.connection()
        if context.is_in_memory():
            raise StoreError(
                "the store of this task is in the memory of another process: use an executor with "
                "file:PATH"
            )
    address = setup.address(store or "usual")
    if address == "memory:":
        raise ValueError("a store in memory is that of an executor: pass executor=")
    place = address, key_file(keys)
    with _lock:
        known = _common.get(place)
        if known is None:
            known = _common[place] = _open(*place)
        return known


def _open(address: str, keys: str | None) -> Connection:
    try:
        seal = setup.seal(keys)
        client = _native.Client(setup.setup(address, "", keys=keys))
    except RuntimeError as error:
        raise StoreError(str(error)) from None
    return Connection(client, seal, client.close)


def _refusal(kind: str, text: str) -> Exception:
    """Return the exception for a request that was refused."""
    if kind == "conflict":
        return ConflictError(text)
    if kind == "superseded":
        return LostError(text)
    if kind == "invalid":
        return ValueError(text)
    return StoreError(text)


def _close_all() -> None:
    with _lock:
        connections = list(_common.values())
        _common.clear()
    for one in connections:
        if one._process == os.getpid():
            one.close()
            one._thread.join()


atexit.register(_close_all)
