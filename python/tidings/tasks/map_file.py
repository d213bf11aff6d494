"""Files of many lines: one task a line, one line of result each, through deaths of this process.

The id of a task follows from the name of the run, the function and the line. So what is started
again finds the tasks that were submitted: those that have ended are not done again, and the
others are waited for. Equal lines are one task.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tidings.tasks._native as _native
from tidings.tasks import meter, pickles
from tidings.tasks.executor import Executor
from tidings.tasks.future import Future, bring

# Tasks on their way at a time: enough for the store to write many at once.
_WINDOW = 4_096


@dataclasses.dataclass(frozen=True)
class Mapped:
    """What has become of a file: where the results are, how many lines it had, how many failed."""

    path: Path
    lines: int
    failed: int


def map_file(
    path: str | os.PathLike[str],
    function: Callable[[str], Any],
    *,
    resume: str,
    executor: Executor | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Mapped:
    """Call a function with each line of a file, as tasks of the run that is called ``resume``.

    Results are lines of JSON, in the order of the input: ``{"value": ...}``, or ``{"error": ...}``
    where a task has failed. They are written to ``output``, by default the path with ``.RUN.out``
    behind it, once all are there.

    Started again with the same name it goes on. With another name it begins anew, which is what to
    do when the function has changed. Without an executor it takes one of the usual store.
    ``progress`` is that of ``Executor.map``; it counts lines.
    """
    if executor is None:
        with Executor("usual") as executor:
            return map_file(
                path, function, resume=resume, executor=executor, output=output, progress=progress
            )
    if executor.store == "memory:":
        raise ValueError("a run goes on only in a store that stays: use Executor('file:PATH')")
    if not Path(path).exists():
        raise FileNotFoundError(f"no file {os.fspath(path)!r} in {Path.cwd()}: nothing is mapped")
    into = Path(f"{os.fspath(path)}.{resume}.out" if output is None else output)
    part = into.with_name(into.name + ".part")
    run = json.dumps([resume, pickles.name_of(function)])
    shown = meter.Meter(progress)
    if shown.is_on:
        shown.expect(_lines_of(path))
    lines = failed = 0
    with Path(path).open(encoding="utf-8") as source, part.open("w", encoding="utf-8") as target:
        rows = (line.rstrip("\n") for line in source)
        for future in shown.around(_futures(executor, function, run, rows, shown)):
            result = _result_of(future)
            lines += 1
            failed += "error" in result
            target.write(json.dumps(result, ensure_ascii=False, default=str) + "\n")
        target.flush()
        os.fsync(target.fileno())
    part.replace(into)
    return Mapped(into, lines, failed)


def _futures(
    executor: Executor,
    function: Callable[[str], Any],
    run: str,
    lines: Iterator[str],
    shown: meter.Meter,
) -> Iterator[Future[Any]]:
    """Return the futures of all lines in order, so many ahead."""
    waiting: collections.deque[Future[Any]] = collections.deque()
    options = executor.options_to_keep(function)
    for line in lines:
        task = _native.task_id(f"line {run} {line}", 0)
        waiting.append(executor.submit_as(task, options, function, line))
        if shown.is_on:
            shown.add(waiting[-1])
        if len(waiting) >= _WINDOW:
            yield _next(waiting)
    while waiting:
        yield _next(waiting)


def _next(waiting: collections.deque[Future[Any]]) -> Future[Any]:
    future = waiting.popleft()
    bring(waiting)
    return future


def _lines_of(path: str | os.PathLike[str]) -> int:
    with Path(path).open(encoding="utf-8") as source:
        return sum(1 for _ in source)


def _result_of(future: Future[Any]) -> dict[str, Any]:
    with contextlib.suppress(Exception):
        return {"value": future.result()}
    return {"error": f"{type(future.exception()).__name__}: {future.exception()}"}
