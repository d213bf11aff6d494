"""Spaces: tuples by which processes coordinate that do not know each other.

A tuple is put into a named space, and found by what is in it: a field of a template is a value, a
type (``int``, ``float``, ``str``, ``bytes``, ``bool``, ``Handle``) for any value of that, or
``ANY``. What was pulled nobody else sees, until it is consumed or given back. In a task it belongs
to the task: it is consumed in the commit by which the task is done, and there again if the task
fails or is killed. Outside of tasks it belongs to this process, and is there again when that dies.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from tidings.tasks import connection, context
from tidings.tasks.connection import Session
from tidings.tasks.errors import LostError
from tidings.tasks.handles import Handle, of_field

if TYPE_CHECKING:
    from tidings.tasks.executor import Executor

# The value of a field.
Value = Union[int, float, str, bytes, bool, Handle]

_TYPES = (int, float, str, bytes, bool, Handle)


class _Any:
    """Any value of a field."""

    def __repr__(self) -> str:
        """Return its name."""
        return "ANY"


ANY = _Any()


class Found(NamedTuple):
    """In a field that ``execute`` puts: the field of a tuple that it has found, both from 0."""

    tuple: int
    field: int


class Pulled:
    """A tuple that nobody else sees. Used in ``with``: leaving consumes it, an exception does not.

    Given back, or dropped outside of a task, it is there again.
    """

    def __init__(self, space: Space, number: int, fields: tuple[Value, ...]) -> None:
        self.fields = fields
        self._space = space
        self._number = number
        # The try of the task that has it, None if it is this process.
        self._owner = _owner()
        self._session = space._session
        self._lapses = self._session.lapses
        # In a task it ends with that.
        self._finalizer = weakref.finalize(
            self, _give_back, self._session, number, is_of_task=self._owner is not None
        )
        self._finalizer.atexit = False

    @property
    def lost(self) -> bool:
        """Whether others may have it, since this process was silent for some seconds."""
        return self._owner is None and self._session.lapses > self._lapses

    def consume(self) -> None:
        """Consume it: it does not come back. A LostError says that others may have it."""
        self._settle(is_gone=True)

    def give_back(self) -> None:
        """Give it back: it is there again, in its old turn. Settled before, nothing happens."""
        if self._finalizer.alive:
            self._settle(is_gone=False)

    def __len__(self) -> int:
        """Return how many fields it has."""
        return len(self.fields)

    def __getitem__(self, at: int) -> Value:
        """Return a field."""
        return self.fields[at]

    def __iter__(self) -> Iterator[Value]:
        """Return the fields."""
        return iter(self.fields)

    def __repr__(self) -> str:
        """Return what it is."""
        return f"Pulled{self.fields!r}"

    def __enter__(self) -> Pulled:
        """Have it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Consume it, or give it back after an exception."""
        if not self._finalizer.alive:
            return
        if kind is None:
            self._settle(is_gone=True)
            return
        # It may be there already.
        with contextlib.suppress(LostError):
            self._settle(is_gone=False)

    def _settled(self) -> tuple[int, bool]:
        """Return how a statement consumes it, which settles it."""
        if self._finalizer.detach() is None:
            raise LostError("the tuple was consumed or given back before")
        return self._number, True

    def _settle(self, *, is_gone: bool) -> None:
        number, _ = self._settled()
        self._session.ask(
            self._session.native.execute, [], [], [(number, is_gone)], (False, self._owner, None)
        )


class Space:
    """A space of tuples that the processes of a store share.

    It is there as long as it has tuples. ``store``, ``executor`` and ``keys`` are as of ``Queue``.
    A tuple has 1 to 16 fields and at most 16 KiB; what is larger is ``put``, and its handle goes
    into the tuple.
    """

    def __init__(
        self,
        name: str,
        *,
        store: str | None = None,
        executor: Executor | None = None,
        keys: str | os.PathLike[str] | None = None,
    ) -> None:
        self.name = name
        self._connection = connection.connection_of(store, executor, keys)
        self._session = self._connection.own

    def put(self, *fields: Value) -> None:
        """Put a tuple. It is durable when this returns."""
        self._do([], [(self.name, _terms(fields))], consumes=True, timeout=None)

    def read(self, *template: Any, timeout: float | None = None) -> tuple[Value, ...]:
        """Return the oldest tuple that matches, and leave it there.

        Wait for one at most ``timeout`` seconds; then a TimeoutError is raised.
        """
        return self._one(template, pulls=False, consumes=False, timeout=timeout)[1]

    def try_read(self, *template: Any) -> tuple[Value, ...] | None:
        """Return the oldest tuple that matches, None if there is none now."""
        found = self._found(template, pulls=False, consumes=False, timeout=0)
        return None if found is None else found[1]

    def pull(self, *template: Any, timeout: float | None = None) -> Pulled:
        """Pull the oldest tuple that matches: nobody else sees it, until it is settled.

        ``with space.pull("job", int) as (_, number): ...`` consumes it at the end of the block, and
        gives it back if that raises. In a task it need not be settled: it ends with the task.
        """
        number, fields = self._one(template, pulls=True, consumes=False, timeout=timeout)
        return Pulled(self, number, fields)

    def try_pull(self, *template: Any) -> Pulled | None:
        """Pull the oldest tuple that matches, None if there is none now."""
        found = self._found(template, pulls=True, consumes=False, timeout=0)
        return None if found is None else Pulled(self, *found)

    def take(self, *template: Any, timeout: float | None = None) -> tuple[Value, ...]:
        """Consume the oldest tuple that matches, at once: it does not come back."""
        return self._one(template, pulls=True, consumes=True, timeout=timeout)[1]

    def execute(
        self,
        *,
        takes: Sequence[Sequence[Any]] = (),
        reads: Sequence[Sequence[Any]] = (),
        puts: Sequence[Sequence[Any]] = (),
        consumes: Sequence[Pulled] = (),
        timeout: float | None = None,
    ) -> list[tuple[Value, ...]]:
        """Take and read tuples, put others and consume what was pulled, all in one commit.

        Return what was found: first what ``takes`` have found, then what ``reads`` have. Each has a
        tuple of its own. A field of ``puts`` may be ``Found(tuple, field)``. It waits until all is
        there at a time, at most ``timeout`` seconds; it reserves nothing meanwhile.
        """
        ins = [(self.name, _patterns(one), True) for one in takes]
        ins += [(self.name, _patterns(one), False) for one in reads]
        outs = [(self.name, _terms(one)) for one in puts]
        owner = next((one._owner for one in consumes if one._owner is not None), None)
        settled = [one._settled() for one in consumes]
        found = self._do(ins, outs, settled, consumes=True, owner=owner, timeout=timeout)
        if found is None:
            raise TimeoutError(f"not all of it was in {self.name} in {timeout} s")
        return [fields for _, fields in found]

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        """Return the tuples that are there and not pulled, oldest first."""
        own, start = self._session, None
        while True:
            page, start = own.ask(own.native.tuples, self.name, start)
            for _, fields, is_claimed in page:
                if not is_claimed:
                    yield self._fields(fields)
            if start is None:
                return

    def _one(
        self, template: Sequence[Any], *, pulls: bool, consumes: bool, timeout: float | None
    ) -> tuple[int, tuple[Value, ...]]:
        found = self._found(template, pulls=pulls, consumes=consumes, timeout=timeout)
        if found is None:
            raise TimeoutError(f"no tuple that matches came to {self.name} in {timeout} s")
        return found

    def _found(
        self, template: Sequence[Any], *, pulls: bool, consumes: bool, timeout: float | None
    ) -> tuple[int, tuple[Value, ...]] | None:
        wanted = [(self.name, _patterns(template), pulls)]
        owner = _owner() if pulls and not consumes else None
        found = self._do(wanted, [], consumes=consumes, owner=owner, timeout=timeout)
        return None if found is None else found[0]

    def _do(
        self,
        ins: list[Any],
        outs: list[Any],
        settled: Sequence[tuple[int, bool]] = (),
        *,
        consumes: bool,
        timeout: float | None,
        owner: tuple[bytes, int] | None = None,
    ) -> list[tuple[int, tuple[Value, ...]]] | None:
        wait_ms = None if timeout is None else max(0, -int(-timeout * 1_000 // 1))
        session = self._session
        future = session.begin(
            session.native.execute, ins, outs, list(settled), (consumes, owner, wait_ms)
        )
        try:
            found = future.result()
        except BaseException:
            # Nobody waits any more: it is withdrawn, unless it was answered.
            session.give_up(future)
            raise
        if found is None:
            return None
        return [(number, self._fields(fields)) for number, fields, _ in found]

    def _fields(self, fields: tuple[Any, ...]) -> tuple[Value, ...]:
        return tuple(of_field(one, self._connection) for one in fields)


def _owner() -> tuple[bytes, int] | None:
    """Return the try of a task that this process does now."""
    task = context.task_id()
    return None if task is None else (bytes.fromhex(task), context.attempt())


def _patterns(template: Sequence[Any]) -> list[tuple[int, Any]]:
    return [_pattern(one) for one in template]


def _pattern(wanted: Any) -> tuple[int, Any]:
    if wanted is ANY:
        return 2, None
    if isinstance(wanted, type):
        if wanted not in _TYPES:
            raise TypeError(
                f"no field is a {wanted.__name__}: int, float, str, bytes, bool, Handle, or ANY"
            )
        return 1, wanted.__name__
    return 0, wanted


def _terms(fields: Sequence[Any]) -> list[tuple[int, Any]]:
    return [(1, tuple(one)) if isinstance(one, Found) else (0, one) for one in fields]


def _give_back(session: Session, number: int, *, is_of_task: bool) -> None:
    """Give back a tuple that nobody holds any more; that of a task ends with the task."""
    if is_of_task:
        return
    try:
        session.begin(session.native.execute, [], [], [(number, False)], (False, None, None))
    except Exception:
        return  # the connection has ended, and with it the session
