"""Calls of a function, measured in this process: interpreter's instructions, memory, results.

Each measures one call and returns one positive number. The garbage collector is off meanwhile, so
that it is not measured with the function. Times are in `timing`.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tidings.scaling.counters import processor
from tidings.scaling.counters.library import CounterError

Call = Callable[[], Any]

EXACT = ("bytecodes", "returned")
"""Metrics without noise: one repetition is enough."""


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Keep the garbage collector from running."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _bytecodes(call: Call) -> float:
    """Count the Python instructions of a call."""
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:  # noqa: ANN401
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return float(count)


def _allocated(call: Call) -> float:
    """Return the peak of bytes allocated by Python during a call."""
    import tracemalloc

    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        call()
        return float(max(tracemalloc.get_traced_memory()[1] - before, 1))
    finally:
        tracemalloc.stop()


def _returned(call: Call) -> float:
    """Return the number that a call returns."""
    found = call()
    try:
        return float(found)
    except (TypeError, ValueError):
        kind = type(found).__name__
        raise CounterError(
            f"the function returned {found!r:.60}, of type {kind}: for metric `returned` it must "
            "return a number, its own count"
        ) from None


def _instructions(call: Call) -> float:
    with without_collector():
        return float(processor.count(call))


METRICS: dict[str, Callable[[Call], float]] = {
    "bytecodes": _bytecodes,
    "returned": _returned,
    "allocated": _allocated,
    "instructions": _instructions,
}
"""The function that measures each metric; `instructions` by the processor's counter."""
