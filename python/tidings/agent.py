"""What this machine's agent is told, and what it tells: metrics of one's own, and events of nodes.

``publish`` adds to the entry of this node; ``watch`` yields what happens to other nodes as it
happens, ``watch_async`` the same in ``asyncio``. Both begin again by themselves when the agent is
started again. They need the standard library alone.

Invariants: an event is yielded once; what was lost, because the reader was slow or the agent was
not there, is an event ``missed``.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidings.control import (
    AgentError,
    ask,
    closed,
    connect,
    default_runtime_dir,
    odd,
    result,
    socket_of,
)

_WATCH = b'{"op":"watch"}\n'
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_LINE_BYTES_MAX = 64 << 10


@dataclass(frozen=True)
class Notice:
    """Something that has happened to a node, as the agent noticed it."""

    event: str
    """joined, suspected, cleared, dead, back, left, restarted, forgotten; or missed."""
    name: str
    """The node; empty if events were missed."""
    incarnation: int
    """Of that node, 0 if it is not known."""
    time_s: float
    """When the agent noticed it, s since 1970 by its clock."""
    missed: int = 0
    """How many events were missed; 0 also if that is not known."""


def publish(
    metrics: Mapping[str, object],
    *,
    ttl_s: int = 3600,
    runtime_dir: str | os.PathLike[str] | None = None,
    timeout_s: float = 5.0,
) -> None:
    """Add metrics to the entry of this node, all or none; all nodes read them as ``user.KEY``.

    No node sees some of them without the others.

    Parameters
    ----------
    metrics
        Values by key; each is written as text.
    ttl_s
        How long they stay, s; 0 withdraws them.
    runtime_dir
        The agent's; the usual one by default.
    timeout_s
        The longest that it takes, s.

    Raises
    ------
    RefusedError
        If a key or a value cannot be published, or they have no room; nothing has changed then.
    AgentError
        If no agent can be asked, or this user is none of its operators.

    """
    path = socket_of(_directory(runtime_dir))
    texts = {key: str(value) for key, value in metrics.items()}
    request = {"op": "publish-all", "metrics": texts, "ttl_s": ttl_s}
    result(ask(path, json.dumps(request).encode() + b"\n", timeout_s), path, dict)


def watch(
    *, runtime_dir: str | os.PathLike[str] | None = None, timeout_s: float = 5.0
) -> Iterator[Notice]:
    """Return events of nodes, from now on, without end.

    An agent that is not there at the beginning is an error; one that ends later is waited for, and
    what happened meanwhile is one event ``missed``. Closing the iterator ends the connection.

    Raises
    ------
    AgentError
        If no agent can be asked at the beginning.

    """
    directory = _directory(runtime_dir)
    return _events(_begin(directory, timeout_s), directory, timeout_s)


def _events(connection: socket.socket, directory: Path, timeout_s: float) -> Iterator[Notice]:
    began_again = False
    while True:
        with connection, connection.makefile("rb") as lines:
            if began_again:
                yield _lost()
            yield from _notices(lines)
        connection, began_again = _begin_again(directory, timeout_s), True


async def watch_async(
    *, runtime_dir: str | os.PathLike[str] | None = None, timeout_s: float = 5.0
) -> AsyncIterator[Notice]:
    """Return what :func:`watch` does, in ``asyncio``: await it, and iterate by ``async for``.

    Raises
    ------
    AgentError
        If no agent can be asked at the beginning.

    """
    directory = _directory(runtime_dir)
    connection = await asyncio.to_thread(_begin, directory, timeout_s)
    return _events_async(connection, directory, timeout_s)


async def _events_async(
    connection: socket.socket, directory: Path, timeout_s: float
) -> AsyncIterator[Notice]:
    began_again = False
    while True:
        connection.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=connection, limit=_LINE_BYTES_MAX)
        try:
            if began_again:
                yield _lost()
            while line := await reader.readline():
                yield _notice(line)
        except ConnectionError:
            pass  # the agent was killed
        finally:
            writer.close()
        connection, began_again = await _begin_again_async(directory, timeout_s), True


def _directory(runtime_dir: str | os.PathLike[str] | None) -> Path:
    return Path(runtime_dir) if runtime_dir is not None else default_runtime_dir()


def _begin(directory: Path, timeout_s: float) -> socket.socket:
    """Connect, and have the agent report events from now on."""
    path = socket_of(directory)
    deadline_s = time.monotonic() + timeout_s
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connect(connection, path, deadline_s)
        connection.settimeout(timeout_s)
        connection.sendall(_WATCH)
        result(_first_line(connection, path), path, dict)
    except TimeoutError as error:
        connection.close()
        raise AgentError(f"the agent at {path} did not answer within {timeout_s:.1f} s") from error
    except (BrokenPipeError, ConnectionResetError) as error:
        connection.close()
        raise closed(path) from error
    except BaseException:
        connection.close()
        raise
    connection.settimeout(None)
    return connection


def _first_line(connection: socket.socket, path: Path) -> bytes:
    """Read the reply and no byte of the events behind it."""
    line = bytearray()
    while not line.endswith(b"\n") and len(line) < _LINE_BYTES_MAX:
        byte = connection.recv(1)
        if not byte:
            raise closed(path)
        line += byte
    return bytes(line)


def _begin_again(directory: Path, timeout_s: float) -> socket.socket:
    """Wait until there is an agent again."""
    for pause_s in _pauses():
        try:
            return _begin(directory, timeout_s)
        except AgentError:
            time.sleep(pause_s)
    raise AssertionError("there is always one more pause")


async def _begin_again_async(directory: Path, timeout_s: float) -> socket.socket:
    for pause_s in _pauses():
        try:
            return await asyncio.to_thread(_begin, directory, timeout_s)
        except AgentError:
            await asyncio.sleep(pause_s)
    raise AssertionError("there is always one more pause")


def _pauses() -> Iterator[float]:
    pause_s = _FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _notices(lines: Any) -> Iterator[Notice]:  # noqa: ANN401, a file of bytes
    try:
        while line := lines.readline(_LINE_BYTES_MAX):
            yield _notice(line)
    except ConnectionError:
        return  # the agent was killed


def _notice(line: bytes) -> Notice:
    try:
        fields = json.loads(line)
        return Notice(
            event=str(fields["event"]),
            name=str(fields.get("name") or ""),
            incarnation=int(fields.get("incarnation") or 0),
            time_s=int(fields["time_ms"]) / 1e3,
            missed=int(fields.get("missed") or 0),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise odd(default_runtime_dir(), str(error)) from error


def _lost() -> Notice:
    return Notice("missed", "", 0, time.time())
