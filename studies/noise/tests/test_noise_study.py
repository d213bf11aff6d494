"""The plan of the measurements, what is read of programs, and the tables that are made of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import machine
import mechanisms
import pytest
import settings
from drawing.csv_table import Table
from machine import MachineError

STUDY = Path(settings.__file__).parent

PROBE = {
    "measured_s": 4.0,
    "lost_share": 0.0123,
    "named_share": 0.97,
    "gaps": {"longest_ns": 48_000, "per_s": 300.0},
    "quanta": {"variation": 0.1},
    "speed": {"variation": 0.05},
    "kernel": {"preemptions": 80},
    "own": {"share": 0.0002},
    "sources": [
        {"kind": "timer", "lost_ns": 18_000_000},
        {"kind": "preemption", "lost_ns": 31_200_000},
    ],
}


def test_each_repetition_has_all_settings_and_changes_the_machine_thrice() -> None:
    """In another order each time, with an agent at each place and interval."""
    plan = list(settings.order(2))
    for repetition in (1, 2):
        own = [chosen for at, _, chosen in plan if at == repetition]
        counted = Counter(one for chosen in own for one in chosen)
        assert set(counted.values()) == {1}
        assert len(counted) == 6 + 9
        assert len(own) == 3
    places = {(one.agent.place, one.agent.interval_ms)
              for _, _, chosen in plan for one in chosen if one.agent}  # fmt: skip
    assert len(places) == 9
    assert len({one.name for one in settings.settings()}) == 15


def test_a_row_has_what_its_columns_say() -> None:
    """Preemptions and the tick's part are of the whole time."""
    result = {"probes": [PROBE], "attribution": {"by": "tracepoints"}}
    one = settings.Setting("application", "idle", machine.Agent("service core", 16))
    row = dict(zip(settings.COLUMNS, settings.row(3, one, result), strict=True))
    assert (row["agent"], row["interval_ms"], row["repetition"]) == ("service core", 16, 3)
    assert float(str(row["preemptions_per_s"])) == 20
    assert float(str(row["tick_share"])) == 0.0045
    assert float(str(row["longest_us"])) == 48


def test_knobs_that_are_not_as_they_were_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed one, and a group that was left; what is given back is no complaint."""
    knob = tmp_path / "knob"
    knob.write_text("0-1\n", encoding="ascii")
    monkeypatch.setattr(machine, "KNOBS", (str(knob),))
    monkeypatch.setattr(machine, "GROUPS", (f"{tmp_path}/tidings.*",))
    knobs = machine.Knobs()
    knob.write_text("1\n", encoding="ascii")
    with pytest.raises(MachineError, match="knob was 0-1 and is 1"):
        knobs.check()
    knobs.give_back()
    knobs.check()
    (tmp_path / "tidings.application").mkdir()
    with pytest.raises(MachineError, match="was None and is a group"):
        knobs.check()


def test_the_table_of_the_bench_is_read_and_nothing_else() -> None:
    """A path without one to compare it with has an empty ratio."""
    printed = """calls are shipped to a core of their own
| path | median, ns | 99 %, ns | ratio to the plain path |
|---|---|---|---|
| send, plain | 2100 | 3000 |  |
| send, curried: caller | 20 | 30 | 0.010 |
"""
    rows = [["send, plain", "2100", "3000", ""], ["send, curried: caller", "20", "30", "0.010"]]
    assert mechanisms.paths(printed) == rows
    with pytest.raises(MachineError, match="prints no table"):
        mechanisms.paths("calls run in place: one core\n")


def test_the_programs_in_c_say_what_they_find_and_refuse(tmp_path: Path) -> None:
    """A share between nothing and all; a load that begins; wrong arguments end with 2."""
    for name in ("spin", "load"):
        source, program = STUDY / f"{name}.c", tmp_path / name
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source],
                       check=True)  # fmt: skip
        assert subprocess.run([program], check=False, capture_output=True).returncode == 2
    core = str(min(machine_cores()))
    share, gaps, longest = machine.said([str(tmp_path / "spin"), core, "0.2"]).split()
    assert 0 <= float(share) < 1
    assert int(gaps) >= 0
    assert float(longest) >= 0
    with machine.running([str(tmp_path / "load"), str(tmp_path)], ready="ready"):
        pass
    with pytest.raises(MachineError, match="exit 1"):
        machine.said([str(tmp_path / "spin"), "1023", "1"])


def machine_cores() -> set[int]:
    """Return the cores of this process."""
    import os

    return os.sched_getaffinity(0)


def test_tables_are_drawn_of_what_was_measured(tmp_path: Path) -> None:
    """One part alone, and what an agent adds within a repetition."""
    for name in ("README.md", "draw.py"):
        shutil.copy(STUDY / name, tmp_path)
    beside = settings.Setting("application", "idle", machine.Agent("service core", 16))
    rows = []
    for repetition in (1, 2):
        for one, lost, preempted in ((settings.Setting("application", "idle"), 0.010, 100),
                                     (beside, 0.011, 104)):  # fmt: skip
            probe = {**PROBE, "lost_share": lost * repetition, "kernel": {"preemptions": preempted}}
            result = {"probes": [probe], "attribution": {"by": "tracepoints"}}
            rows.append(settings.row(repetition, one, result))
    lines = [",".join(settings.COLUMNS), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "settings.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw = [sys.executable, str(STUDY / "draw.py"), "--folder", str(tmp_path)]
    subprocess.run(draw, check=True, env={"PYTHONPATH": ":".join(sys.path)})
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| application | 16 ms, service core | 0.15 [0.10, 0.20] | 1.04 [1.04, 1.04] |" in page
    assert Table.read(tmp_path / "settings.csv", settings.COLUMNS).rows
