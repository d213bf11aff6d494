"""Calls on tiles that say when they begin and end: a line each, in a file that all append to.

A call has its inputs when it says that it begins.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import tidings.tasks as tt


class Line(NamedTuple):
    """What a call has said."""

    call: int
    node: str
    is_begin: bool
    at_s: float
    """By the clock of this machine that :func:`time.monotonic` reads."""


def lines(file: Path) -> list[Line]:
    """Return what calls have said so far, in its order."""
    text = file.read_text("utf-8") if file.exists() else ""
    # The last line may not be whole.
    words = [line.split() for line in text.rpartition("\n")[0].splitlines()]
    return [Line(int(call), node, what == "begin", float(at)) for call, node, what, at in words]


@tt.task(copies=1)
def told(
    file: Path, call: int, least_s: float, function: Callable[..., object], *arguments: object
) -> object:
    """Call a function, and take so long at least, as on a slower processor of its own."""
    end = time.monotonic() + least_s
    say(file, call, "begin")
    made = function(*arguments)
    time.sleep(max(0.0, end - time.monotonic()))
    say(file, call, "end")
    return made


def say(file: Path, call: int, what: str) -> None:
    """Append a line, in one write."""
    at_s = time.monotonic()
    appended = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(appended, f"{call} {socket.gethostname()} {what} {at_s:.6f}\n".encode())
    finally:
        os.close(appended)
