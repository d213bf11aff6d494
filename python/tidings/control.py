"""The control socket: a line to this machine's agent, and the line that comes back.

One connection a request (docs/reference/control.md). It needs the standard library alone.

Invariants: a call takes no longer than its limit and reads no more than 256 MiB, whatever the agent
does; an error says what was wrong, where, and what to do, as the command does.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

REPLY_BYTES_MAX = 256 << 20
REQUEST_BYTES_MAX = 64 << 10


class PickError(Exception):
    """No nodes were picked; the message says why, and what to do."""


class AgentError(PickError):
    """No agent can be asked: none runs, this user may not ask it, or it closed the connection."""


class AgentTimeoutError(AgentError):
    """The agent did not answer in time."""


class RefusedError(PickError):
    """The agent refused the request. ``kind`` is that of docs/reference/control.md."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


def default_runtime_dir() -> Path:
    """Name the directory of the agent that is asked, as in docs/reference/control.md."""
    if named := os.environ.get("TIDINGS_RUNTIME_DIR"):
        return Path(named)
    machine = Path("/run/tidings")
    if os.getuid() == 0:
        return machine
    xdg = os.environ.get("XDG_RUNTIME_DIR")
    own = Path(xdg) / "tidings" if xdg else Path(f"/tmp/tidings-{os.getuid()}")
    return machine if not _has_agent(own) and _has_agent(machine) else own


def _has_agent(directory: Path) -> bool:
    """Whether an agent has begun in a directory."""
    return any((directory / name).exists() for name in ("board", "control.sock"))


def socket_of(directory: Path) -> Path:
    """Name the socket for all requests, or where this user may not open it, the one for reading."""
    control, reading = directory / "control.sock", directory / "read.sock"
    closed = control.exists() and not os.access(control, os.W_OK)
    return reading if closed and os.access(reading, os.W_OK) else control


def ask(path: Path, line: bytes, timeout_s: float) -> bytes:
    """Send the line, and return the line that comes back."""
    deadline_s = time.monotonic() + timeout_s
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connect(connection, path, deadline_s)
            connection.settimeout(left_s(deadline_s))
            connection.sendall(line)
            return read_line(connection, deadline_s, path)
        except TimeoutError as error:
            raise AgentTimeoutError(
                f"the agent at {path} did not answer within {timeout_s:.1f} s: it may be stopped "
                "or overloaded"
            ) from error
        except (BrokenPipeError, ConnectionResetError) as error:
            raise closed(path) from error
        except OSError as error:
            raise AgentError(f"talking to the agent at {path} failed: {error}") from error


def connect(connection: socket.socket, path: Path, deadline_s: float) -> None:
    """Connect to an agent, whose backlog may be full for a moment."""
    # A stopped agent's backlog fills up; a non-blocking socket reports that.
    connection.setblocking(False)
    while True:
        try:
            connection.connect(str(path))
        except BlockingIOError:
            left_s(deadline_s)
            time.sleep(1e-3)
        except PermissionError as error:
            raise AgentError(
                f"the agent's socket {path} may not be opened by this user: run the program as "
                f"the agent's user, or as a member of its group ({error.strerror})"
            ) from error
        except OSError as error:
            raise AgentError(
                f"no agent answers at {path}: start one with `tidings agent`, or name its runtime "
                f"directory with runtime_dir ({error.strerror or error})"
            ) from error
        else:
            return


def left_s(deadline_s: float) -> float:
    """Return how much of the time is left, s, or raise TimeoutError."""
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def read_line(connection: socket.socket, deadline_s: float, path: Path) -> bytes:
    """Read one line."""
    parts: list[bytes] = []
    received = 0
    while not (parts and parts[-1].endswith(b"\n")):
        connection.settimeout(left_s(deadline_s))
        part = connection.recv(1 << 16)
        if not part:
            raise closed(path)
        parts.append(part)
        received += len(part)
        if received > REPLY_BYTES_MAX:
            raise odd(path, f"more than {REPLY_BYTES_MAX} bytes in one reply")
    return b"".join(parts)


def closed(path: Path) -> AgentError:
    """Make the error of a connection that the agent has closed."""
    return AgentError(f"the agent at {path} closed the connection: it has left or ended")


def odd(path: Path, reason: str) -> AgentError:
    """Make the error of a reply that cannot be understood."""
    return AgentError(
        f"the agent at {path} answered what this package does not understand ({reason}): are both "
        "of the same version?"
    )


def refusal(error: Mapping[str, Any]) -> RefusedError:
    """Make the error that a reply has."""
    return RefusedError(str(error["message"]), str(error["kind"]))


def result(
    reply: bytes,
    path: Path,
    read: Callable[[Any], T],
    refused: Callable[[Mapping[str, Any]], RefusedError] = refusal,
) -> T:
    """Read the result in a reply, or raise the error in it."""
    try:
        envelope = json.loads(reply)
        if envelope["ok"]:
            return read(envelope["result"])
        no = refused(envelope["error"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise odd(path, str(error)) from error
    raise no
