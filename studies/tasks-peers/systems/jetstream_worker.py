"""A worker for NATS JetStream: pulls calls, does them one after the other, sends results.

    python jetstream_worker.py URL AHEAD synced|usual

With ``synced`` it waits until the server has confirmed each acknowledgement, a batch at a time.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import nats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from systems.system import Call


async def unheard(_: Exception) -> None:
    """Say nothing of a lost connection: the server is killed on purpose."""


async def main() -> None:
    """Work until killed."""
    url, ahead, synced = sys.argv[1:]
    client = await nats.connect(url, max_reconnect_attempts=-1, error_cb=unheard)
    calls = await client.jetstream().pull_subscribe_bind("workers", "calls")
    await client.publish("ready", b"")
    functions = {}
    while True:
        try:
            batch = await calls.fetch(int(ahead), timeout=1)
        except (TimeoutError, nats.errors.Error):
            continue
        confirmed = []
        for message in batch:
            name, *words, number = json.loads(message.data)
            key = (name, *words)
            if key not in functions:
                functions[key] = Call(name, tuple(words)).function
            result = functions[key](number)
            await client.publish("results", str(result).encode())
            if synced == "synced":
                confirmed.append(message.ack_sync(timeout=30))
            else:
                await message.ack()
        await asyncio.gather(*confirmed)


if __name__ == "__main__":
    asyncio.run(main())
