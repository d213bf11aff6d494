"""Traces of stealing: what the reader finds is what the programs that write them find."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import astuple
from pathlib import Path

import pytest

from tidings import steals

GOLDEN = Path(__file__).parents[2] / "crates/steal-sim/tests/golden"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "tidings.steals", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_phases_are_those_that_the_writer_finds() -> None:
    trace = steals.read(GOLDEN / "six.trace")
    lines = (GOLDEN / "six.phases.jsonl").read_text().splitlines()
    assert [list(astuple(phase)) for phase in trace.phases] == [json.loads(line) for line in lines]
    assert trace.workers == 6
    assert trace.steals > 6


def test_a_trace_of_perfetto_has_a_slice_for_each_phase_and_an_arrow_for_each_steal() -> None:
    trace = steals.read(GOLDEN / "six.trace")
    events = steals.perfetto(trace)["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == len(trace.phases)
    assert all(event["dur"] >= 0 for event in slices)
    stolen = [phase for phase in trace.phases if phase.parent is not None]
    arrows = [event for event in events if event["ph"] in "sf"]
    assert len(arrows) == 2 * len(stolen) > 0
    for at in range(0, len(arrows), 2):
        begin, end = arrows[at], arrows[at + 1]
        assert (begin["ph"], end["ph"], begin["id"]) == ("s", "f", end["id"])
        assert begin["ts"] <= end["ts"]


def test_the_command_says_it_and_draws_it(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", exc_type=ImportError)
    out = (tmp_path / "out.svg", tmp_path / "out.json")
    said = run(GOLDEN / "six.trace", "--draw", out[0], "--perfetto", out[1], "--json")
    assert (said.returncode, said.stderr) == (0, "")
    numbers = json.loads(said.stdout)
    assert numbers["workers"] == 6
    assert numbers["bytes_of_a_steal"] < 16
    assert "</svg>" in out[0].read_text()
    assert json.loads(out[1].read_text())["traceEvents"]
    lines = run(GOLDEN / "six.trace").stdout.splitlines()
    assert lines[0].startswith(f"{numbers['steals']} steals among 6 workers")


def test_what_is_cut_damaged_or_no_trace_is_refused(tmp_path: Path) -> None:
    whole = (GOLDEN / "six.trace").read_bytes()
    file = tmp_path / "part.trace"
    for length in range(0, len(whole), 7):
        file.write_bytes(whole[:length])
        with pytest.raises(steals.TraceError, match=r"ends after|no trace"):
            steals.read(file)
    for at in range(0, len(whole), 11):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(steals.TraceError):
            steals.read(file)
    said = run(file)
    assert said.returncode == 2
    assert said.stderr.startswith(f"tidings.steals: {file}: ")
    assert run(tmp_path / "none").returncode == 2
