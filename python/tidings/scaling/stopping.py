"""Stopping: SIGTERM and SIGHUP end a campaign as Ctrl-C does, with what was measured kept.

What a parent set to be ignored stays ignored: a shell ignores SIGINT for what it starts in the
background, and `nohup` ignores SIGHUP. SIGTERM is never ignored in that way, so that it always
stops a campaign.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stopped(KeyboardInterrupt):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        """Keep the signal's number."""
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(stopped: KeyboardInterrupt) -> int:
    """Return 128 and the number of the signal, as a shell does."""
    return 128 + (stopped.number if isinstance(stopped, Stopped) else signal.SIGINT)


@contextmanager
def stoppable() -> Iterator[None]:
    """Meanwhile raise `Stopped` at SIGTERM and SIGHUP; signals reach the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = {number: signal.signal(number, _raise) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _raise(number: int, _: FrameType | None) -> None:
    raise Stopped(number)
