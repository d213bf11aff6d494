"""Processes of one cell: started, found again, hurt, ended, and what they use of processors."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")

# The least time of processors that is counted.
TICK_S = 1 / TICKS

# The longest that a system may take to start, on a machine where others compute too.
START_S = 240.0


class NotReadyError(Exception):
    """What a system was to reach did not come in time."""


def until(condition: Callable[[], object], seconds: float, what: str) -> None:
    """Wait until something holds, looking each 5 ms."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise NotReadyError(f"not within {seconds:g} s: {what}")
        time.sleep(0.005)


def free_port() -> int:
    """Return a port of loopback that nobody has at this moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def reachable(port: int) -> bool:
    """Return whether somebody listens at a port of loopback."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def process_cpu_s(pid: int) -> float:
    """Return the time that one process has had of processors, in steps of :data:`TICK_S`."""
    fields = _stat(pid)
    return sum(map(int, fields[11:13])) / TICKS if fields is not None else 0.0


def tree(root: int) -> list[int]:
    """Return a process and all below it, itself first."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        if (fields := _stat(pid)) is not None:
            children.setdefault(int(fields[1]), []).append(pid)
    found = [root]
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def send(pids: Iterable[int], what: signal.Signals) -> None:
    """Send a signal to processes; to those that have ended, none."""
    for pid in pids:
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            continue


def adopt() -> None:
    """Become the parent of what is left of processes below this one when their parent ends."""
    set_child_subreaper = 36
    ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1, 0, 0, 0)


def end_all_below() -> None:
    """Kill all processes below this one, and those that they started meanwhile."""
    own = os.getpid()
    while below := tree(own)[1:]:
        send(below, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


class Crew:
    """The processes that a system consists of, in the order of their start."""

    def __init__(self, folder: Path) -> None:
        """Prepare to start some, whose output goes to files of a folder."""
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *words: str | Path, **variables: str) -> subprocess.Popen[bytes]:
        """Start a program."""
        log = self.folder / f"{len(self.started)}.log"
        with log.open("wb") as output:
            one = subprocess.Popen(
                [str(word) for word in words],
                cwd=self.folder,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.started.append(one)
        return one

    def owner(self, pid: int) -> int:
        """Return the process of the crew that a process is, or is below."""
        for one in self.started:
            if one.poll() is None and pid in tree(one.pid):
                return one.pid
        raise NotReadyError(f"process {pid} is of no process that was started")

    def end(self) -> None:
        """Kill all that is left, the last one first."""
        for one in reversed(self.started):
            if one.poll() is None:
                below = tree(one.pid)
                send(below, signal.SIGKILL)
            one.wait()


class Group:
    """A control group of the second version for a cell, where one can be made; else none."""

    def __init__(self, path: Path | None) -> None:
        """Take a group that is there."""
        self.path = path

    @classmethod
    def make(cls, name: str) -> Group:
        """Make one beside or below that of this process."""
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
        mounted = [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"]
        own = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        places = [line[3:] for line in own if line.startswith("0::")]
        if not mounted or not places:
            return cls(None)
        path = Path(mounted[0], places[0].strip("/"), name)
        try:
            path.mkdir()
        except OSError:
            return cls(None)
        return cls(path)

    def enter(self) -> None:
        """Put this process, and all that it will start, into it."""
        if self.path is not None:
            (self.path / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")

    def cpu_s(self, root: int) -> float:
        """Return the processors' time of the group; without one, of a process and all below it."""
        if self.path is not None:
            rows = (self.path / "cpu.stat").read_text(encoding="utf-8").split()
            return int(rows[rows.index("usage_usec") + 1]) / 1e6
        of_each = (fields for pid in tree(root) if (fields := _stat(pid)) is not None)
        return sum(sum(map(int, fields[11:15])) for fields in of_each) / TICKS

    def below(self) -> list[Path]:
        """Return it and the groups that were made in it, itself last; a dead worker leaves some."""
        if self.path is None:
            return []
        inner = (path for path in self.path.rglob("*") if path.is_dir())
        return [*sorted(inner, key=lambda path: len(path.parts), reverse=True), self.path]

    def remove(self, seconds: float = 2) -> None:
        """Kill what is left in it, and remove it; one that stays busy is left."""
        end = time.monotonic() + seconds
        while (left := self.below()) and time.monotonic() < end:
            for path in left:
                with contextlib.suppress(OSError):
                    pids = (path / "cgroup.procs").read_text(encoding="utf-8").split()
                    send(map(int, pids), signal.SIGKILL)
                    path.rmdir()
            if self.path is not None and not self.path.exists():
                return
            time.sleep(0.01)


def busy_share(seconds: float) -> float:
    """Return which share of the machine's processors was busy for some time from now on."""

    def looked() -> tuple[int, int]:
        row = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()
        ticks: Sequence[int] = [int(word) for word in row[1:9]]
        return sum(ticks), ticks[3] + ticks[4]

    all_before, idle_before = looked()
    time.sleep(seconds)
    all_after, idle_after = looked()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)
