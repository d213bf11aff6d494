"""Jobs: items of a queue that this process has claimed.

A job is this process's as long as its session lasts: the native module is heard of for it, also
while Python computes. When the process dies or freezes, others get the job within seconds.

Invariant: a job ends once here, by completion, failure, return or its lease.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from types import TracebackType
from typing import Any

from tidings.tasks import seal
from tidings.tasks.connection import Given, Session
from tidings.tasks.effects import Effect, Effects
from tidings.tasks.errors import LostError, TaskError
from tidings.tasks.serializers import Serializer

_MAX_TEXT = 1_000


class Job:
    """An item that was claimed. Used in ``with``: leaving completes it, an exception fails it."""

    def __init__(
        self,
        session: Session,
        given: Given,
        serializer: Serializer,
        lease_ms: int,
        *,
        is_last: bool,
    ) -> None:
        self._task, self._attempt, self._data, self._fault = given
        self._session = session
        self._serializer = serializer
        self._effects = Effects(self._task, session.seal)
        self._lock = threading.Lock()
        self._is_last = is_last
        self._has_ended = False
        self._is_late = False
        self.result: Any = None
        # One that nobody holds any more goes to others.
        self._finalizer = weakref.finalize(self, session.leave)
        self._finalizer.atexit = False
        self._timer: threading.Timer | None = None
        if lease_ms:
            self._timer = threading.Timer(lease_ms / 1_000, _expire, [weakref.ref(self)])
            self._timer.daemon = True
            self._timer.start()

    @property
    def id(self) -> str:
        """The id of the task: 32 hexadecimal digits."""
        return self._task.hex()

    @property
    def attempt(self) -> int:
        """Which try it is, from 1."""
        return self._attempt

    @property
    def lost(self) -> bool:
        """Whether others have it: it took longer than its lease, or this process was silent."""
        return self._is_late or (self._task, self._attempt) in self._session.lost

    @property
    def data(self) -> Any:
        """What was put. A ValueError if the serializer cannot read it."""
        if self._data is None:
            raise ValueError(f"the data of job {self.id} cannot be had: {self._fault}")
        return self._serializer.loads(seal.DATA, self._task, self._data)

    def effect(self, *, serializer: str = "json") -> Effect:
        """Return what collects writes that are in the same commit as the completion."""
        return Effect(self._effects, serializer)

    def complete(self, result: Any = None) -> None:
        """Complete it, with its effects; ``result`` stays in the record of the task.

        A LostError says that another has the job by now, and that nothing was written.
        """
        if not self._end():
            if self._is_late:
                raise LostError("the job took longer than its lease: others have it")
            return
        result = self.result if result is None else result
        at = (self._task, self._attempt)
        effects = self._effects
        try:
            data = b"" if result is None else self._serializer.dumps(result)
            data = self._serializer.close(seal.RESULT, self._task, data)
            self._session.ask(
                self._session.native.complete,
                at,
                data,
                effects.items,
                effects.native_writes(),
                effects.puts,
            )
        except (LostError, KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:
            # The job is still this session's.
            self._fail(f"its completion was refused: {error}", is_late=False)
            raise
        finally:
            self._let_go()

    def fail(self, error: BaseException | str) -> None:
        """Fail it: it is tried again, or is among the dead, as ``put`` has said."""
        if self._end():
            try:
                self._fail(_words(error), is_late=False)
            finally:
                self._let_go()

    def give_back(self) -> None:
        """Give it back: others get it at once, and it does not count as a failure."""
        if self._end():
            self._is_last = True
            self._let_go()

    def __enter__(self) -> Job:
        """Hold it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Complete it, fail it with the exception, or give it back if this process ends."""
        if error is None:
            self.complete()
        elif isinstance(error, Exception):
            self.fail(error)
        else:
            self.give_back()

    def _end(self) -> bool:
        """Note that it ends; return whether it had not before."""
        with self._lock:
            had_ended, self._has_ended = self._has_ended, True
        if self._timer is not None:
            self._timer.cancel()
        return not had_ended

    def _fail(self, text: str, *, is_late: bool) -> None:
        at = (self._task, self._attempt)
        self._session.ask(self._session.native.fail, at, is_late, text)

    def _let_go(self) -> None:
        self._finalizer.detach()
        if self._is_last:
            left = self._session.leave()
            if left is not None:
                left.result()


def _expire(job: weakref.ref[Job]) -> None:
    """End a job whose lease is over: it counts as lost.

    If that cannot be said, because the executor ends at this moment or others have the job by now,
    the job goes to others all the same.
    """
    late = job()
    if late is None or not late._end():
        return
    late._is_late = True
    with contextlib.suppress(TaskError):
        try:
            late._fail("it took longer than its lease", is_late=True)
        finally:
            late._let_go()


def _words(error: BaseException | str) -> str:
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return text[:_MAX_TEXT]
