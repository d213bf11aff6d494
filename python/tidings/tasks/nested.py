"""Calls that a task submits: the executor of a process that does tasks.

They go to the queue and the store of the task that submits them. It keeps its slot while it waits
for them. So that tasks of which each waits for others go on when they have all slots,
one that waits for a call that no worker has takes it back, and does it itself.

Invariant: a call that was taken back is done by nobody else.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from tidings.tasks import context, inputs, pickles
from tidings.tasks.errors import StoreError
from tidings.tasks.executor import Executor
from tidings.tasks.future import AGAIN, AGAIN_FIRST, Future
from tidings.tasks.options import Options

T = TypeVar("T")

_lock = threading.Lock()
_of_queues: dict[str, Nested] = {}


class Nested(Executor):
    """An executor for tasks: it has no workers, and what is waited for may be done here."""

    def __init__(self, queue: str) -> None:
        # A task that waited to submit would keep its slot from those it waits for.
        super().__init__("usual", workers=0, queue=queue, pending=None)
        self._collector.leave_pending()
        # A call that another waits for in the store could not be taken back.
        self._holder = None

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Submit ``fn(*args, **kwargs)``; futures in the arguments stand for their results."""
        future = super().submit(fn, *args, **kwargs)
        if future.inline is None and _is_plain(fn, self.queue):
            future.inline = Inline(future, self._collector.withdraw, (fn, args, kwargs))
        return future


class Inline:
    """What does a call here if it is waited for, and no worker has it."""

    def __init__(
        self,
        future: Future[Any],
        withdraw: Callable[[Future[Any]], bool],
        call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]],
    ) -> None:
        self._future = future
        self._withdraw = withdraw
        self._call = call
        self._inputs = future.inputs
        self._lock = threading.Lock()

    def wait(self, timeout: float | None) -> float | None:
        """Wait until the call has ended, or the time is over; return the time that is left."""
        until = None if timeout is None else time.monotonic() + timeout
        pause = AGAIN_FIRST
        while not self._future.done():
            with self._lock:
                if not self._future.done() and self._is_taken(until):
                    break
            rest = _left(until)
            if rest == 0:
                break
            concurrent.futures.wait([self._future], pause if rest is None else min(rest, pause))
            pause = min(2 * pause, AGAIN)
        return _left(until)

    def _is_taken(self, until: float | None) -> bool:
        """Take the call back and do it, if no worker has it."""
        for one in self._inputs:
            # It is submitted once it has its inputs; what is wrong with them it says itself.
            with contextlib.suppress(Exception, concurrent.futures.CancelledError):
                one.result(_left(until))
        if self._future.done() or not self._withdraw(self._future):
            return self._future.done()
        try:
            # As elsewhere it has copies of what it is given, and so has who takes its result.
            body, met = inputs.dump_call(None, *self._call)
            if met is not None and met.failed is not None:
                inputs.pass_on(met.failed, self._future)
                return True
            function, args, kwargs = pickles.load_call(body)
            self._future.settle(pickles.loads(pickles.dumps(function(*args, **kwargs))))
        except Exception as error:
            self._future.fail(error)
        return True


def _left(until: float | None) -> float | None:
    return None if until is None else max(0.0, until - time.monotonic())


def _is_plain(fn: Callable[..., Any], queue: str) -> bool:
    """Whether a call may as well be done by the one that waits for it."""
    function = fn.function if isinstance(fn, pickles.Function) else fn
    options = getattr(function, "options", None)
    return not isinstance(options, Options) or options == Options(options.name, queue=queue)


def executor() -> Nested:
    """Return the executor of the task that this process does."""
    queue = context.queue()
    if context.is_in_memory():
        raise StoreError(
            "the store of this task is in the memory of another process: for tasks that submit "
            "tasks use an executor with file:PATH"
        )
    with _lock:
        known = _of_queues.get(queue)
        if known is None:
            known = _of_queues[queue] = Nested(queue)
        return known
