"""Traces of stealing: what each worker ran from one steal to the next, and from whom it had it.

``read`` reads a file that a program or the simulator has written, and gives its working phases: a
worker's work from when tasks came to it, while it had none, until it had none again. ``perfetto``
writes them for https://ui.perfetto.dev, ``draw`` as a picture (matplotlib), and ``python -m
tidings.steals FILE`` says how many there are.

Source: the bytes are those of ``crates/steal/src/trace``. Lifflander, Krishnamoorthy, Kale, "Steal
tree: low-overhead tracing of work stealing schedulers", PLDI 2013.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_MAGIC = b"tdgsteal"
_VERSION = 1
_MASK = (1 << 64) - 1

_GAVE_HALF, _GAVE_WANTED, _GOT_NEXT, _GOT, _JOINED, _IDLE, _ORDERED = range(7)

# The colours of phases by depth.
_LOOKS = (
    ("#0072b2", "as given"),
    ("#009e73", "stolen once"),
    ("#e69f00", "stolen from a thief"),
    ("#d55e00", "further"),
)


class TraceError(ValueError):
    """The bytes are not a whole trace, or its parts do not go together."""


@dataclass(frozen=True)
class Phase:
    """A working phase."""

    worker: int
    """Whose it is."""
    parent: int | None
    """From which it was stolen, by its place in the list; None of what the worker was given."""
    depth: int
    """How many steals lie between it and what a worker was given."""
    begin_us: int
    """When it began, in microseconds of the worker's clock since it entered."""
    end_us: int
    """When nothing was left."""
    steps: int
    """Tasks taken, spawned and ended."""
    gifts: int
    """How often others took tasks of it."""


@dataclass(frozen=True)
class Trace:
    """The working phases of all workers, those of a worker in their order."""

    workers: int
    steals: int
    phases: tuple[Phase, ...]
    bytes_of: tuple[int, ...] = field(repr=False)
    """The bytes of each worker's trace."""

    @property
    def depth(self) -> int:
        """The depth of the deepest phase."""
        return max((phase.depth for phase in self.phases), default=0)

    def statistics(self) -> dict[str, float]:
        """Return what there is, as ``python -m tidings.steals --json`` prints it."""
        total = sum(self.bytes_of)
        return {
            "workers": self.workers,
            "steals": self.steals,
            "phases": len(self.phases),
            "depth": self.depth,
            "steps": sum(phase.steps for phase in self.phases),
            "bytes": total,
            "bytes_of_a_steal": total / max(self.steals, 1),
            "bytes_of_a_worker_most": max(self.bytes_of, default=0),
        }


def read(path: str | Path) -> Trace:
    """Read a file of traces.

    Raises TraceError if it is cut or damaged, or of workers that were not in one phase.
    """
    data = Path(path).read_bytes()
    try:
        return _tree(_parts(data))
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None


@dataclass
class _Open:
    """A phase that has not ended."""

    begin_us: int
    step: int
    parent: tuple[int, int, int] | None
    gifts: int = 0


def _parts(data: bytes) -> list[bytes]:
    """Return the bytes of each worker's trace."""
    if data[: len(_MAGIC)] != _MAGIC:
        raise TraceError("this is no trace of stealing")
    cut = TraceError(f"this trace ends after {len(data)} bytes, before its end: record it again")
    try:
        version, _, workers = struct.unpack_from("<HQI", data, len(_MAGIC))
        if version != _VERSION:
            raise TraceError(f"this trace has version {version}, and {_VERSION} is read")
        at, parts = len(_MAGIC) + struct.calcsize("<HQI"), []
        for _ in range(workers):
            _, length = struct.unpack_from("<QI", data, at)
            at += struct.calcsize("<QI")
            parts.append(data[at : at + length])
            at += length
        (checksum,) = struct.unpack_from("<Q", data, at)
    except struct.error:
        raise cut from None
    if at + 8 != len(data) or checksum != _checksum(data[:at]):
        raise TraceError("this trace is damaged: its checksum is another")
    return parts


