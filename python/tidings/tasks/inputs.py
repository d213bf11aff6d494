"""Inputs: futures in what is pickled for a call stand for their results.

A future is met when the arguments of a call are pickled, wherever it is in them: in lists, tuples,
dictionaries, attributes. In its place goes a reference to its task, which becomes an input of the
call's task: the worker that does the call is given the result, and unpickles it there. What cannot
be referred to, such as a future of another executor, is waited for here, and its result pickled.

Invariant: each task in ``Inputs.tasks`` is held: its record stays until the hold is released, or
the call was submitted, which takes it over.
"""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from tidings.tasks import pickles

if TYPE_CHECKING:
    from tidings.tasks.future import Future
    from tidings.tasks.handles import Handle

# The most inputs that a record names (crates/tasks-core/src/message/mod.rs).
_MOST = 256


class Holder(Protocol):
    """What keeps the records of tasks."""

    def hold(self, task: bytes) -> bool:
        """Keep the record of a task that has not been told; return whether it is there."""

    def let_go(self, task: bytes) -> None:
        """Hold a task once less."""


class Inputs:
    """The futures and large blobs in the arguments of a call.

    Without a holder all futures are waited for here.
    """

    def __init__(self, holder: Holder | None) -> None:
        self._holder = holder
        # Those that the record of the call names.
        self.tasks: dict[bytes, Future[Any]] = {}
        # Those that are to end before it can be pickled.
        self.awaited: list[Future[Any]] = []
        # Large blobs that it names.
        self.handles: list[Handle] = []
        # One that has failed, or was cancelled.
        self.failed: Future[Any] | None = None

    @property
    def futures(self) -> tuple[Future[Any], ...]:
        """All futures that the call waits for."""
        return (*self.tasks.values(), *self.awaited)

    def meet(self, future: Future[Any]) -> tuple[Callable[[Any], Any], tuple[Any]]:
        """Return how a future is pickled."""
        if self._is_held(future):
            return _value_of, (future._task,)
        if not future.done():
            self.awaited.append(future)
        elif _has_failed(future):
            self.failed = future
        else:
            return _itself, (future.result(),)
        return _itself, (None,)

    def release(self) -> None:
        """Hold nothing any more: the call is not submitted like this."""
        for task in self.tasks:
            if self._holder is not None:
                self._holder.let_go(task)
        self.tasks = {}

    def _is_held(self, future: Future[Any]) -> bool:
        task, holder, keeper = future._task, self._holder, future._keeper
        is_own: bool = holder is cast("object", keeper)
        if holder is None or not is_own:
            return False
        if task in self.tasks:
            return True
        if len(self.tasks) == _MOST or not holder.hold(task):
            return False
        if future.is_here:
            # Its result is here: the task need not wait for it.
            holder.let_go(task)
            return False
        self.tasks[task] = future
        return True


class _Call:
    """A call that is pickled: who keeps records, and what was met in its arguments."""

    __slots__ = ("holder", "met")

    def __init__(self, holder: Holder | None) -> None:
        self.holder = holder
        self.met: Inputs | None = None

    def inputs(self) -> Inputs:
        """Return what is met in it."""
        if self.met is None:
            self.met = Inputs(self.holder)
        return self.met


class _Pickling(threading.local):
    """What a thread pickles now."""

    call: _Call | None = None


_pickling = _Pickling()

# What the call that this process unpickles was given.
_given: dict[bytes, Callable[[], Any]] = {}
_values: dict[bytes, Any] = {}


def dump_call(
    holder: Holder | None, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[bytes, Inputs | None]:
    """Return the bytes of a call, and the futures and large blobs in it, if there are any."""
    before, call = _pickling.call, _Call(holder)
    _pickling.call = call
    try:
        return pickles.dump_call(fn, args, kwargs), call.met
    except BaseException:
        if call.met is not None:
            call.met.release()
        raise
    finally:
        _pickling.call = before


def reduced(future: Future[Any]) -> tuple[Callable[[Any], Any], tuple[Any]]:
    """Return how a future is pickled in the call that this thread pickles."""
    call = _pickling.call
    if call is None:
        raise TypeError("a future stands for its result in the arguments of a call only")
    return call.inputs().meet(future)


def meet_handle(handle: Handle) -> bool:
    """Note a large blob that the call names which this thread pickles; return whether it does."""
    call = _pickling.call
    if call is None:
        return False
    call.inputs().handles.append(handle)
    return True


def give(values: dict[bytes, Callable[[], Any]]) -> None:
    """Say what the call that is unpickled next has as inputs."""
    global _given, _values
    _given, _values = values, {}


def failed(futures: tuple[Future[Any], ...]) -> Future[Any] | None:
    """Return the first of some futures that has failed, or was cancelled."""
    return next((one for one in futures if one.done() and _has_failed(one)), None)


def pass_on(failed: Future[Any], to: Future[Any]) -> None:
    """Let a future fail, or be cancelled, as one of its inputs."""
    if failed.cancelled():
        if concurrent.futures.Future.cancel(to):
            to.set_running_or_notify_cancel()
        return
    error = failed.exception()
    if error is not None:
        to.fail(error)


def _has_failed(future: Future[Any]) -> bool:
    return future.cancelled() or future.exception() is not None


def _value_of(task: bytes) -> Any:
    if task not in _values:
        _values[task] = _given[task]()
    return _values[task]


def _itself(value: Any) -> Any:
    return value
