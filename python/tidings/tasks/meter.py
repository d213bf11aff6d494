"""Meters: how many of many calls have ended, on a line of the screen while they are waited for.

Futures only add to counters when they end. A thread of the meter's own writes the line, so a
screen that takes nothing holds up no result. One meter is shown at a time: what is waited for
within what is shown has none.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from tidings.tasks import context, screens, unfit
from tidings.tasks import future as ours

T = TypeVar("T")

# What has ended within this time is not shown, unless it was asked for.
_QUIET_S = 1.0

# Held by the meter that is shown.
_screen = threading.Lock()


def text(done: int, total: int | None, failed: int, rate: float, seconds: float) -> str:
    """Return the line: how many have ended, have failed, end in a second, and the time left."""
    parts = [f"{done:,} of {total:,}" if total is not None else f"{done:,} done"]
    if failed:
        parts.append(f"{failed:,} failed")
    if rate:
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s")
    if total is not None and done >= total:
        parts.append(f"took {_duration(seconds)}")
    elif total is not None and rate:
        parts.append(f"{_duration((total - done) / rate)} left")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min"


class Meter:
    """Counts the calls that have ended, and shows that while ``shown`` is entered.

    ``progress``: shown in any case, or never; if it is None, on a terminal or in a notebook only,
    after a second, and not within tasks. ``total`` None: as many as were added, once ``complete``
    is called.
    """

    def __init__(self, progress: bool | None, total: int | None = None) -> None:
        self._screen = screens.of_program()
        is_wanted = self._screen.is_live and context.task_id() is None
        self.is_on = is_wanted if progress is None else progress
        self._quiet_s = _QUIET_S if progress is None else 0.0
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._added = self._done = self._failed = self._before = 0
        self._total = total
        self._was_written = False

    def add(self, future: Future[Any], calls: int = 1) -> None:
        """Count a future of so many calls."""
        self._added += calls
        if future.done():
            # It says nothing of how fast others end.
            self._before += calls

        def count(ended: Future[Any]) -> None:
            has_failed = ended.cancelled() or ended.exception() is not None
            with self._lock:
                self._done += calls
                self._failed += calls if has_failed else 0

        # What is counted is not brought here for that.
        add = future.when_ended if isinstance(future, ours.Future) else future.add_done_callback
        add(count)

    def expect(self, total: int) -> None:
        """Say how many calls there will be."""
        self._total = total

    def complete(self) -> None:
        """All are added."""
        self._total = self._added

    def line(self) -> str:
        """Return what is shown now."""
        seconds = time.monotonic() - self._begun
        with self._lock:
            done, failed = self._done, self._failed
        rate = (done - self._before) / seconds if seconds > 0 else 0.0
        line, note = text(done, self._total, failed, rate, seconds), unfit.note()
        return f"{line}; some wait: {note}" if note else line

    @contextlib.contextmanager
    def shown(self, *, stays: bool = True) -> Iterator[None]:
        """Show it; the last line ``stays``, or is cleared, as more is to be shown."""
        if not self.is_on or not _screen.acquire(blocking=False):
            yield
            return
        over = threading.Event()
        painter = threading.Thread(
            target=self._paint, args=(over, stays), name="tidings-meter", daemon=True
        )
        painter.start()
        try:
            yield
        finally:
            over.set()
            painter.join()
            _screen.release()

    def around(self, results: Iterator[T]) -> Iterator[T]:
        """Show it while results are taken."""
        with self.shown():
            yield from results

    def _paint(self, over: threading.Event, stays: bool) -> None:
        if not over.wait(max(0.0, self._begun + self._quiet_s - time.monotonic())):
            self._write()
            while not over.wait(self._screen.period_s):
                self._write()
        if not stays:
            if self._was_written:
                self._screen.clear()
        elif self._was_written or not self._quiet_s:
            self._write()
            self._screen.end()

    def _write(self) -> None:
        self._was_written = True
        with self._lock:
            share = self._done / self._total if self._total else None
        self._screen.show(self.line(), share)


def of(futures: Iterable[Future[Any]], progress: bool | None) -> Meter:
    """Return the meter of futures that are waited for."""
    meter = Meter(progress)
    if meter.is_on:
        for future in futures:
            meter.add(future)
        meter.complete()
    return meter
