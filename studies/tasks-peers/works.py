"""The works: what each system is given to do, what is done to it meanwhile, what is measured.

Times of failures are those that tasks write themselves, so no system is asked how it fares. Each
wait is bounded: what does not happen within it is given as *at least* the bound.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import calls
import graphs
import tally
from processes import TICK_S, Group, NotReadyError, process_cpu_s, send, tree, until
from systems.system import Call, System

BOUND_S = 30.0
"""How long a system may take to go on after a failure."""
MOST = 20_000


@dataclass(frozen=True)
class Figure:
    """One measured value."""

    work: str
    figure: str
    value: float
    unit: str
    at_least: bool = False


@dataclass
class Sizes:
    """How much is done."""

    seconds: float = 1.2
    """Of steady work: how long each of its parts takes, about."""
    least: int = 50
    """How many tasks each of them has at least."""
    tasks: int = 400
    """Of a killed worker; of a killed coordinator a quarter of them."""
    task_s: float = 0.05


def steady(system: System, group: Group, sizes: Sizes) -> Iterator[Figure]:
    """Measure calls that do nothing, one at a time too, and calls of a millisecond."""
    nothing, busy = Call("nothing"), Call("busy")
    system.all_of(nothing, sizes.least)
    begun = time.monotonic()
    system.all_of(nothing, sizes.least)
    rate = sizes.least / (time.monotonic() - begun)
    # The first ones are slow, with all systems: a part of the time tells how many to take.
    count = tally.enough(rate, sizes.seconds / 4, sizes.least, MOST)
    wall_s, _ = timed(lambda: system.all_of(nothing, count), group)
    least = max(sizes.least, system.least)
    count = tally.enough(count / wall_s, sizes.seconds, least, MOST)
    wall_s, cpu_s = timed(lambda: system.all_of(nothing, count), group)
    yield Figure("no-op", "rate", count / wall_s, "tasks/s")
    yield Figure("no-op", "cpu", cpu_s / count * 1e6, "us/task")
    yield from one_at_a_time(system, sizes.seconds)
    system.all_of(busy, sizes.least)
    own_s = calls.BUSY_NS / 1e9
    rate = min(count / wall_s, system.slots / own_s)
    count = tally.enough(rate, sizes.seconds, sizes.least, MOST)
    wall_s, cpu_s = timed(lambda: system.all_of(busy, count), group)
    own_s *= count
    by_wall = tally.efficiency(own_s, wall_s * system.slots)
    yield Figure("1 ms", "efficiency_wall", by_wall, "share")
    # Few calls may take less than what is counted.
    by_cpu = tally.efficiency(own_s, max(cpu_s, TICK_S))
    yield Figure("1 ms", "efficiency_cpu", by_cpu, "share")


def graph(system: System, group: Group, sizes: Sizes) -> Iterator[Figure]:
    """Measure calls that do nothing and read what two others have returned."""
    layers = max(2, sizes.least // graphs.WIDTH)
    layered(system, group, layers)
    for seconds in (sizes.seconds / 4, sizes.seconds):
        wall_s, _ = layered(system, group, layers)
        layers = tally.enough(layers / wall_s, seconds, layers, MOST // graphs.WIDTH)
    coordinator = coordinator_of(system)
    before_s = 0.0 if coordinator is None else process_cpu_s(coordinator)
    wall_s, cpu_s = layered(system, group, layers)
    count = layers * graphs.WIDTH
    yield Figure("graph", "rate", count / wall_s, "tasks/s")
    yield Figure("graph", "cpu", cpu_s / count * 1e6, "us/task")
    if coordinator is not None:
        own_s = process_cpu_s(coordinator) - before_s
        yield Figure("graph", "coordinator_cpu", own_s / count * 1e6, "us/task")


def layered(system: System, group: Group, layers: int) -> tuple[float, float]:
    """Have a graph done, and check what comes out; return the seconds of :func:`timed`."""
    expected, found = graphs.expected(layers), list[int]()
    spent = timed(lambda: found.extend(system.graph(layers)), group)
    if found != expected:
        raise RuntimeError(f"another result of {layers} layers")
    return spent


def coordinator_of(system: System) -> int | None:
    """Return the process that decides, if it is one that does nothing else."""
    try:
        return system.coordinator()
    except NotImplementedError:
        return None


def timed(work: Callable[[], None], group: Group) -> tuple[float, float]:
    """Return the seconds that some work took, of the clock and of all processes' processors."""
    cpu_s, begun = group.cpu_s(os.getpid()), time.monotonic()
    work()
    return time.monotonic() - begun, group.cpu_s(os.getpid()) - cpu_s


def one_at_a_time(system: System, seconds: float) -> Iterator[Figure]:
    """Measure calls of which each begins when the one before has a result."""
    times_s = []
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times_s) < 5:
        begun = time.monotonic()
        system.one(Call("nothing"))
        times_s.append(time.monotonic() - begun)
    yield Figure("single", "p50", tally.quantile(times_s, 0.5) * 1e3, "ms")
    yield Figure("single", "p99", tally.quantile(times_s, 0.99) * 1e3, "ms")
    yield Figure("single", "calls", len(times_s), "tasks")


