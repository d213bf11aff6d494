"""What the parts of this study do to a machine, and undo: roles of cores, a load, agents.

Invariant: whatever ends a part, every knob is as it was when it began; `Knobs` holds them against
each other. Roles are set and undone by the commands that an operator gives.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

WAIT_S = 60
"""How long a program may take to start, or to end."""
LOOK_S = 0.1
"""How often it is looked whether agents know each other."""

KNOBS = (
    "/proc/irq/*/smp_affinity_list",
    "/proc/irq/default_smp_affinity",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/devices/virtual/workqueue/writeback/cpumask",
    "/proc/sys/kernel/watchdog_cpumask",
    "/proc/sys/vm/stat_interval",
)
GROUPS = ("/sys/fs/cgroup/*/tidings.*", "/sys/fs/cgroup/tidings.*")


class MachineError(Exception):
    """The machine does not do what a part needs, or is not as it was. The message says which."""


@dataclass(frozen=True)
class Tools:
    """The programs of a part."""

    tidings: Path
    agent: Path
    c: Path

    def tell(self, *words: str) -> str:
        """Return what `tidings` prints."""
        return said([str(self.tidings), *words])


def said(command: Sequence[str], *, cwd: Path | None = None) -> str:
    """Return what a program prints; MachineError if it fails."""
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=cwd
    )
    if done.returncode != 0:
        raise MachineError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def found(patterns: Sequence[str]) -> list[Path]:
    """Return the files that some patterns name."""
    return sorted(path for one in patterns for path in Path("/").glob(one.removeprefix("/")))


def begin(measure: Callable[[], None]) -> int:
    """Run a part so that SIGTERM, too, ends it by way of what it has to undo; the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        measure()
    except MachineError as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


class Knobs:
    """Every knob that roles turn, as it was."""

    def __init__(self) -> None:
        """Read them."""
        self.before = self.now()

    @staticmethod
    def now() -> dict[str, str]:
        """Return what they have; of a group that it is there."""
        knobs = {str(path): path.read_text(encoding="ascii").strip() for path in found(KNOBS)}
        return {**knobs, **{str(path): "a group" for path in found(GROUPS)}}

    def give_back(self) -> None:
        """Write the former values, but for groups: programs alone are kept off then."""
        for path, value in self.before.items():
            if self.now().get(path) != value:
                Path(path).write_text(value, encoding="ascii")

    def check(self) -> None:
        """Raise MachineError if one is not as it was."""
        now = self.now()
        for path in sorted(self.before.keys() | now.keys()):
            before, after = self.before.get(path), now.get(path)
            if before != after:
                raise MachineError(f"{path} was {before} and is {after} after roles were undone")


@contextlib.contextmanager
def roles(tools: Tools, state: str) -> Iterator[None]:
    """Set a state of the machine, and undo it.

    `stock` is as it is; `application` as `tidings cores apply` makes it; `shielded` has only the
    groups of that: interrupts, kernel work and statistics have their former values.
    """
    if state == "stock":
        yield
        return
    knobs = Knobs()
    tools.tell("cores", "apply")
    try:
        if state == "shielded":
            knobs.give_back()
        yield
    finally:
        with uninterrupted():
            tools.tell("cores", "undo")
            knobs.check()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let no signal that ends this program come between."""
    both = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, both)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def application_cores(tools: Tools) -> list[int]:
    """Return the cores that are, or would be, kept for applications."""
    return planned(tools, "application")


def planned(tools: Tools, role: str) -> list[int]:
    """Return the cores that a role has in the plan."""
    listed = str(json.loads(tools.tell("cores", "plan", "--json"))["roles"][role])
    ends = [part.partition("-")[::2] for part in listed.split(",")]
    return [core for first, last in ends for core in range(int(first), int(last or first) + 1)]


def application_core(tools: Tools) -> int:
    """Return the core that is measured in every state: the first that is kept for applications."""
    return application_cores(tools)[0]


@contextlib.contextmanager
def running(command: Sequence[str], ready: str = "") -> Iterator[subprocess.Popen[str]]:
    """Run a program meanwhile; from its first line on, if that is what it says when it is ready."""
    program = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    assert program.stdout is not None
    assert program.stderr is not None
    try:
        if ready and program.stdout.readline().strip() != ready:
            raise MachineError(f"{' '.join(command)}: {program.stderr.read().strip()}")
        yield program
    finally:
        with uninterrupted():
            program.terminate()
            try:
                program.communicate(timeout=WAIT_S)
            except subprocess.TimeoutExpired:
                program.kill()
                program.communicate()


@contextlib.contextmanager
def load(tools: Tools, kind: str) -> Iterator[None]:
    """Run the load of this kind meanwhile: `idle` or `hostile`."""
    if kind == "idle":
        yield
        return
    with (
        tempfile.TemporaryDirectory(dir=tools.c) as folder,
        running([str(tools.c / "load"), folder], ready="ready"),
    ):
        yield


@dataclass(frozen=True)
class Agent:
    """Where the agent that is looked at runs, and how often it gossips."""

    place: str
    interval_ms: int

    def command(self, tools: Tools, words: list[str]) -> list[str]:
        """Return how it is started."""
        agent = [str(tools.agent), *words]
        if self.place == "service core":
            return [*agent, "--service-core", "role"]
        if self.place == "application core":
            return [str(tools.tidings), "cores", "run", "--role", "application", "--", *agent]
        return agent


@contextlib.contextmanager
def agents(tools: Tools, agent: Agent | None, peers: int, service: str) -> Iterator[None]:
    """Run an agent and its peers meanwhile; the peers on the service core in any case."""
    if agent is None:
        yield
        return
    folder = Path(tempfile.mkdtemp(prefix="agents-", dir=tools.c))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        ports = free_ports(peers + 1)
        roster = folder / "roster"
        lines = [f"n{at}=127.0.0.1:{port}\n" for at, port in enumerate(ports)]
        roster.write_text("".join(lines), encoding="ascii")
        for at, port in enumerate(ports):
            words = ["--name", f"n{at}", "--roster", str(roster), "--listen", f"127.0.0.1:{port}"]
            words += ["--http", "off", "--runtime-dir", str(folder / f"run-{at}"), "--log", "error"]
            words += ["--interval", f"{agent.interval_ms}ms", "--min-members", str(len(ports))]
            own = agent.command(tools, words) if at == 0 else peer(tools, words, service)
            stack.enter_context(running(own))
        until_healthy(tools, folder / "run-0")
        yield


def peer(tools: Tools, words: list[str], service: str) -> list[str]:
    """Return how an agent on the service core is started."""
    return ["taskset", "--cpu-list", service, str(tools.agent), *words]


def free_ports(count: int) -> list[int]:
    """Return ports that are free now."""
    with contextlib.ExitStack() as stack:
        made = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
        ports = []
        for one in made:
            stack.enter_context(one).bind(("127.0.0.1", 0))
            ports.append(int(one.getsockname()[1]))
        return ports


def until_healthy(tools: Tools, runtime: Path) -> None:
    """Wait until an agent knows all the others."""
    words = [str(tools.tidings), "health", "--runtime-dir", str(runtime)]
    last = subprocess.CompletedProcess[str](words, 3)
    for _ in range(int(WAIT_S / LOOK_S)):
        last = subprocess.run(words, check=False, capture_output=True, text=True)
        if last.returncode == 0:
            return
        time.sleep(LOOK_S)
    raise MachineError(f"{' '.join(words)}: {last.stderr.strip()}")
