"""The process that calls functions, spoken to as a worker does.

Frames to it are written here by hand: the length, and the CBOR that crates/tasks/src/runtime.rs
describes.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tidings.tasks import context, failures, pickles

TASK = bytes(range(16))
PROGRAM = "import sys; from tidings.tasks.worker_process import main; main(sys.argv[1:])"


def cbor(value: object) -> bytes:
    """Encode what frames consist of."""
    if value is None:
        return b"\xf6"
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return bytes([value]) if value < 24 else b"\x1a" + value.to_bytes(4, "big")
    if isinstance(value, bytes):
        return b"\x5a" + len(value).to_bytes(4, "big") + value
    if isinstance(value, str):
        return b"\x7a" + len(value.encode()).to_bytes(4, "big") + value.encode()
    assert isinstance(value, list)
    return bytes([0x80 | len(value)]) + b"".join(map(cbor, value))


def decoded(data: bytes) -> Any:
    """Decode one item of CBOR, of the kinds that frames consist of."""
    value, rest = item(data)
    assert rest == b""
    return value


def item(data: bytes) -> tuple[Any, bytes]:
    kind, size, rest = data[0] >> 5, data[0] & 31, data[1:]
    if 24 <= size < 28:
        width = 1 << (size - 24)
        size, rest = int.from_bytes(rest[:width], "big"), rest[width:]
    if kind == 0:
        return size, rest
    if kind == 7:
        return size == 21, rest
    if kind in (2, 3):
        text = rest[:size]
        return (text if kind == 2 else text.decode()), rest[size:]
    assert kind == 4
    values = []
    for _ in range(size):
        value, rest = item(rest)
        values.append(value)
    return values, rest


class Worker:
    """The worker's end."""

    def __init__(self) -> None:
        self.spent: list[Any] = []
        self.stream, inherited = socket.socketpair()
        self.permits, self.permitted = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        with inherited:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM],
                env={
                    **{name: value for name, value in os.environ.items() if name != "TIDINGS_SLOT"},
                    "PYTHONPATH": os.pathsep.join(sys.path),
                    "TIDINGS_RUNTIME_FD": str(inherited.fileno()),
                    "TIDINGS_RUNTIME_AHEAD": str(self.permits),
                },
                pass_fds=[inherited.fileno(), self.permits],
                stdout=subprocess.PIPE,
                text=True,
            )

    def say(self, kind: int, *fields: object) -> None:
        frame = cbor([kind, list(fields)])
        self.stream.sendall(len(frame).to_bytes(4, "little") + frame)

    def call(self, attempt: int, body: bytes, is_ahead: bool = False) -> None:
        if is_ahead:
            os.write(self.permitted, b"p")
        self.say(0, TASK, attempt, "q", None, None, body, [], is_ahead)

    def taken_back(self) -> int:
        """Take back all calls that have not begun; return how many these are."""
        try:
            return len(os.read(self.permits, 100))
        except BlockingIOError:
            return 0

    def close(self) -> None:
        self.stream.close()
        os.close(self.permits)
        os.close(self.permitted)

    def heard(self) -> Any:
        """Return what is said; what a call has taken is kept aside."""
        while True:
            length = int.from_bytes(self.read(4), "little")
            said = decoded(self.read(length))
            if said[0] != 4:
                return said
            self.spent = said[1]

    def read(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            chunk = self.stream.recv(length - len(data))
            assert chunk, "the process has ended"
            data += chunk
        return data


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    kind, (version, ahead, can_wait) = worker.heard()
    assert (kind, ahead, can_wait) == (0, 64, True), version
    yield worker
    worker.close()
    assert worker.process.stdout is not None
    worker.process.stdout.close()
    assert worker.process.wait() == 0


def attempt_and_task() -> tuple[int, str | None]:
    return context.attempt(), context.task_id()


def spend(cpu_ns: int, length: int) -> int:
    """Use a processor for some time, with some memory."""
    data, begun = bytes([1]) * length, time.process_time_ns()
    while time.process_time_ns() - begun < cpu_ns:
        pass
    return len(data)


def spend_in_a_child(cpu_ns: int) -> int:
    child = os.fork()
    if child == 0:
        spend(cpu_ns, 0)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def wait_until_cancelled() -> str:
    context.progress(0.25, "waits")
    while not context.cancelled():
        pass
    return "stopped"


def test_calls_are_answered(worker: Worker) -> None:
    worker.call(1, pickles.dump_call(pow, (2, 10), {}))
    kind, (task, attempt, value, children, effects, puts) = worker.heard()
    assert (kind, task, attempt, children, effects, puts) == (1, TASK, 1, [], [], [])
    assert pickles.loads(value) == 1024
    worker.call(7, pickles.dump_call(attempt_and_task, (), {}))
    assert pickles.loads(worker.heard()[1][2]) == (7, TASK.hex())


def own_slot() -> str | None:
    return os.environ.get("TIDINGS_SLOT")


def test_one_that_has_waited_is_told_its_slot(worker: Worker) -> None:
    """The worker says it before the first call, to a process that replaces another one."""
    worker.say(4, 7)
    worker.call(1, pickles.dump_call(own_slot, (), {}))
    assert pickles.loads(worker.heard()[1][2]) == "7"


def test_failures_are_told_and_the_process_stays(worker: Worker) -> None:
    worker.call(2, pickles.dump_call(divmod, (1, 0), {}))
    kind, (task, attempt, text, detail, is_of_host) = worker.heard()
    assert not is_of_host
    assert (kind, task, attempt) == (2, TASK, 2)
    assert text.startswith("ZeroDivisionError: ")
    error = failures.error_of([(2, "error", text, "here", detail)])
    assert isinstance(error, ZeroDivisionError)
    worker.call(3, b"not a call")
    assert worker.heard()[0] == 2
    worker.call(4, pickles.dump_call(pow, (3, 2), {}))
    assert pickles.loads(worker.heard()[1][2]) == 9


def test_a_call_is_told_that_nobody_wants_it(worker: Worker) -> None:
    worker.call(1, pickles.dump_call(wait_until_cancelled, (), {}))
    assert worker.heard() == [3, [TASK, 1, 250, "waits"]]
    worker.say(1, TASK, 0)
    worker.say(1, TASK, 1)
    kind, fields = worker.heard()
    assert (kind, pickles.loads(fields[2])) == (1, "stopped")


def test_what_a_call_has_taken_is_told(worker: Worker) -> None:
    cpu_ns, length = 30_000_000, 64 << 20
    worker.call(1, pickles.dump_call(spend, (cpu_ns, length), {}))
    assert worker.heard()[0] == 1
    task, attempt, cpu_us, peak_bytes, wall_us, is_held = worker.spent
    assert (task, attempt, is_held) == (TASK, 1, False)
    assert cpu_us * 1_000 >= cpu_ns
    assert peak_bytes >= length
    assert wall_us >= cpu_us
    worker.call(2, pickles.dump_call(spend_in_a_child, (cpu_ns,), {}))
    assert worker.heard()[0] == 1
    task, attempt, cpu_us, peak_bytes, _, _ = worker.spent
    assert (task, attempt) == (TASK, 2)
    assert cpu_us * 1_000 >= cpu_ns
    assert peak_bytes < length, "that of the call before does not count"


def test_what_is_printed_is_written_before_the_answer(worker: Worker) -> None:
    worker.call(1, pickles.dump_call(print, ("hello",), {}))
    assert worker.heard()[0] == 1
    assert worker.process.stdout is not None
    assert worker.process.stdout.readline() == "hello\n"
    worker.say(3)


def power(worker: Worker, attempt: int, is_ahead: bool = True) -> None:
    worker.call(attempt, pickles.dump_call(pow, (2, attempt), {}), is_ahead)


def test_calls_ahead_follow_each_other(worker: Worker) -> None:
    power(worker, 1, is_ahead=False)
    for attempt in range(2, 60):
        power(worker, attempt)
    for attempt in range(1, 60):
        kind, fields = worker.heard()
        assert (kind, fields[1], pickles.loads(fields[2])) == (1, attempt, 2**attempt)
    assert worker.taken_back() == 0


def test_a_call_that_was_taken_back_is_not_made(worker: Worker) -> None:
    worker.call(1, pickles.dump_call(wait_until_cancelled, (), {}))
    assert worker.heard()[0] == 3, "it has begun"
    for attempt in (2, 3, 4):
        power(worker, attempt)
    assert worker.taken_back() == 3
    for attempt in (3, 4, 2):
        worker.say(2, TASK, attempt)
    power(worker, 3)
    worker.say(1, TASK, 1)
    assert worker.heard()[1][1] == 1
    assert worker.heard()[1][1] == 3, "and nothing in between"
    power(worker, 5, is_ahead=False)
    assert worker.heard()[1][1] == 5


def test_what_was_taken_back_in_the_last_moment_is_waited_for(worker: Worker) -> None:
    power(worker, 1)
    assert worker.heard()[1][1] == 1
    # Its frame is there, and nothing to begin it with: only a word about it can come.
    worker.say(0, TASK, 2, "q", None, None, b"", [], True)
    worker.say(2, TASK, 2)
    # A byte for this one could begin the other before the word is heard: a worker gives none.
    power(worker, 3, is_ahead=False)
    assert worker.heard()[1][1] == 3


def test_no_call_begins_before_the_output_of_the_last_is_read(worker: Worker) -> None:
    worker.call(1, pickles.dump_call(print, ("hello",), {}))
    power(worker, 2)
    assert worker.heard()[1][1] == 1
    assert worker.spent[-1] is True, "it waits"
    assert worker.taken_back() == 1, "so the next one has not begun"
    os.write(worker.permitted, b"p")
    assert worker.process.stdout is not None
    assert worker.process.stdout.readline() == "hello\n"
    worker.say(3)
    assert worker.heard()[1][1] == 2
    assert worker.spent[-1] is False
