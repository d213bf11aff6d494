"""Nodes for work: against a live agent, one that is stopped, and sockets that answer anything."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import tidings
from tests.conftest import Agent
from tidings import placement

ROOT = Path(__file__).parents[2]
Answer = Callable[[bytes], list[object]]


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    """Listen where an agent would, and answer one request with these bytes."""

    def listen(reply: bytes) -> list[object]:
        requests: list[object] = []
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(tmp_path / "control.sock"))
        listener.listen(1)

        def serve() -> None:
            with listener, listener.accept()[0] as connection:
                requests.append(json.loads(connection.makefile("rb").readline()))
                connection.sendall(reply)

        threading.Thread(target=serve, daemon=True).start()
        return requests

    return listen


def test_a_live_agent_picks(agent: Agent) -> None:
    """The nodes come with what is known of them; those to be avoided do not."""
    while True:
        try:
            [node] = tidings.pick(need={"mem": "1MiB"}, policy="spread")
            break
        except tidings.UnsatisfiedError:
            pass  # it has not measured its machine yet
    assert (node.name, node.cpus) == ("n0007", os.cpu_count())
    assert 0 <= node.age_s < 60
    assert node.mem_free_bytes >= 1 << 20
    with pytest.raises(tidings.UnsatisfiedError, match="0 of the 1 nodes") as refused:
        tidings.pick(avoid="n0007")
    assert refused.value.lacks == []


def test_which_need_failed_and_by_how_much(agent: Agent) -> None:
    """The message is that of the command; the numbers come as attributes."""
    while not tidings.Board().read().columns()["cores"][0] > 0:
        pass
    with pytest.raises(tidings.UnsatisfiedError) as refused:
        tidings.pick(2, need={"cpus": 1e6, "mem": "1PB"})
    refusal = refused.value
    assert (refusal.wanted, refusal.found, refusal.considered) == (2, 0, 1)
    cpus, mem = refusal.lacks
    assert (cpus.need, cpus.asked, cpus.nodes) == ("cpus", 1e6, 1)
    assert (mem.need, mem.asked, mem.nodes) == ("mem_bytes", 1e15, 1)
    assert mem.short == mem.asked - mem.best
    programs = Path(os.environ.get("TIDINGS_BIN_DIR", ROOT / "target" / "debug"))
    words = ["pick", "-n", "2", "--need", "cpus=1e6,mem=1PB"]
    command = subprocess.run([programs / "tidings", *words], capture_output=True, text=True)
    assert command.returncode == 4
    begin = "0 of the 2 nodes wanted have what is needed, of 1 considered: cpus=1000000 fails on 1"
    assert str(refusal).startswith(begin)
    assert command.stderr.startswith("tidings: " + begin)


def test_what_the_agent_refuses(agent: Agent) -> None:
    """A policy that does not exist is refused by the agent."""
    with pytest.raises(tidings.RefusedError, match="two-choices, least-loaded") as refused:
        tidings.pick(policy="best")
    assert refused.value.kind == "bad-request"


def test_waiting_for_a_stopped_agent_ends(agent: Agent) -> None:
    """The whole call has a bound, and says so; also when the backlog is full."""
    agent.process.send_signal(signal.SIGSTOP)
    with pytest.raises(tidings.AgentTimeoutError, match="it may be stopped"):
        tidings.pick(timeout_s=0.05)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        (agent.runtime_dir / "other").mkdir()
        listener.bind(str(agent.runtime_dir / "other" / "control.sock"))
        listener.listen(0)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as first:
            first.connect(str(agent.runtime_dir / "other" / "control.sock"))
            with pytest.raises(tidings.AgentTimeoutError):
                tidings.pick(runtime_dir=agent.runtime_dir / "other", timeout_s=0.05)


def test_without_an_agent_the_remedy_is_named(tmp_path: Path) -> None:
    """The same holds for a directory whose name is too long for a socket."""
    with pytest.raises(tidings.AgentError, match="start one with `tidings agent`"):
        tidings.pick(runtime_dir=tmp_path)
    with pytest.raises(tidings.AgentError, match="too long"):
        tidings.pick(runtime_dir=tmp_path / ("x" * 200))


def test_the_request_is_as_documented(answer: Answer, tmp_path: Path) -> None:
    """Sizes go as bytes, one name to avoid as a list of one."""
    node = {"name": "n1", "age_ms": 1500.0, "cpus": 8.0, "free_cpus": 2.5, "mem_free_bytes": 7}
    reply = {"ok": True, "result": {"nodes": [node], "later": 1}}
    requests = answer(json.dumps(reply).encode() + b"\n")
    picked = tidings.pick(
        1, need={"cpus": "2", "mem": "1.5 GiB"}, avoid="n7", runtime_dir=tmp_path, timeout_s=60
    )
    assert picked == [tidings.Picked("n1", 1.5, 8.0, 2.5, 7)]
    [request] = requests
    assert request == {
        "op": "pick",
        "count": 1,
        "cpus": 2.0,
        "mem_bytes": 3 << 29,
        "avoid": ["n7"],
        "policy": "two-choices",
    }


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (b"", "closed the connection"),
        (b'{"ok":true,', "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\n", "does not understand"),
        (b"[]\n", "does not understand"),
        (b'{"ok":true,"result":{"nodes":[{}]}}\n', "does not understand"),
        (b'{"ok":false}\n', "does not understand"),
    ],
)
def test_nonsense_is_no_answer(answer: Answer, tmp_path: Path, reply: bytes, words: str) -> None:
    """Any such reply is an error that names the socket."""
    answer(reply)
    with pytest.raises(tidings.AgentError, match=words) as error:
        tidings.pick(runtime_dir=tmp_path, timeout_s=60)
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize(
    ("need", "words"),
    [
        ({"gpus": 1}, "no need 'gpus'; there are 'cpus' and 'mem'"),
        ({"cpus": "many"}, "cpus='many' is not a number of processors"),
        ({"cpus": -1}, "cpus=-1 is not a number"),
        ({"cpus": None}, "cpus=None is not a number"),
        ({"mem": "lots"}, "mem='lots' is not a size"),
        ({"mem": "3s"}, "'16GiB'"),
        ({"mem": float("nan")}, "mem=nan is not a size"),
        ("cpus=8", "write need="),
    ],
)
def test_needs_that_cannot_be_read(need: dict[str, float | str], words: str) -> None:
    """Nothing is asked; the message shows what to write."""
    with pytest.raises(ValueError, match=words):
        tidings.pick(need=need, runtime_dir="/nowhere")
    with pytest.raises(ValueError, match="n=0: name a whole number"):
        tidings.pick(0)


def test_sizes_are_those_of_the_command() -> None:
    """The units, and what a number without one means."""
    sizes = {"16GiB": 16 << 30, "1kB": 1000, " 2.5 MiB ": 5 << 19, "7": 7, "0.1B": 1}
    assert {text: placement._size_bytes(text) for text in sizes} == sizes


def test_without_numpy_pick_works_and_a_board_says_what_is_missing() -> None:
    """Picking nodes needs no installation."""
    code = "import sys; sys.modules['numpy'] = None; import tidings; tidings.pick; tidings.Board"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "python", capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert "tidings.Board needs NumPy, which is not installed: `pip install numpy`" in ran.stderr


@pytest.mark.parametrize("page", ["docs/guides/readers.md", "docs/reference/control.md"])
def test_what_the_pages_show_runs(agent: Agent, page: str) -> None:
    """The code blocks in Python, as they stand there."""
    while not tidings.Board().read().columns()["cores"][0] > 0:
        pass
    blocks = (ROOT / page).read_text().split("\n```python\n")[1:]
    assert blocks
    for block in blocks:
        exec(block.split("```")[0], {"tidings": tidings})