def _mix(number: int) -> int:
    """Return the finaliser of SplitMix64."""
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)


def _checksum(data: bytes) -> int:
    total = _mix(len(data))
    for at in range(0, len(data), 8):
        total = _mix(total ^ int.from_bytes(data[at : at + 8], "little"))
    return total


def _numbers(data: bytes) -> Iterator[int]:
    """Yield numbers in groups of seven bits, the lowest first."""
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0
    if shift:
        raise TraceError("a worker's trace ends within a number")


def _events(data: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield step, time, kind, and two numbers: a worker and a gift, or others."""
    numbers, step, at_us = _numbers(data), 0, 0
    following: dict[int, int] = {}
    for head in numbers:
        step, kind = step + (head >> 3), head & 7
        one = other = 0
        try:
            if kind in (_GAVE_HALF, _GOT_NEXT, _JOINED):
                one = next(numbers)
            elif kind == _GAVE_WANTED:
                one, _, _ = next(numbers), next(numbers), next(numbers)
            elif kind == _GOT:
                one, other = next(numbers), next(numbers)
            elif kind not in (_IDLE, _ORDERED):
                raise TraceError(f"a worker's trace has an event of kind {kind}")
            if kind == _GOT_NEXT:
                other = following.get(one, 0)
            if kind in (_GOT_NEXT, _GOT):
                following[one] = other + 1
            if kind in (_GOT_NEXT, _GOT, _IDLE):
                at_us += next(numbers)
        except StopIteration:
            raise TraceError("a worker's trace ends within an event") from None
        yield step, at_us, kind, one, other


def _tree(parts: Sequence[bytes]) -> Trace:
    """Return the phases of all workers."""
    phases: list[tuple[int, _Open, int, int]] = []
    gifts: dict[tuple[int, int], list[int]] = {}
    arrivals: list[tuple[int, int, int]] = []
    for worker, data in enumerate(parts):
        now: _Open | None = _Open(0, 0, None)
        for step, at_us, kind, one, other in _events(data):
            if kind in (_GOT_NEXT, _GOT):
                arrivals.append((one, worker, other))
                now = now or _Open(at_us, step, arrivals[-1])
            elif kind == _JOINED:
                now = now or _Open(at_us, step, None)
            elif kind in (_GAVE_HALF, _GAVE_WANTED):
                gifts.setdefault((worker, one), []).append(len(phases))
                if now:
                    now.gifts += 1
            elif kind == _IDLE and now:
                phases.append((worker, now, at_us, step))
                now = None
        if now:
            phases.append((worker, now, now.begin_us, now.step))
    given = sorted((*pair, number) for pair, its in gifts.items() for number in range(len(its)))
    if given != sorted(arrivals):
        raise TraceError("these traces are not all of one phase that was complete")
    return Trace(
        workers=len(parts),
        steals=len(arrivals),
        phases=tuple(_with_depths(phases, gifts)),
        bytes_of=tuple(len(data) for data in parts),
    )


def _with_depths(
    phases: Sequence[tuple[int, _Open, int, int]], gifts: dict[tuple[int, int], list[int]]
) -> Iterator[Phase]:
    """Yield the phases with their parents and depths."""
    parents = [
        None if begun.parent is None else gifts[begun.parent[:2]][begun.parent[2]]
        for _, begun, _, _ in phases
    ]
    depths: dict[int, int] = {}
    for start in range(len(phases)):
        path = []
        at: int | None = start
        while at is not None and at not in depths:
            depths[at] = 0
            path.append(at)
            at = parents[at]
        for place in reversed(path):
            parent = parents[place]
            depths[place] = 0 if parent is None else depths[parent] + 1
    for place, (worker, begun, end_us, step) in enumerate(phases):
        yield Phase(
            worker,
            parents[place],
            depths[place],
            begun.begin_us,
            end_us,
            step - begun.step,
            begun.gifts,
        )


def perfetto(trace: Trace) -> dict[str, Any]:
    """Return an object of JSON for https://ui.perfetto.dev, with a track for each worker."""
    events: list[dict[str, Any]] = []
    for place, phase in enumerate(trace.phases):
        where = {"pid": 1, "tid": phase.worker}
        parent = None if phase.parent is None else trace.phases[phase.parent]
        events.append(
            {
                "name": "given" if parent is None else f"from worker {parent.worker}",
                "cat": "work",
                "ph": "X",
                "ts": phase.begin_us,
                "dur": phase.end_us - phase.begin_us,
                "args": {"depth": phase.depth, "steps": phase.steps, "gifts": phase.gifts},
                **where,
            }
        )
        if parent is not None:
            flow = {"name": "steal", "cat": "steal", "id": place}
            out_us = min(phase.begin_us, parent.end_us)
            events.append({**flow, "ph": "s", "ts": out_us, "pid": 1, "tid": parent.worker})
            events.append({**flow, "ph": "f", "bp": "e", "ts": phase.begin_us, **where})
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def draw(trace: Trace, path: str | Path) -> None:
    """Draw a time line of each worker, and the tree of steals by depth, as SVG or PNG."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    except ModuleNotFoundError as error:
        raise TraceError(
            "a picture needs matplotlib: `pip install matplotlib`, or use --perfetto"
        ) from error
    figure = Figure(figsize=(9, min(2.5 + 0.12 * trace.workers, 12)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for depth, (colour, _) in enumerate(_LOOKS):
        its = [one for one in trace.phases if min(one.depth, len(_LOOKS) - 1) == depth]
        axes.barh(
            [one.worker for one in its],
            [max(one.end_us - one.begin_us, 1) / 1000 for one in its],
            left=[one.begin_us / 1000 for one in its],
            height=0.8 if trace.workers <= 64 else 1,
            color=colour,
            antialiased=trace.workers <= 64,
        )
    figure.legend(
        handles=[Patch(color=colour, label=name) for colour, name in _LOOKS],
        loc="outside lower center",
        ncols=len(_LOOKS),
        frameon=False,
    )
    axes.set_xlabel("time of the worker (ms)")
    axes.set_ylabel("worker")
    axes.set_ylim(trace.workers - 0.5, -0.5)
    axes.set_title(f"{trace.steals:,} steals among {trace.workers:,} workers")
    figure.savefig(path)


def _lines(trace: Trace) -> Iterable[str]:
    said = trace.statistics()
    yield f"{trace.steals:,} steals among {trace.workers:,} workers, {trace.depth} deep at most"
    yield f"{len(trace.phases):,} working phases, {said['steps']:,} steps"
    yield (
        f"{said['bytes']:,} bytes: {said['bytes_of_a_steal']:.1f} a steal, at most "
        f"{said['bytes_of_a_worker_most']:,} of a worker"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Say what is in a trace; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tidings.steals", description=__doc__)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print the statistics as JSON")
    parser.add_argument("--phases", action="store_true", help="print each phase as a line of JSON")
    parser.add_argument("--perfetto", metavar="OUT", help="write it for ui.perfetto.dev")
    parser.add_argument("--draw", metavar="OUT", help="draw it, as .svg or .png")
    chosen = parser.parse_args(arguments)
    try:
        trace = read(chosen.file)
        if chosen.perfetto:
            Path(chosen.perfetto).write_text(json.dumps(perfetto(trace)))
        if chosen.draw:
            draw(trace, chosen.draw)
    except (OSError, TraceError) as error:
        print(f"tidings.steals: {error}", file=sys.stderr)
        return 2
    with contextlib.suppress(BrokenPipeError):
        if chosen.phases:
            for phase in trace.phases:
                print(json.dumps(asdict(phase)))
        else:
            print(json.dumps(trace.statistics()) if chosen.json else "\n".join(_lines(trace)))
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
