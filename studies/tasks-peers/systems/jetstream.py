"""NATS JetStream as a queue of tasks: a stream of calls, workers that pull, results by message.

The stream removes what is acknowledged (retention by work queue) and lies in files. A worker
publishes a result before it acknowledges the call. Results are plain messages, stored nowhere.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import nats
from nats.js.api import ConsumerConfig, RetentionPolicy, StorageType, StreamConfig
from processes import START_S, free_port, reachable, until

from systems.system import Call, System

SERVER = Path(sys.executable).with_name("nats-server")
WORKER = Path(__file__).with_name("jetstream_worker.py")


async def unheard(_: Exception) -> None:
    """Say nothing of a lost connection: it is meant to be lost."""


class Usual(System):
    """The server with its defaults: a call goes to another worker after 30 s without a word."""

    lease_s = 30.0
    settings = ""
    ahead = 16
    """How many calls a worker takes at a time."""

    def start(self) -> None:
        """Start server and workers, and subscribe to the results."""
        self.port = free_port()
        self.configuration = self.folder / "nats.conf"
        self.configuration.write_text(
            f'listen: "127.0.0.1:{self.port}"\n'
            f'jetstream {{ store_dir: "{self.folder / "stream"}"{self.settings} }}\n',
            encoding="utf-8",
        )
        self.restart()
        self.results: set[int] = set()
        self.came = threading.Condition()
        self.wanted = 0
        self.ready = 0
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.run(self.connect())
        for _ in range(self.slots):
            url, ahead = f"nats://127.0.0.1:{self.port}", str(self.ahead)
            synced = "synced" if self.settings else "usual"
            self.crew.start(sys.executable, WORKER, url, ahead, synced)
        until(lambda: self.ready == self.slots, START_S, "all workers are there")

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something in the loop of the client."""
        asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def connect(self) -> None:
        """Make stream and consumer."""
        self.client = await nats.connect(
            f"nats://127.0.0.1:{self.port}", max_reconnect_attempts=-1, error_cb=unheard
        )
        self.stream = self.client.jetstream(timeout=30)
        await self.stream.add_stream(
            StreamConfig(
                name="calls",
                subjects=["calls"],
                retention=RetentionPolicy.WORK_QUEUE,
                storage=StorageType.FILE,
            )
        )
        await self.stream.add_consumer(
            "calls",
            ConsumerConfig(durable_name="workers", ack_wait=self.lease_s, max_ack_pending=1000),
        )
        await self.client.subscribe("results", cb=self.heard)
        await self.client.subscribe("ready", cb=self.heard_ready)

    async def heard_ready(self, _: object) -> None:
        """Count a worker that is there."""
        self.ready += 1

    async def heard(self, message: Any) -> None:  # noqa: ANN401
        """Keep a result."""
        self.results.add(int(message.data))
        if len(self.results) >= self.wanted:
            with self.came:
                self.came.notify()

    def submit(self, call: Call, count: int) -> None:
        """Publish each, and wait until the server has acknowledged all."""
        self.results.clear()
        self.wanted = count
        self.run(self.publish(call, count))

    async def publish(self, call: Call, count: int) -> None:
        """Publish, some hundred at a time."""
        for begin in range(0, count, 256):
            calls = (
                json.dumps([call.name, *call.words, number]).encode()
                for number in range(begin, min(begin + 256, count))
            )
            await asyncio.gather(*(self.stream.publish("calls", one) for one in calls))

    def wait(self, seconds: float) -> int:
        """Wait for the results."""
        with self.came:
            self.came.wait_for(lambda: len(self.results) >= self.wanted, seconds)
        return len(self.results)

    def coordinator(self) -> int:
        """Return the server."""
        return self.server

    def restart(self) -> None:
        """Start the server with the files that are there."""
        self.server = self.crew.start(SERVER, "--config", self.configuration).pid
        until(lambda: reachable(self.port), START_S, "the server listens")


class Synced(Usual):
    """The server syncs each message before it acknowledges."""

    settings = ", sync_interval: always"


class LongLease(Usual):
    """One call at a time, so that none waits behind the one that a dead worker had."""

    ahead = 1


class Lease(LongLease):
    """A call goes to another worker after a second without a word."""

    lease_s = 1.0
