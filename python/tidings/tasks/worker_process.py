"""The process that calls functions for a worker.

It is given calls over a socket that it inherits, makes one at a time, and says how each has ended.
When the socket closes it ends. What functions print is the log of their task.

It may be started before there is a slot for it, so that it replaces another one at once: then it is
told which slot it has before the first call.

It has the next calls already while it makes one. Such a call may be taken back until it begins:
there is a pipe with a byte for each of them, and it begins one with such a byte, or not at all.

Source: the protocol is that of ``crates/tasks/src/runtime.rs``.
"""

from __future__ import annotations

import base64
import collections
import concurrent.futures
import fcntl
import os
import platform
import socket
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Union

import tidings.tasks._native as _native
from tidings.tasks import context, failures, inputs, pickles
from tidings.tasks.errors import NoSpaceError
from tidings.tasks.seal import CALL, FAILURE, RESULT, Seal
from tidings.tasks.usage import Meter

_MAX_FRAME_BYTES = 64 << 20
_CHUNK = 1 << 16

# How many calls it may have beside the one that it makes.
_AHEAD = 64

_NOTHING = bytes(4)

# An input, and its sealed result: bytes, or path, start and length.
Given = tuple[bytes, Union[bytes, "tuple[str, int, int]"]]

# A call as it was given: task, attempt, queue, body, inputs.
Call = tuple[bytes, int, str, bytes, "list[Given]"]


class Channel:
    """The socket to the worker, and the pipe with a byte for each call that came ahead."""

    def __init__(self, stream: socket.socket, permits: int | None = None) -> None:
        self._stream = stream
        self._permits = permits
        self._buffer = bytearray()
        self._calls: collections.deque[tuple[Any, ...]] = collections.deque()
        self._cancelled: tuple[bytes, int] | None = None
        self._is_held = False
        self.ahead = 0 if permits is None else _AHEAD

    def send(self, frame: bytes) -> None:
        """Say something."""
        self._stream.sendall(frame)

    def next_call(self) -> Call | None:
        """Return the next call; None when the worker is gone."""
        while True:
            if self._calls and not self._is_held:
                _, task, attempt, queue, body, given, is_ahead = self._calls[0]
                if not is_ahead or self._may_begin():
                    self._calls.popleft()
                    return task, attempt, queue, body, given
            if not self._read(0):
                return None
            self._hear()

    def is_cancelled(self, task: bytes, attempt: int) -> bool:
        """Return whether the worker has said that nobody wants this try."""
        while self._read(socket.MSG_DONTWAIT):
            pass
        self._hear()
        return self._cancelled == (task, attempt)

    def report(self, task: bytes, attempt: int, thousandths: int, text: str) -> None:
        """Say how far a try is."""
        self.send(_native.progress(task, attempt, thousandths, text))

    def hold(self) -> bool:
        """Return whether output is to be read before the next call: until then there is none."""
        self._is_held = self._permits is not None and not (_is_read(1) and _is_read(2))
        return self._is_held

    def _may_begin(self) -> bool:
        """Return whether the next call was not taken back; if it was, that will be said."""
        try:
            return self._permits is not None and bool(os.read(self._permits, 1))
        except BlockingIOError:
            return False

    def _hear(self) -> None:
        """Take all that was said."""
        for said in self._said():
            kind = said[0]
            if kind == "run":
                self._calls.append(said)
            elif kind == "withdraw":
                is_it = (call[1:3] == said[1:3] for call in self._calls)
                del self._calls[next(at for at, found in enumerate(is_it) if found)]
            elif kind == "slot":
                # It has waited, and another one of the slot was lost.
                os.environ["TIDINGS_SLOT"] = str(said[1])
            elif kind == "cancel":
                self._cancelled = (said[1], said[2])
            else:
                self._is_held = False

    def _read(self, flags: int) -> bool:
        try:
            chunk = self._stream.recv(_CHUNK, flags)
        except BlockingIOError:
            return False
        self._buffer += chunk
        return bool(chunk)

    def _said(self) -> list[tuple[Any, ...]]:
        """Return all frames that are there as a whole."""
        buffer, begin, said = self._buffer, 0, []
        while len(buffer) >= begin + 4:
            end = begin + 4 + int.from_bytes(buffer[begin : begin + 4], "little")
            if end - begin - 4 > _MAX_FRAME_BYTES:
                raise ValueError(
                    f"the worker sends a frame of {end - begin - 4} bytes: it is no worker"
                )
            if len(buffer) < end:
                break
            said.append(_native.decode(bytes(memoryview(buffer)[begin + 4 : end])))
            begin = end
        del buffer[:begin]
        return said


