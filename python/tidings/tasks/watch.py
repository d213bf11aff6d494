"""Changes of keys, as they come.

The keys are listed once, then what has changed since is asked for. When the store no longer holds
all changes, since the process that served it has died, the keys are listed again and compared: so
the last value of each key is always reported, though not each one between.
"""

from __future__ import annotations

import concurrent.futures
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tidings.tasks import seal
from tidings.tasks.connection import Connection, Session

if TYPE_CHECKING:
    from types import TracebackType

    from tidings.tasks.serializers import Serializer

# Keys of one page.
_PAGE = 1_000

# A key, its value if it has one, and the revision at which that was written.
_Raw = tuple[bytes, "bytes | None", int]


class Change(NamedTuple):
    """A key that was written or deleted.

    The value of a deleted key is None. The revision is that of the write; of a key whose deletion
    was found by comparison it is that of its last value.
    """

    key: str
    value: Any
    revision: int
    is_deleted: bool


class Changes(Iterator[Change]):
    """Changes of the keys that begin with a prefix; ``Store.watch`` makes it.

    Changes count from the moment at which it was made. It has a session of its own, which ends with
    ``close()``, with the ``with`` block or with the object.
    """

    def __init__(
        self,
        connection: Connection,
        serializer: Serializer,
        prefix: bytes,
        *,
        present: bool,
        timeout: float | None,
    ) -> None:
        self._session: Session | None = None
        self._serializer = serializer
        self._prefix = prefix
        self._timeout = timeout
        self._ready: deque[_Raw] = deque()
        # The revisions of the keys that have a value.
        self._held: dict[bytes, int] = {}
        self._asked: concurrent.futures.Future[Any] | None = None
        self._session = session = Session(connection)
        _, self._seen = session.ask(session.native.changes, prefix, None)
        if present:
            self._list(lambda _: True)
        else:
            # What was written meanwhile is reported by its change.
            self._list(lambda revision: revision <= self._seen)
            self._ready.clear()

    def __next__(self) -> Change:
        """Return the next change; end if none comes within the time, or after ``close``."""
        while not self._ready:
            if self._session is None:
                raise StopIteration
            if self._asked is None:
                changes = self._session.native.changes
                self._asked = self._session.begin(changes, self._prefix, self._seen)
            try:
                told, seen = self._asked.result(self._timeout)
            except concurrent.futures.TimeoutError:
                raise StopIteration from None
            self._asked, self._seen = None, seen
            if told is None:
                self._list(lambda _: True)
            else:
                self._take(told)
        return self._change(*self._ready.popleft())

    def close(self) -> None:
        """End it. What was not taken is gone."""
        session, self._session = self._session, None
        if session is not None:
            self._ready.clear()
            session.leave()

    def __enter__(self) -> Changes:
        """Return it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End it."""
        self.close()

    def __del__(self) -> None:
        """End it with the object."""
        self.close()

    def _take(self, told: list[_Raw]) -> None:
        """Report changes that are later than what is held."""
        for key, value, revision in told:
            if self._held.get(key, -1) >= revision:
                continue
            if value is None:
                self._held.pop(key, None)
            else:
                self._held[key] = revision
            self._ready.append((key, value, revision))

    def _list(self, is_held: Callable[[int], bool]) -> None:
        """Read the keys, and report what differs from what is held."""
        gone, self._held = self._held, {}
        for key, value, revision in self._pages():
            before = gone.pop(key, None)
            if not is_held(revision):
                continue
            self._held[key] = revision
            if before != revision:
                self._ready.append((key, value, revision))
        self._ready.extend((key, None, revision) for key, revision in gone.items())

    def _pages(self) -> Iterator[tuple[bytes, bytes, int]]:
        session = self._session
        start = None
        while session is not None:
            values, start = session.ask(session.native.keys, self._prefix, start, _PAGE)
            yield from values
            if start is None:
                return

    def _change(self, key: bytes, value: bytes | None, revision: int) -> Change:
        name = key.decode(errors="surrogateescape")
        if value is None:
            return Change(name, None, revision, is_deleted=True)
        loaded = self._serializer.loads(seal.VALUE, key, value)
        return Change(name, loaded, revision, is_deleted=False)
