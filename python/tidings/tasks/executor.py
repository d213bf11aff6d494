"""The executor: calls of functions as tasks in a store, done by processes of this machine.

What is submitted lies in the store until it has ended. In ``memory:`` that is as long as this
process; in ``file:PATH`` it outlives it, and other processes that use the file work on it too.

Futures in arguments make a graph: a call is submitted at once, and names the tasks that it waits
for. So the graph lies in the store, and results go from task to task. What the store cannot wait
for, such as a future of another executor, is waited for here before the call is submitted.
"""

from __future__ import annotations

import base64
import collections
import collections.abc
import concurrent.futures
import dataclasses
import functools
import itertools
import json
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

import tidings.tasks._native as _native
from tidings.tasks import current, inputs, meter, pickles, setup
from tidings.tasks.collector import Collector
from tidings.tasks.connection import Connection
from tidings.tasks.errors import StoreError
from tidings.tasks.future import Future, bring
from tidings.tasks.options import Options
from tidings.tasks.seal import key_file

T = TypeVar("T")

# The calls that may be pending: some 4 KB of memory each, with a store in memory.
PENDING = 32_768

# The bytes of an id that tasks of one family have in common (crates/tasks-core/src/id.rs).
_FAMILY_BYTES = 11

# What a worker's process runs: the modules are those that this process would find.
_BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from tidings.tasks.worker_process import main
main(sys.argv[2:])
"""


class Executor(concurrent.futures.Executor):
    """An executor whose tasks are records in a store.

    ``store`` is ``memory:`` (the default: nothing is left behind), ``file:PATH``, or ``usual``, the
    store of ``tidings run``; ``queue://NAME`` is a queue of that one whose tasks others do, unless
    ``workers`` says more. ``workers`` processes of this machine do the tasks of ``queue``; as
    many as there are processors if it is None, and with 0 others must. ``initializer(*initargs)``
    is called in each process before its first task.

    ``keys`` is the cluster's key file, else that of ``TIDINGS_KEYS``: with it all pickles are
    sealed, and ``store`` may be ``tcp://HOST:PORT`` of another host. ``listen``, ``HOST:PORT``, is
    where other hosts reach this process when it holds the store; see ``endpoint``. ``detector`` is
    what decides then that a silent process is gone: ``session``, 3 s of silence, or ``phi``,
    ``phi:THRESHOLD`` or ``phi:THRESHOLD:FLOOR_MS``, the times between its own signs of life.

    ``pending`` calls at most have been submitted and have not ended: ``submit`` waits until one of
    them ends, so a loop of any length needs bounded memory. With None it never waits.
    """

    def __init__(
        self,
        store: str | None = None,
        workers: int | None = None,
        *,
        queue: str | None = None,
        keys: str | os.PathLike[str] | None = None,
        listen: str | None = None,
        blobs: str | os.PathLike[str] | None = None,
        detector: str = "session",
        cluster: str = "tidings",
        pending: int | None = PENDING,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        self.store, self.queue, self.workers = setup.place(store, queue, workers)
        if pending is not None and pending < 1:
            raise ValueError("pending must be None (any number) or > 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        if self.store == "memory:" and self.workers == 0:
            raise ValueError("a store in memory has no other workers: use file:PATH, or workers=1")
        initial = None if initializer is None else (initializer, initargs)
        scratch = setup.scratch(self.store, self.workers)
        try:
            seal = setup.seal(key_file(keys))
            how = setup.setup(
                self.store,
                scratch,
                keys=key_file(keys),
                listen=listen,
                blobs=setup.blob_folder(blobs),
                detector=detector,
                cluster=cluster,
                queue=self.queue,
                workers=self.workers,
                command=_command(self.store, key_file(keys), setup.blob_folder(blobs), initial),
            )
            client = _native.Client(how)
            self._collector = Collector(client, seal, scratch, pending, self.store)
        except (RuntimeError, StoreError) as error:
            setup.remove(scratch)
            raise StoreError(str(error)) from None
        # What keeps the results of calls that others wait for; None: they are waited for here.
        self._holder: Collector | None = self._collector
        self._plain: dict[str, _native.Options] = {}
        # Tasks that are submitted one after the other lie together in the store.
        self._family = os.urandom(_FAMILY_BYTES)
        self._numbers = itertools.count()
        self._finalizer = weakref.finalize(self, self._collector.shut_down, False, False)
        self._finalizer.atexit = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Submit ``fn(*args, **kwargs)``; futures in the arguments stand for their results."""
        function = fn.function if isinstance(fn, pickles.Function) else fn
        options = getattr(function, "options", None)
        if not isinstance(options, Options):
            name = fn.name if isinstance(fn, pickles.Function) else pickles.name_of(fn)
            return self._begin(self._next_task(), self._options_of(name), fn, args, kwargs)
        if options.key is None:
            task = self._next_task()
        else:
            key = options.key(*args, **kwargs)
            task = _native.task_id(f"{pickles.name_of(function)} {key}", 0)
        return self._begin(task, options.native, fn, args, kwargs, is_delayed=bool(options.delay))

    def submit_as(
        self, task: bytes, options: Options, fn: Callable[..., T], value: Any
    ) -> Future[T]:
        """Submit a call as the task with an id: if it was submitted before, that one counts."""
        return self._begin(task, options.native, fn, (value,), {})

    def options_to_keep(self, fn: Callable[..., Any]) -> Options:
        """Return how a function is done as tasks whose results stay in the store."""
        options = getattr(fn, "options", None)
        if not isinstance(options, Options):
            options = Options(pickles.name_of(fn), queue=self.queue)
        return dataclasses.replace(options, keep=True)

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
        progress: bool | None = None,
    ) -> Iterator[T]:
        """Return the results of calls with the elements of the iterables, in their order.

        ``chunksize`` calls are one task. All are submitted at once, or with ``buffersize`` no more
        than that many tasks ahead of the results that were taken. ``progress`` shows how many have
        ended (True), or does not (False); by default it does on a terminal or in a notebook,
        after a second.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if buffersize is not None and buffersize < 1:
            raise ValueError("buffersize must be None or > 0")
        is_chunked = chunksize > 1 or buffersize is not None
        call: Any = _once(functools.partial(_call_chunk, fn) if is_chunked else fn)
        rows = (_chunks(zip(*iterables), chunksize),) if is_chunked else iterables
        shown = meter.Meter(progress, None if buffersize is None else _length_of(iterables))
        submit: Any = functools.partial(self.submit, call)
        if shown.is_on:
            submit = _counted(submit, shown, is_chunked)
        results: Any
        if buffersize is not None:
            results = self._ahead(submit, rows[0], timeout, buffersize)
        else:
            with shown.shown(stays=False):
                results = _results_of(map(submit, *rows), timeout)
            shown.complete()
        if is_chunked:
            results = itertools.chain.from_iterable(results)
        return shown.around(results) if shown.is_on else results

    @property
    def endpoint(self) -> str | None:
        """Where other hosts reach this process, ``HOST:PORT``, while it holds the store."""
        return self._collector.endpoint()

    def connection(self) -> Connection:
        """Return what queues, semaphores and keys of this executor's store use."""
        return self._collector.connection()

    def __enter__(self) -> Executor:
        """Make it the current one, to which tasks submit."""
        current.enter(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait until all that was submitted has ended; after Ctrl-C do not wait."""
        current.leave(self)
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self._collector.abandon()
        else:
            self.shutdown()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; with ``wait`` return once all have ended and the workers are gone.

        ``cancel_futures`` cancels those that no worker of this process does yet.
        """
        self._collector.shut_down(wait, cancel_futures)

    def _next_task(self) -> bytes:
        return self._family + next(self._numbers).to_bytes(16 - _FAMILY_BYTES, "big")

    def _options_of(self, name: str) -> _native.Options:
        known = self._plain.get(name)
        if known is None:
            known = self._plain[name] = Options(name, queue=self.queue).native
        return known

    def _begin(
        self,
        task: bytes,
        options: _native.Options,
        fn: Callable[..., T],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        is_delayed: bool = False,
    ) -> Future[T]:
        # A record has inputs or a delay.
        holder = None if is_delayed else self._holder
        body, met = inputs.dump_call(holder, fn, args, kwargs)
        future, is_new = self._collector.reserve(task)
        if met is None:
            if is_new:
                self._collector.send(task, body, options)
        elif is_new:
            call = fn, args, kwargs
            _Waiting((self._collector, holder), future, options, call).begin(body, met)
        else:
            met.release()
        return future

    def _ahead(
        self,
        submit: Callable[[Any], Future[list[T]]],
        chunks: Iterable[Any],
        timeout: float | None,
        most: int,
    ) -> Iterator[list[T]]:
        """Return results in order, with no more than so many tasks on their way."""
        source, waiting = iter(chunks), []
        try:
            for chunk in itertools.islice(source, most):
                waiting.append(submit(chunk))
            while waiting:
                bring(itertools.islice(waiting, 1, None))
                result = waiting[0].result(timeout)
                waiting.pop(0)
                for chunk in itertools.islice(source, 1):
                    waiting.append(submit(chunk))
                yield result
        finally:
            for future in waiting:
                future.cancel()


class _Waiting:
    """A call with futures in its arguments, until it is submitted."""

    def __init__(
        self,
        place: tuple[Collector, Collector | None],
        future: Future[Any],
        options: _native.Options,
        call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]],
    ) -> None:
        self._collector, self._holder = place
        self._future = future
        self._options = options
        self._call = call
        self._lock = threading.Lock()
        self._missing = 0

    def begin(self, body: bytes, met: inputs.Inputs) -> None:
        """Submit the call; if some of what it needs is to be waited for here, then."""
        self._future.inputs = met.futures
        if met.failed is None and not met.awaited:
            # They stay as long as the call has a record; until it has one they are held here.
            for handle in met.handles:
                handle.pin(self._future._task)
            self._future.handles = tuple(met.handles)
            self._collector.send(self._future._task, body, self._options, list(met.tasks))
            return
        met.release()
        if met.failed is not None:
            inputs.pass_on(met.failed, self._future)
            self._collector.release(self._future._task)
            return
        self._missing = len(met.awaited)
        for one in met.awaited:
            one.add_done_callback(self._one_is_done)

    def _one_is_done(self, _: object) -> None:
        with self._lock:
            self._missing -= 1
            if self._missing:
                return
        if self._future.done():
            return
        try:
            body, met = inputs.dump_call(self._holder, *self._call)
            self.begin(body, met or inputs.Inputs(None))
        except BaseException as error:
            self._future.fail(error)
            self._collector.release(self._future._task)


