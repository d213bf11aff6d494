"""Gathering: the results of several tasks, together or as they come."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import queue
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Generic, TypeVar, cast

from tidings.tasks import meter
from tidings.tasks.future import AGAIN, AGAIN_FIRST, Future, Inline, bring

F = TypeVar("F", bound="concurrent.futures.Future[Any]")


def _inline_of(future: Any) -> Inline | None:
    return future.inline if isinstance(future, Future) else None


def gather(*futures: Any, progress: bool | None = None) -> Any:
    """Return results in the place of futures: of one, or a list of the results of several.

    Lists, tuples and values of dictionaries are gone through; everything else stays as it is.
    ``progress`` is that of ``Executor.map``.
    """
    coming = collections.deque(_futures_in(futures))
    with meter.of(coming, progress).shown():
        results = [_gathered(one, coming) for one in futures]
    return results[0] if len(results) == 1 else results


def _futures_in(given: Any) -> Iterator[concurrent.futures.Future[Any]]:
    if isinstance(given, concurrent.futures.Future):
        yield given
    elif isinstance(given, (list, tuple)):
        for one in given:
            yield from _futures_in(one)
    elif isinstance(given, dict):
        yield from _futures_in(list(given.values()))


def _gathered(given: Any, coming: collections.deque[Any]) -> Any:
    if isinstance(given, concurrent.futures.Future):
        coming.popleft()
        bring(coming)
        return given.result()
    if isinstance(given, (list, tuple)):
        return type(given)(_gathered(one, coming) for one in given)
    if isinstance(given, dict):
        return {name: _gathered(one, coming) for name, one in given.items()}
    return given


class as_completed(Generic[F]):  # noqa: N801, it reads as that of concurrent.futures
    """The futures in the order in which they end, for ``for`` and for ``async for``.

    Of results that stay where they are until ``result()`` asks for them, some are brought ahead
    once the one before was asked for: so not each is waited for in turn, and a program that reads
    none brings none. ``progress`` is that of ``Executor.map``.
    """

    def __init__(
        self,
        futures: Iterable[F],
        timeout: float | None = None,
        *,
        progress: bool | None = None,
    ) -> None:
        self._futures = list(futures)
        self._timeout = timeout
        self._progress = progress

    def __iter__(self) -> Iterator[F]:
        """Wait for each."""
        shown = meter.of(self._futures, self._progress)
        if any(_inline_of(one) for one in self._futures):
            return shown.around(self._inlined())
        return shown.around(self._ended())

    def _ended(self) -> Iterator[F]:
        """Wait for each, and bring those that come next if the last one was read."""
        told: queue.SimpleQueue[Any] = queue.SimpleQueue()
        waiting = set(self._futures)
        until = None if self._timeout is None else time.monotonic() + self._timeout
        for one in waiting:
            tell = one.when_ended if isinstance(one, Future) else one.add_done_callback
            tell(told.put)
        ended: collections.deque[F] = collections.deque()
        is_reading = False
        for left in range(len(waiting), 0, -1):
            while not ended or not told.empty():
                rest = None if until is None or ended else max(0.0, until - time.monotonic())
                try:
                    ended.append(told.get(timeout=rest))
                except queue.Empty:
                    text = f"{left} futures have not ended"
                    raise concurrent.futures.TimeoutError(text) from None
            if is_reading:
                bring(ended)
            future = ended.popleft()
            yield future
            is_read = future.is_read if isinstance(future, Future) else None
            is_reading = is_reading if is_read is None else is_read

    def _inlined(self) -> Iterator[F]:
        """Wait for each in a task: a call that no worker has is done here."""
        waiting = set(self._futures)
        until = None if self._timeout is None else time.monotonic() + self._timeout
        pause = AGAIN_FIRST
        while waiting:
            ended = {one for one in waiting if one.done()} or self._next(waiting, until, pause)
            pause = AGAIN_FIRST if ended else min(2 * pause, AGAIN)
            waiting -= ended
            yield from ended

    def _next(self, waiting: set[F], until: float | None, pause: float) -> set[F]:
        for one in waiting:
            inline = _inline_of(one)
            if inline is not None:
                inline.wait(0)
            if one.done():
                return {one}
        rest = None if until is None else until - time.monotonic()
        if rest is not None and rest <= 0:
            raise concurrent.futures.TimeoutError(f"{len(waiting)} futures have not ended")
        most = pause if rest is None else min(rest, pause)
        first = concurrent.futures.FIRST_COMPLETED
        return cast("set[F]", concurrent.futures.wait(waiting, most, first).done)

    async def __aiter__(self) -> AsyncIterator[F]:
        """Wait for each without holding up other coroutines."""
        # As in ``Future.__await__``.
        import asyncio

        loop = asyncio.get_running_loop()
        ended: asyncio.Queue[F] = asyncio.Queue()

        def tell(future: Any) -> None:
            # Nobody waits any more in a loop that was closed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.put_nowait, future)

        waiting = set(self._futures)
        for future in waiting:
            future.add_done_callback(tell)
        until = None if self._timeout is None else loop.time() + self._timeout
        with meter.of(waiting, self._progress).shown():
            for _ in range(len(waiting)):
                rest = None if until is None else until - loop.time()
                yield await asyncio.wait_for(ended.get(), rest)
