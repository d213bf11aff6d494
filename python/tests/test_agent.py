"""Metrics and events through a live agent, which is also stopped and started again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tests.conftest import Agent

PROGRAMS = Path(os.environ.get("TIDINGS_BIN_DIR", Path(__file__).parents[2] / "target" / "debug"))


class Peers:
    """Agents that join the one under test, and end with the test."""

    def __init__(self, agent: Agent, folder: Path) -> None:
        self.folder = folder
        self.seed = self.status(agent.runtime_dir)
        self.running: list[subprocess.Popen[str]] = []

    @staticmethod
    def status(directory: Path) -> str:
        """Return the address of an agent."""
        words = ["--runtime-dir", str(directory), "status"]
        said = subprocess.run(
            [PROGRAMS / "tidings", *words], capture_output=True, text=True, check=True
        ).stdout
        fields = dict(line.split(None, 1) for line in said.splitlines() if " " in line)
        return fields["address"].strip()

    def start(self, name: str, home: Path | None = None, *more: str) -> subprocess.Popen[str]:
        """Start an agent and wait until it listens."""
        home = home or self.folder / name
        words = ["--name", name, "--runtime-dir", str(home), "--board", str(home / "board")]
        words += ["--listen", "127.0.0.1:0", "--http", "off", "--interval", "20ms", *more]
        process = subprocess.Popen(
            [PROGRAMS / "tidings-agent", *words], stderr=subprocess.PIPE, text=True
        )
        self.running.append(process)
        assert process.stderr is not None
        assert any(" board " in line for line in process.stderr)
        return process

    def join(self, name: str) -> subprocess.Popen[str]:
        """Start an agent that asks the one under test."""
        return self.start(name, None, "--seed", self.seed)


@pytest.fixture
def peers(agent: Agent, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peers]:
    """Have agents beside the one under test."""
    made = Peers(agent, tmp_path_factory.mktemp("peers"))
    yield made
    for process in made.running:
        process.kill()
        process.communicate(timeout=60)


def test_dir_shows_all_that_can_be_used() -> None:
    """In a process that has used nothing yet; what is shown is there."""
    code = """
import tidings
names = dir(tidings)
for name in ("Board", "Notice", "pick", "publish", "watch", "watch_async", "tasks", "scaling"):
    assert name in names, name
assert all(hasattr(tidings, name) for name in tidings.__all__)
try:
    tidings.bored
except AttributeError as error:
    assert "bored" in str(error)
else:
    raise SystemExit("no such name")
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])


def test_what_is_published_is_read(agent: Agent) -> None:
    """Several at once, withdrawn, and refused with the agent's reason."""
    assert agent.process.poll() is None
    tidings.publish({"gpu": 3, "job": "a17"})
    with tidings.Board() as board:
        while True:
            shown = board.entry("n0007").readings
            if "user.job" in shown:
                break
        assert (shown["user.gpu"], shown["user.job"]) == ("3", "a17")
        assert shown["cores"] == os.cpu_count()
    with pytest.raises(tidings.RefusedError, match="a key"):
        tidings.publish({"job": "b18", "not a key": 1})
    with pytest.raises(tidings.RefusedError, match="payload_bytes"):
        tidings.publish({"job": "b18", "note": "x" * 20})
    tidings.publish({"gpu": 0}, ttl_s=0)
    with tidings.Board() as board:
        while "user.gpu" in (shown := board.entry("n0007").readings):
            pass
        assert shown["user.job"] == "a17", "what is refused changes nothing"


def test_events_are_yielded_as_they_happen(peers: Peers) -> None:
    """A node joins and is killed."""
    events = tidings.watch()
    peers.join("n0008")
    connected = next(events)
    assert (connected.event, connected.name) == ("joined", "n0008")
    assert connected.time_s > 1.7e9
    peers.running[-1].send_signal(signal.SIGTERM)
    for notice in events:
        if notice.event == "left":
            assert notice.name == "n0008"
            break


def test_an_agent_that_starts_again_is_followed(agent: Agent, peers: Peers) -> None:
    """Boards and watchers go on with the next life of an agent."""
    with tidings.Board() as board:
        assert [entry.name for entry in board] == ["n0007"]
        events = tidings.watch()
        peers.join("n0008")
        assert next(events).name == "n0008"
        agent.process.send_signal(signal.SIGTERM)
        agent.process.wait(timeout=60)
        with pytest.raises(tidings.BoardError):
            board.read()
        peers.start("n0007", agent.runtime_dir)
        assert "n0007" in {entry.name for entry in board}
        assert any(notice.event == "missed" for notice in events)
    with pytest.raises(tidings.BoardError, match="closed by this program"):
        board.read()


def test_asyncio_yields_the_same(peers: Peers) -> None:
    """While a node joins."""

    async def first() -> tidings.Notice:
        events = await tidings.watch_async()
        await asyncio.to_thread(peers.join, "n0009")
        async for notice in events:
            return notice
        raise AssertionError("events have no end")

    notice = asyncio.run(first())
    assert (notice.event, notice.name) == ("joined", "n0009")


def test_without_an_agent_there_is_an_error(tmp_path: Path) -> None:
    """At once, with the path."""
    with pytest.raises(tidings.AgentError, match="no agent answers at"):
        next(tidings.watch(runtime_dir=tmp_path))
    with pytest.raises(tidings.AgentError, match="no agent answers at"):
        tidings.publish({"a": 1}, runtime_dir=tmp_path)


@pytest.mark.usefixtures("agent")
def test_the_notebook_runs() -> None:
    """Each cell, in order, as a kernel would."""
    path = Path(__file__).parents[2] / "examples" / "board.ipynb"
    notebook = json.loads(path.read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 3
    names: dict[str, object] = {}
    while True:
        try:
            for cell in cells:
                exec("".join(cell["source"]), names)
            break
        except tidings.UnsatisfiedError:
            pass  # the agent has not measured its machine yet
    assert len(names["frame"]) == 1  # type: ignore[arg-type]
