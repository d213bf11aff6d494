"""Effects: writes that are in the same commit as the end of a task or job.

They are collected while it runs and go with its completion. A try that is no longer the last one
completes nothing, so it writes nothing.

Invariant: what is collected is within the bounds of one completion, and no key is in it twice. Of
tuples the number is checked here, the native module checks the rest.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

import tidings.tasks._native as _native
from tidings.tasks import seal
from tidings.tasks.options import milliseconds
from tidings.tasks.seal import Seal
from tidings.tasks.serializers import Serializer

if TYPE_CHECKING:
    from tidings.tasks.handles import Handle

# As crates/tasks-core/src/message has them.
MAX_WRITES = 64
MAX_TUPLES = 16
MAX_ITEMS = 1_000
MAX_BYTES = 16 * 1_024
MAX_KEY_BYTES = 510

# A key's new value if it is to have one, and the revision that is expected of it.
Write = tuple["bytes | None", "int | None"]


def key_of(key: str) -> bytes:
    """Return a key as bytes, or say what is wrong with it."""
    encoded = key.encode(errors="surrogateescape")
    if not 1 <= len(encoded) <= MAX_KEY_BYTES:
        raise ValueError(f"a key has 1 to {MAX_KEY_BYTES} bytes, not {len(encoded)}")
    return encoded


def value_of(key: bytes, value: Any, serializer: Serializer) -> bytes:
    """Return the value of a key as bytes, or say that it is too long."""
    return _short(serializer.close(seal.VALUE, key, serializer.dumps(value)))


def _short(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise ValueError(
            f"a value has at most {MAX_BYTES} bytes, not {len(data)}: write it to a file, and keep "
            "the name of that"
        )
    return data


# An item that has no id yet, and what seals its data.
_Item = tuple[dict[str, Any], Serializer]

# The name of a space, and the fields of a tuple.
_Tuple = tuple[str, list[Any]]


def item(
    queue: str,
    data: bytes,
    *,
    delay: float | str | None,
    priority: int,
    group: str,
    retries: int,
) -> dict[str, Any]:
    """Return an item for a queue as the native module takes it, but for its id."""
    return {
        "queue": queue,
        "data": data,
        "group": group,
        "priority": priority,
        "delay_ms": milliseconds(delay),
        "retries": retries,
    }


class Effects:
    """All that a task is to write when it is done."""

    def __init__(self, task: bytes, sealed_by: Seal) -> None:
        self.task = task
        self.seal = sealed_by
        self.items: list[dict[str, Any]] = []
        self.writes: dict[bytes, Write] = {}
        self.puts: list[_Tuple] = []

    def add(self, items: list[_Item], writes: dict[bytes, Write], puts: list[_Tuple]) -> None:
        """Add some: a key that was written before has its last value."""
        keys = len({*self.writes, *writes})
        if keys > MAX_WRITES:
            raise ValueError(f"a task writes at most {MAX_WRITES} keys, not {keys}")
        number = len(self.items) + len(items)
        if number > MAX_ITEMS:
            raise ValueError(f"a task puts at most {MAX_ITEMS} items, not {number}")
        tuples = len(self.puts) + len(puts)
        if tuples > MAX_TUPLES:
            raise ValueError(f"a task puts at most {MAX_TUPLES} tuples, not {tuples}")
        for one, serializer in items:
            # By its place: a try that is made again puts the same ones.
            task = _native.child_id(self.task, len(self.items))
            data = _short(serializer.close(seal.DATA, task, one["data"]))
            self.items.append({**one, "task": task, "data": data})
        self.writes.update(writes)
        self.puts += puts

    def native_writes(self) -> list[tuple[bytes, bytes | None, int | None]]:
        """Return the writes as the native module takes them."""
        return [(key, value, expect) for key, (value, expect) in self.writes.items()]


class Effect:
    """What collects writes in a ``with`` block; left by an exception, it drops them."""

    def __init__(self, effects: Effects, serializer: str = "json") -> None:
        self._effects = effects
        self._serializer = Serializer(serializer, effects.seal)
        self._items: list[_Item] = []
        self._writes: dict[bytes, Write] = {}
        self._puts: list[_Tuple] = []
        self.store = Writes(self._writes, self._serializer)

    def queue(self, name: str, *, serializer: str | None = None) -> Puts:
        """Return the queue to put items into."""
        return Puts(name, self._items, self._serializer.called(serializer))

    def space(self, name: str) -> Tuples:
        """Return the space to put tuples into."""
        return Tuples(name, self._puts)

    def __enter__(self) -> Effect:
        """Begin to collect."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let all of it go with the completion."""
        if kind is None:
            self._effects.add(self._items, self._writes, self._puts)


class Writes:
    """Keys as an effect writes them. They are read with ``tidings.tasks.Store``."""

    def __init__(self, writes: dict[bytes, Write], serializer: Serializer) -> None:
        self._writes = writes
        self._serializer = serializer

    def __setitem__(self, key: str, value: Any) -> None:
        """Write a key, whatever it has."""
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        """Delete a key, whether it has a value or not."""
        self._writes[key_of(key)] = (None, None)

    def set(self, key: str, value: Any, *, expect: int | None = None) -> None:
        """Write a key; the completion is refused if it is not at the revision ``expect`` then.

        0 expects that it has no value.
        """
        name = key_of(key)
        self._writes[name] = (value_of(name, value, self._serializer), expect)


class Puts:
    """A queue as an effect puts items into it."""

    def __init__(self, name: str, items: list[_Item], serializer: Serializer) -> None:
        self._name = name
        self._items = items
        self._serializer = serializer

    def put(
        self,
        data: Any,
        *,
        delay: float | str | None = None,
        priority: int = 0,
        group: str = "",
        retries: int = 0,
    ) -> None:
        """Put an item: at most 16 KiB. See ``tidings.tasks.Queue.put``."""
        made = item(
            self._name,
            _short(self._serializer.dumps(data)),
            delay=delay,
            priority=priority,
            group=group,
            retries=retries,
        )
        self._items.append((made, self._serializer))


class Tuples:
    """A space as an effect puts tuples into it."""

    def __init__(self, name: str, puts: list[_Tuple]) -> None:
        self._name = name
        self._puts = puts

    def put(self, *fields: int | float | str | bytes | bool | Handle) -> None:
        """Put a tuple, in the commit in which what the task has pulled is consumed."""
        self._puts.append((self._name, list(fields)))
