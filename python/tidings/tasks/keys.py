"""Keys: what programs and tasks keep in the store under names of their own.

``tidings.tasks.effect`` writes them with the end of a task; here they are read, and written by
themselves. ``tidings store`` shows the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tidings.tasks import connection, seal
from tidings.tasks.effects import key_of, value_of
from tidings.tasks.serializers import Serializer
from tidings.tasks.watch import Changes

if TYPE_CHECKING:
    from tidings.tasks.executor import Executor

# Keys of one page.
_PAGE = 1_000


class Stored(NamedTuple):
    """A value, and the revision at which it was written."""

    value: Any
    revision: int


class Store:
    """The keys of a store: texts with values of at most 16 KiB.

    ``store``, ``executor``, ``keys`` and ``serializer`` are as of ``Queue``. Reads and writes wait
    for the store; a write is durable when it returns.
    """

    def __init__(
        self,
        store: str | None = None,
        *,
        executor: Executor | None = None,
        keys: str | os.PathLike[str] | None = None,
        serializer: str = "json",
    ) -> None:
        self._connection = connection.connection_of(store, executor, keys)
        self._serializer = Serializer(serializer, self._connection.seal)

    def read(self, key: str) -> Stored | None:
        """Return the value of a key with its revision, None if it has no value."""
        own = self._connection.own
        values, _ = own.ask(own.native.read, [key_of(key)])
        for name, value, revision in values:
            return Stored(self._serializer.loads(seal.VALUE, name, value), revision)
        return None

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        found = self.read(key)
        return default if found is None else found.value

    def set(self, key: str, value: Any, *, expect: int | None = None) -> int:
        """Write a key; return its revision.

        With ``expect`` it is written only if it is at that revision (0: has no value); else a
        ConflictError says so. One that comes after the store's holder has died may be about the
        write itself: read the key then.
        """
        name = key_of(key)
        return self._write(name, value_of(name, value, self._serializer), expect)

    def delete(self, key: str, *, expect: int | None = None) -> None:
        """Delete a key, whether it has a value or not."""
        self._write(key_of(key), None, expect)

    def items(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Return the keys that begin so with their values, in their order."""
        for key, value in self._pages(prefix):
            loaded = self._serializer.loads(seal.VALUE, key, value)
            yield key.decode(errors="surrogateescape"), loaded

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return the keys that begin so, in their order."""
        for key, _ in self._pages(prefix):
            yield key.decode(errors="surrogateescape")

    def watch(
        self, prefix: str = "", *, present: bool = False, timeout: float | None = None
    ) -> Changes:
        """Return the changes of keys that begin so, from now on, as they come.

        With ``present`` the values that are there come first. It ends when nothing has changed for
        ``timeout`` seconds, or with ``close()``. If the store's holder dies, a value that was
        followed by another meanwhile may be left out; the last one of each key never is.
        """
        begins = prefix.encode(errors="surrogateescape")
        return Changes(self._connection, self._serializer, begins, present=present, timeout=timeout)

    def __getitem__(self, key: str) -> Any:
        """Return the value of a key."""
        found = self.read(key)
        if found is None:
            raise KeyError(key)
        return found.value

    def __setitem__(self, key: str, value: Any) -> None:
        """Write a key, whatever it has."""
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        """Delete a key that has a value."""
        found = self.read(key)
        if found is None:
            raise KeyError(key)
        self.delete(key)

    def __contains__(self, key: str) -> bool:
        """Return whether a key has a value."""
        own = self._connection.own
        values, _ = own.ask(own.native.read, [key_of(key)])
        return bool(values)

    def __iter__(self) -> Iterator[str]:
        """Return all keys in their order."""
        return self.keys()

    def _write(self, key: bytes, value: bytes | None, expect: int | None) -> int:
        own = self._connection.own
        return int(own.ask(own.native.write, [(key, value, expect)]))

    def _pages(self, prefix: str) -> Iterator[tuple[bytes, bytes]]:
        own = self._connection.own
        start, begins = None, prefix.encode(errors="surrogateescape")
        while True:
            values, start = own.ask(own.native.keys, begins, start, _PAGE)
            for key, value, _ in values:
                yield key, value
            if start is None:
                return
