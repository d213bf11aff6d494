"""Tasks: functions that know how they are to be done."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar, overload

from tidings.tasks import context, current, nested
from tidings.tasks.executor import Executor
from tidings.tasks.future import Future
from tidings.tasks.options import QUEUE, Options, needs

T = TypeVar("T")

_lock = threading.Lock()
_usual: Executor | None = None


def current_executor() -> Executor:
    """Return the executor whose ``with`` block was entered last, else a common one.

    The common one is made when it is first asked for, with a store in memory. In a task it is one
    for the store and queue of that task.
    """
    global _usual
    entered = current.last()
    if entered is not None:
        return entered
    if context.task_id() is not None:
        return nested.executor()
    with _lock:
        if _usual is None:
            _usual = Executor()
        return _usual


class Task(Generic[T]):
    """A function that can be called as ever, or submitted."""

    def __init__(self, function: Callable[..., T], options: Options) -> None:
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.options = options

    def __call__(self, *args: Any, **kwargs: Any) -> T:
        """Call the function here and now."""
        return self.__wrapped__(*args, **kwargs)

    def submit(self, *args: Any, **kwargs: Any) -> Future[T]:
        """Submit a call to the current executor."""
        return current_executor().submit(self, *args, **kwargs)

    def map(
        self,
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        progress: bool | None = None,
    ) -> Iterator[T]:
        """Return the results of calls with the elements of the iterables, in their order."""
        executor = current_executor()
        return executor.map(
            self, *iterables, timeout=timeout, chunksize=chunksize, progress=progress
        )

    def __reduce__(self) -> Any:
        """Pickle by name what can be imported, everything else by value."""
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self and self.__module__ != "__main__":
            return self.__qualname__
        return _call_of, (self.__wrapped__,)


def _call_of(function: Callable[..., T]) -> Callable[..., T]:
    """Return what a worker calls: how it is to be done was said when it was submitted."""
    return function


@overload
def task(function: Callable[..., T]) -> Task[T]: ...


@overload
def task(
    *,
    retries: int = ...,
    timeout: float | str | None = ...,
    need: Mapping[str, Any] | None = ...,
    where: str = ...,
    key: Callable[..., str] | None = ...,
    queue: str = ...,
    group: str = ...,
    priority: int = ...,
    delay: float | str | None = ...,
    poison_after: int = ...,
    backoff: float | str = ...,
    grace: float | str = ...,
    copies: int = ...,
) -> Callable[[Callable[..., T]], Task[T]]: ...


def task(
    function: Callable[..., Any] | None = None,
    *,
    retries: int = 0,
    timeout: float | str | None = None,
    need: Mapping[str, Any] | None = None,
    where: str = "",
    key: Callable[..., str] | None = None,
    queue: str = QUEUE,
    group: str = "",
    priority: int = 0,
    delay: float | str | None = None,
    poison_after: int = 3,
    backoff: float | str = "100ms",
    grace: float | str = 5.0,
    copies: int = 0,
) -> Any:
    """Make a function a task: ``@task`` or ``@task(retries=2, timeout="10m")``.

    ``retries``: how often it is tried again after an exception, an exit, a signal or its timeout.
    ``timeout``, ``delay``, ``backoff`` (the wait after its first failure; it doubles), ``grace``:
    seconds, or a text such as ``"10m"``. ``need``: resources
    that one call takes of a worker. ``where``: which nodes may do it. ``key``: gives a text for
    the arguments; calls with the same text are one task, which is done once. ``copies``: a long
    result stays on so many nodes, if the store is on another host; 0: it lies with the store. One
    that is lost with its nodes is made again from the same arguments.
    """

    def make(function: Callable[..., T]) -> Task[T]:
        name = f"{function.__module__}:{function.__qualname__}"
        options = Options(
            name,
            queue=queue,
            group=group,
            priority=priority,
            delay=delay,
            retries=retries,
            poison_after=poison_after,
            backoff=backoff,
            timeout=timeout,
            grace=grace,
            need=needs(need),
            where=where,
            key=key,
            copies=copies,
        )
        _ = options.native  # what is wrong is said here
        return Task(function, options)

    return make if function is None else make(function)