def _counted(
    submit: Callable[..., Future[T]], shown: meter.Meter, is_chunked: bool
) -> Callable[..., Future[T]]:
    """Return what submits a call, or a chunk of them, and has a meter count it."""

    def counted(*args: Any) -> Future[T]:
        future = submit(*args)
        shown.add(future, len(args[0]) if is_chunked else 1)
        return future

    return counted


def _results_of(futures: Iterable[Future[T]], timeout: float | None) -> Iterator[T]:
    """Return the results of calls, all of which are submitted now, in order."""
    until = None if timeout is None else time.monotonic() + timeout
    return _each_result(collections.deque(futures), until)


def _each_result(futures: collections.deque[Future[T]], until: float | None) -> Iterator[T]:
    try:
        while futures:
            # Most results are short, and come with the news.
            if not (futures[0].done() and futures[0].is_read is None):
                bring(itertools.islice(futures, 1, None))
                rest = None if until is None else until - time.monotonic()
                futures[0].result(rest)
            # Nothing here holds a result that was taken.
            yield futures.popleft().result()
    finally:
        for future in futures:
            future.cancel()


def _length_of(iterables: tuple[Iterable[Any], ...]) -> int | None:
    """Return how many calls there will be, if all say how long they are."""
    if not all(isinstance(one, collections.abc.Sized) for one in iterables):
        return None
    return min((len(one) for one in iterables), default=0)  # type: ignore[arg-type]


def _once(fn: Callable[..., T]) -> Callable[..., T]:
    """Return what is submitted for many calls of a function, pickled once."""
    function: Any = pickles.Function(fn)
    return cast("Callable[..., T]", function)


def _chunks(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    source = iter(rows)
    while chunk := list(itertools.islice(source, size)):
        yield chunk


def _call_chunk(fn: Callable[..., T], chunk: list[Any]) -> list[T]:
    return [fn(*row) for row in chunk]


def _command(
    store: str,
    keys: str | None,
    blobs: str | None,
    initial: tuple[Callable[..., object], tuple[Any, ...]] | None,
) -> list[str]:
    """Return the command line of a process that does tasks."""
    command = [sys.executable, "-c", _BOOT, json.dumps(sys.path), "--store", store]
    if keys is not None:
        command += ["--keys", keys]
    if blobs is not None:
        command += ["--blobs", blobs]
    if initial is not None:
        body = pickles.dump_call(*initial, {})
        command += ["--initial", base64.b64encode(body).decode()]
    return command
