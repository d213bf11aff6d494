"""An etcd of three servers, in a folder of its own, as long as a test takes."""

from __future__ import annotations

import collections
import itertools
import os
import queue
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

READY = "serving client traffic insecurely"
ATTEMPTS = 5
NEVER_GIVEN = range(20_000, 30_000)  # below ip_local_port_range
_hosts = itertools.count(1)


class Servers:
    """Three servers; killed at the end of a ``with`` block."""

    def __init__(self, folder: Path) -> None:
        for attempt in range(ATTEMPTS):
            self._begin(folder / f"etcd-{attempt}")
            if all(told.get() for _, told in self._listeners):
                return
            self.__exit__()
        raise AssertionError("etcd does not start (Debian: etcd-server)")

    def address(self, prefix: str) -> str:
        """Return what names a store in it."""
        return f"etcd://{','.join(self._clients)}/{prefix}"

    def kill(self, number: int) -> None:
        """Kill a server."""
        self._processes[number].kill()
        self._processes[number].wait()

    def __enter__(self) -> Servers:
        """Use it."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Kill all."""
        for number in range(3):
            self.kill(number)
        for listener, _ in self._listeners:
            listener.join()

    def _begin(self, folder: Path) -> None:
        folder.mkdir()
        places = free_places(6)
        self._clients, peers = places[:3], places[3:]
        cluster = ",".join(f"s{number}=http://{peer}" for number, peer in enumerate(peers))
        self._processes: list[subprocess.Popen[str]] = []
        self._listeners: list[tuple[threading.Thread, queue.Queue[bool]]] = []
        for number in range(3):
            client, peer = self._clients[number], peers[number]
            words = ["--name", f"s{number}", "--initial-cluster", cluster, "--logger", "zap"]
            words += ["--data-dir", str(folder / f"data-{number}")]
            for role, place in (("client", client), ("peer", peer)):
                words += [f"--listen-{role}-urls", f"http://{place}"]
            words += ["--advertise-client-urls", f"http://{client}"]
            words += ["--initial-advertise-peer-urls", f"http://{peer}"]
            # Slow machines that do much else must not elect all the time.
            words += ["--heartbeat-interval", "200", "--election-timeout", "2000"]
            process = subprocess.Popen(["etcd", *words], stderr=subprocess.PIPE, text=True)
            self._processes.append(process)
            told: queue.Queue[bool] = queue.Queue()
            listener = threading.Thread(target=_listen, args=(process, told))
            listener.start()
            self._listeners.append((listener, told))


def _listen(process: subprocess.Popen[str], told: queue.Queue[bool]) -> None:
    """Say whether a server can be asked, once it says so, or has ended."""
    assert process.stderr is not None
    with process.stderr as log:
        told.put(any(READY in line for line in log))
        # Read to its end: a server whose log is full stands still.
        collections.deque(log, maxlen=0)


def free_places(count: int) -> list[str]:
    """Return ports that are free, on an address that no other test uses at a time.

    None is one that Linux gives to whoever asks for any port: clients go on to call a killed
    server, and its port may be that of another program by then.
    """
    high, low = divmod(os.getpid() % 0xFFFF, 256)
    host = f"127.{high}.{low}.{200 + next(_hosts) % 50}"
    return list(itertools.islice(_free(host), count))


def _free(host: str) -> Iterator[str]:
    for port in NEVER_GIVEN:
        try:
            socket.create_server((host, port)).close()
        except OSError:
            continue
        yield f"{host}:{port}"
