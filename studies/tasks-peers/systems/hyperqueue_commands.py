"""HyperQueue: a server and workers, commands submitted by `hq submit`."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time

from processes import START_S, until

from systems.commands import Program
from systems.system import Call

HQ = os.environ.get("HQ", "hq")


class Usual(Program):
    """The server with its defaults, which keeps tasks in memory; workers with one slot each."""

    least = 2_000
    """Of few, the start and the end of `hq submit --wait` take most of the time."""

    def start(self) -> None:
        """Start server and workers."""
        self.own = ["--server-dir", str(self.folder / "server")]
        self.restart()
        until(lambda: self.workers_there() == self.slots, START_S, "all workers are there")

    def journal(self) -> list[str]:
        """Return the options of the server for what it keeps."""
        return []

    def restart(self) -> None:
        """Start a server, and workers: those of the former one end with it."""
        words = [HQ, "server", "start", *self.own, "--host", "127.0.0.1", *self.journal()]
        self.server = self.crew.start(*words).pid
        until(lambda: self.asked("server", "info").returncode == 0, START_S, "the server is there")
        for _ in range(self.slots):
            self.crew.start(HQ, "worker", "start", *self.own, "--cpus", "1")

    def asked(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Return what a command says."""
        return subprocess.run([HQ, *words, *self.own], check=False, capture_output=True, text=True)

    def workers_there(self) -> int:
        """Return how many workers run."""
        return self.asked("worker", "list", "--output-mode", "quiet").stdout.count("RUNNING")

    def submit(self, call: Call, count: int) -> None:
        """Start `hq submit`, which waits."""
        own = ["--wait", "--stdout", "none", "--stderr", "none", "--array", f"0-{count - 1}"]
        self.count = count
        self.running = self.crew.start(HQ, "submit", *self.own, *own, "--", *call.command)

    def wait(self, seconds: float) -> int:
        """Wait for its end, and for that of the job where the server was another meanwhile.

        The program ends with 0 also when its server dies, so the server is asked.
        """
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.running.wait(rest)
            if self.finished() == self.count:
                return self.count
            time.sleep(0.05)
            self.running = self.crew.start(HQ, "job", "wait", "last", *self.own)
        return self.finished()

    def finished(self) -> int:
        """Return of how many tasks the server says that they are done."""
        said = self.asked("job", "info", "last", "--output-mode", "json").stdout
        return int(json.loads(said)[0]["info"]["task_stats"]["finished"]) if said else 0

    def coordinator(self) -> int:
        """Return the server."""
        return self.server


class Journal(Usual):
    """The server keeps a journal, from which the next one goes on."""

    def journal(self) -> list[str]:
        """Name the file."""
        return ["--journal", str(self.folder / "journal")]