class Process:
    """What a process does: it is set up once, then calls what it is given."""

    def __init__(self, channel: Channel, seal: Seal, initial: bytes | None) -> None:
        self._channel = channel
        self._seal = seal
        self._initial = initial
        self._failed: BaseException | None = None
        self._meter = Meter()

    def run(self) -> None:
        """Call until the worker is gone."""
        version = f"Python {platform.python_version()}"
        self._channel.send(_native.ready(version, self._channel.ahead))
        while (call := self._channel.next_call()) is not None:
            task, attempt, queue, body, given = call
            self._meter.begin()
            inputs.give({task: self._reader(task, value) for task, value in given})
            answer = self._answer(task, attempt, queue, body)
            spent = self._meter.end()
            is_held = self._channel.hold()
            self._channel.send(_native.spent(task, attempt, spent, is_held) + answer)

    def _answer(self, task: bytes, attempt: int, queue: str, body: bytes) -> bytes:
        entered = context.Context(task, attempt, queue, self._channel, self._seal)
        context.enter(entered)
        try:
            self._set_up()
            function, args, kwargs = pickles.load_call(self._seal.open(CALL, task, body))
            inputs.give({})
            value = pickles.dump_result(function(*args, **kwargs))
            value = self._seal.close(RESULT, task, value)
            effects = entered.made
            if effects is None:
                frame = _native.done(task, attempt, value, [], [], [])
            else:
                writes, puts = effects.native_writes(), effects.puts
                frame = _native.done(task, attempt, value, effects.items, writes, puts)
        except SystemExit:
            raise
        except BaseException as error:
            error = error.with_traceback(_inside(error))
            text = failures.text_of(error)
            detail = self._seal.close(FAILURE, task, failures.detail_of(error))
            # Another host may have the room that this one has not.
            is_of_host = isinstance(error, NoSpaceError)
            frame = _native.failed(task, attempt, text, detail, is_of_host)
        finally:
            context.enter(None)
        sys.stdout.flush()
        sys.stderr.flush()
        return frame

    def _reader(self, task: bytes, value: bytes | tuple[str, int, int]) -> Callable[[], Any]:
        """Return what unpickles the result of an input."""

        def read() -> Any:
            data = value if isinstance(value, bytes) else _part_of_file(*value)
            return pickles.loads(self._seal.open(RESULT, task, data))

        return read

    def _set_up(self) -> None:
        if self._initial is not None:
            initial, self._initial = self._initial, None
            try:
                function, args, kwargs = pickles.load_call(initial)
                function(*args, **kwargs)
            except BaseException as error:
                self._failed = error
        if self._failed is not None:
            raise concurrent.futures.BrokenExecutor(
                f"a worker's process could not be set up: {self._failed!r} in the initializer"
            ) from self._failed


def _part_of_file(path: str, start: int, length: int) -> bytes:
    with Path(path).open("rb") as file:
        file.seek(start)
        return file.read(length)


def _is_read(descriptor: int) -> bool:
    """Return whether all that was written to a pipe was read."""
    try:
        return fcntl.ioctl(descriptor, termios.FIONREAD, _NOTHING) == _NOTHING
    except OSError:
        return False


def _inside(error: BaseException) -> TracebackType | None:
    """Return the traceback without the line here that has called the function."""
    found = error.__traceback__
    return found and (found.tb_next or found)


def main(arguments: list[str]) -> None:
    """Call functions for the worker that has started this process.

    ``--store ADDRESS`` is the store of the worker, ``--keys FILE`` the cluster's keys, ``--blobs
    DIRECTORY`` the folder that all hosts share, and ``--initial BASE64`` a call to begin with.
    """
    descriptor = os.environ.pop("TIDINGS_RUNTIME_FD", None)
    ahead = os.environ.pop("TIDINGS_RUNTIME_AHEAD", None)
    if descriptor is None:
        raise SystemExit("this process is started by a worker of Tidings, not by hand")
    options = dict(zip(arguments[::2], arguments[1::2]))
    store = options.get("--store")
    if store == "memory:":
        context.set_in_memory()
    elif store is not None:
        os.environ["TIDINGS_STORE"] = store
    keys = options.get("--keys")
    if keys is not None:
        os.environ["TIDINGS_KEYS"] = keys
    blobs = options.get("--blobs")
    if blobs is not None:
        os.environ["TIDINGS_BLOBS"] = blobs
    initial = base64.b64decode(options["--initial"]) if "--initial" in options else None
    with socket.socket(fileno=int(descriptor)) as stream:
        stream.set_inheritable(False)
        permits = None if ahead is None else int(ahead)
        if permits is not None:
            os.set_inheritable(permits, False)
        Process(Channel(stream, permits), Seal(keys), initial).run()
