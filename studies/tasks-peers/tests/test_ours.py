"""The driver of Tidings alone, at a small size, through each of the works, and the comparison."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import calls
import graphs
import pytest
import systems
from processes import START_S, Group, until
from works import WORKS, Figure, Sizes

ROOT = Path(__file__).resolve().parents[3]
STUDY = ROOT / "studies/tasks-peers"


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Name the programs that are used, and compile the one of the tasks."""
    monkeypatch.setenv("TIDINGS_BIN_DIR", os.environ.get("TIDINGS_BIN_DIR", f"{ROOT}/target/debug"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    task = tmp_path / "task"
    subprocess.run(["cc", "-o", task, STUDY / "task.c"], check=True)
    monkeypatch.setenv("TASKS_PEERS_TASK", str(task))


def figures(name: str, work: str, folder: Path, sizes: Sizes) -> dict[str, Figure]:
    """Return the figures of one cell."""
    measure, slots = WORKS[work]
    system = systems.make(name, folder, slots)
    try:
        system.start()
        found = list(measure(system, Group(None), sizes))
        system.stop()
    finally:
        system.crew.end()
    return {f"{one.work} {one.figure}": one for one in found}


SMALL = Sizes(seconds=0.01, least=10, tasks=24, task_s=0.02)


@pytest.mark.parametrize("name", ["ProcessPoolExecutor", "Tidings, file", "Tidings, commands"])
def test_steady_work_has_rates_costs_and_times(name: str, tmp_path: Path) -> None:
    """Every figure is there, and is a number above nothing."""
    found = figures(name, "steady", tmp_path, SMALL)
    assert set(found) == {
        *("no-op rate", "no-op cpu", "single p50", "single p99", "single calls"),
        *("1 ms efficiency_wall", "1 ms efficiency_cpu"),
    }
    # The time of processors comes in ticks of 10 ms here: short work may take none.
    measured = [one for one in found.values() if one.figure not in ("cpu", "efficiency_cpu")]
    assert all(one.value > 0 and not one.at_least for one in measured)


@pytest.mark.parametrize("name", ["Tidings, memory", "Tidings, file", "Tidings, workers"])
def test_a_graph_has_a_rate_and_costs(name: str, tmp_path: Path) -> None:
    """What comes out was checked; a holder that decides alone is told of apart."""
    found = figures(name, "graph", tmp_path, SMALL)
    own = {"graph coordinator_cpu"} if name == "Tidings, workers" else set()
    assert set(found) == {"graph rate", "graph cpu", *own}
    assert found["graph rate"].value > 0


def test_each_call_of_a_graph_counts_for_what_comes_out() -> None:
    """A call that returns something else changes the last layer."""
    assert graphs.layered(1, calls.both)[:2] == [1, 3]
    numbers = itertools.count()
    wrong = graphs.layered(8, lambda left, right: calls.both(left, right) + (next(numbers) == 70))
    assert wrong != graphs.expected(8)


@pytest.mark.parametrize("name", ["Tidings, file", "Tidings, workers"])
def test_nothing_is_lost_with_a_worker(name: str, tmp_path: Path) -> None:
    """All results come; again runs what was in hand, and what had ended without a word as yet."""
    found = figures(name, "worker-killed", tmp_path, SMALL)
    assert found["worker killed missing"].value == 0
    assert found["worker killed again"].value <= 2
    assert not found["worker killed makespan"].at_least


def test_nothing_is_lost_with_the_coordinator(tmp_path: Path) -> None:
    """Another process takes the store, and all results come."""
    found = figures("Tidings, workers", "coordinator-killed", tmp_path, SMALL)
    assert found["coordinator killed missing"].value == 0
    assert not found["coordinator killed pause"].at_least


def test_the_task_of_a_frozen_worker_begins_elsewhere(tmp_path: Path) -> None:
    """The task is so long that it does not end before its worker is stopped."""
    found = figures("Tidings, workers", "frozen", tmp_path, Sizes(task_s=1.0))
    assert not found["worker frozen elsewhere"].at_least


def test_the_campaign_writes_a_table_and_its_manifest(tmp_path: Path) -> None:
    """A system that fails has no rows, and is named."""
    words = ["--work", "steady", "--system", "ProcessPoolExecutor", "--quick"]
    words += ["--repetitions", "1", "--output", str(tmp_path / "made/tasks.csv")]
    done = subprocess.run(
        [sys.executable, STUDY / "comparison.py", *words],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": "/usr/bin:/bin", "HQ": str(tmp_path / "none")},
    )
    assert "HyperQueue gets no rows" in done.stderr
    with (tmp_path / "made/tasks.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["figure"] for row in rows} >= {"rate", "p50", "efficiency_cpu"}
    assert {row["system"] for row in rows} == {"ProcessPoolExecutor"}
    manifest = json.loads((tmp_path / "made/tasks.manifest.json").read_text(encoding="utf-8"))
    assert manifest["runs"][0]["seed"] == 1


def test_an_interrupted_campaign_leaves_nothing(tmp_path: Path) -> None:
    """No table, and no process of a cell: each has the folder in its command."""
    words = ["--work", "worker-killed", "--system", "Tidings", "--quick"]
    running = subprocess.Popen(
        [sys.executable, STUDY / "comparison.py", *words, "--output", tmp_path / "made/tasks.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert running.stdout is not None
    assert "worker-killed" in running.stdout.readline()
    until(lambda: any("tp-" in one for one in mentioned(tmp_path)), START_S, "the next cell begins")
    running.send_signal(signal.SIGINT)
    running.communicate()
    assert running.returncode == 130
    assert mentioned(tmp_path) == []
    assert list((tmp_path / "made").iterdir()) == []
    assert list(tmp_path.glob("tp-*")) == []


def mentioned(folder: Path) -> list[str]:
    """Return the commands of all processes that name something in a folder."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if str(folder) in command:
                found.append(command)
    return found