class Written:
    """The file into which tasks write when they begin and end."""

    def __init__(self, system: System, seconds: float) -> None:
        """Have one, and the call that writes into it and takes so long."""
        self.path = system.folder / "lines"
        self.call = Call("line", (str(self.path), str(seconds)))

    def lines(self) -> list[tally.Line]:
        """Return what was written so far."""
        return tally.lines_of(self.path.read_text("utf-8")) if self.path.exists() else []

    def begun(self) -> list[tally.Line]:
        """Return the lines of tasks that began, the last one last."""
        return [line for line in self.lines() if line.is_begin]


def owner(system: System, written: Written) -> int:
    """Return a worker that has a task in hand: that of the one that began last and has not ended.

    A process of a task may end while it is looked for. Then another one counts, and at last a
    worker that has had a task.
    """
    lines = written.lines()
    ended = {(line.number, line.pid) for line in lines if not line.is_begin}
    begun = [line for line in reversed(lines) if line.is_begin]
    for line in sorted(begun, key=lambda line: (line.number, line.pid) in ended):
        with contextlib.suppress(NotReadyError):
            return system.owner(line.pid)
    raise NotReadyError("no worker of any task that began is there")


def warmed(system: System) -> None:
    """Let each worker do something, so that what is hurt is in full work."""
    system.submit(Call("nothing"), system.slots * 4)
    system.wait(BOUND_S)


def worker_killed(system: System, _: Group, sizes: Sizes) -> Iterator[Figure]:
    """Kill a worker half-way through tasks that sleep."""
    written = Written(system, sizes.task_s)
    warmed(system)
    system.submit(written.call, sizes.tasks)
    until(written.begun, BOUND_S, "the first task begins")
    first_s = tally.first_begin(written.lines())
    work_s = sizes.tasks * sizes.task_s
    killed_s = work_s / system.slots / 2
    time.sleep(max(0.0, first_s + killed_s - time.time()))
    send(tree(owner(system, written)), signal.SIGKILL)
    came = system.wait(killed_s + 2 * BOUND_S)
    makespan_s = time.time() - first_s
    left = system.slots if system.replaces_workers else system.slots - 1
    lost_s = makespan_s - tally.ideal_s(work_s, system.slots, killed_s, left)
    is_least = came < sizes.tasks
    yield Figure("worker killed", "makespan", makespan_s, "s", is_least)
    yield Figure("worker killed", "lost", lost_s, "s", is_least)
    yield from accounted("worker killed", written, sizes.tasks - came)


def accounted(work: str, written: Written, missing: int) -> Iterator[Figure]:
    """Say which tasks ran again, and how many results did not come."""
    again = tally.again(written.lines())
    yield Figure(work, "missing", missing, "tasks")
    yield Figure(work, "again", again.begun, "tasks")
    yield Figure(work, "again_after_end", again.ended, "tasks")


def coordinator_killed(system: System, _: Group, sizes: Sizes) -> Iterator[Figure]:
    """Kill the coordinator when half of the tasks have begun; its supervisor starts another."""
    count = sizes.tasks // 4
    written = Written(system, sizes.task_s)
    warmed(system)
    system.submit(written.call, count)
    until(lambda: len(written.begun()) >= count // 2, BOUND_S, "half of the tasks begin")
    killed_s = time.time()
    send([system.coordinator()], signal.SIGKILL)
    system.restart()
    came = system.wait(BOUND_S)
    lines = written.lines()
    never = len({line.number for line in lines}) < count
    pause_s = BOUND_S if never else tally.longest_pause_s(lines, killed_s)
    yield Figure("coordinator killed", "pause", pause_s, "s", never)
    yield from accounted("coordinator killed", written, count - came)


def frozen(system: System, _: Group, sizes: Sizes) -> Iterator[Figure]:
    """Stop a worker that has a task in hand, and see when that begins elsewhere."""
    written = Written(system, 10 * sizes.task_s)
    warmed(system)
    system.submit(written.call, 1)
    until(written.begun, BOUND_S, "the task begins")
    with stopped(tree(owner(system, written))) as since_s:
        end = time.monotonic() + BOUND_S
        while len(written.begun()) < 2 and time.monotonic() < end:
            time.sleep(0.005)
        found = written.begun()
    is_least = len(found) < 2
    value = BOUND_S if is_least else found[1].at_s - since_s
    yield Figure("worker frozen", "elsewhere", value, "s", is_least)


@contextlib.contextmanager
def stopped(pids: list[int]) -> Iterator[float]:
    """Stop processes, and let them go on at the end."""
    send(pids, signal.SIGSTOP)
    try:
        yield time.time()
    finally:
        send(pids, signal.SIGCONT)


Work = Callable[[System, Group, Sizes], Iterator[Figure]]
# Of each work: what it does, and with how many slots.
WORKS: dict[str, tuple[Work, int]] = {
    "steady": (steady, 2),
    "graph": (graph, 2),
    "worker-killed": (worker_killed, 3),
    "coordinator-killed": (coordinator_killed, 3),
    "frozen": (frozen, 2),
}
