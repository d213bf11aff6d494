"""An agent of its own for each test that asks for one."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Agent:
    """A running agent called n0007."""

    runtime_dir: Path
    process: subprocess.Popen[str]


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    """Start an agent, wait until it has a board, and make it the one that is asked."""
    root = Path(__file__).parents[2]
    programs = Path(os.environ.get("TIDINGS_BIN_DIR", root / "target" / "debug"))
    words = ["--name", "n0007", "--runtime-dir", str(tmp_path), "--board", str(tmp_path / "board")]
    words += ["--listen", "127.0.0.1:0", "--http", "off", "--interval", "20ms"]
    process = subprocess.Popen(
        [programs / "tidings-agent", *words], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if " board " in line or "there is no board" in line:
            break
    monkeypatch.setenv("TIDINGS_RUNTIME_DIR", str(tmp_path))
    yield Agent(tmp_path, process)
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
