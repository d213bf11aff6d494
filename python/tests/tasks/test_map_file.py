"""Files line by line, also through the death of the process that goes through them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tidings.tasks as tt

LINES = 10_000

PROGRAM = """
import os, sys
import tidings.tasks as tt

def traced(line):
    with open("calls", "a") as log:
        log.write(line + "\\n")
    if line == "5000" and os.path.exists("middle"):
        with open("middle", "w") as middle:
            middle.write("reached")
    return int(line) + 1

if __name__ == "__main__":
    with tt.Executor("file:store", workers=2) as executor:
        mapped = tt.map_file("lines", traced, resume="run", executor=executor)
    print(mapped.lines, mapped.failed, mapped.path)
"""


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    """What had ended is not done again; each line has its result, in order."""
    (tmp_path / "lines").write_text("".join(f"{n}\n" for n in range(LINES)))
    (tmp_path / "program.py").write_text(PROGRAM)
    os.mkfifo(tmp_path / "middle")
    command = [sys.executable, "program.py"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    first = subprocess.Popen(command, cwd=tmp_path, env=environment)
    assert (tmp_path / "middle").read_text() == "reached"
    (tmp_path / "middle").unlink()
    first.kill()
    first.wait()
    assert not (tmp_path / "lines.run.out").exists()
    second = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert second.stdout == f"{LINES} 0 lines.run.out\n"
    results = (tmp_path / "lines.run.out").read_text().splitlines()
    assert [json.loads(line) for line in results] == [{"value": n + 1} for n in range(LINES)]
    calls = Counter((tmp_path / "calls").read_text().split())
    assert len(calls) == LINES
    again = calls.total() - LINES
    # What two processes have done in the milliseconds until it was committed, of the 64 calls each
    # that they may have ahead.
    assert again < 500, "only what was on its way is done again"


@pytest.fixture
def executor(tmp_path: Path) -> tt.Executor:
    return tt.Executor(f"file:{tmp_path / 'store'}", workers=1)


def inverse(line: str) -> float:
    return 1 / int(line)


def test_failures_and_equal_lines_have_their_lines(tmp_path: Path, executor: tt.Executor) -> None:
    (tmp_path / "rows").write_text("2\n0\n2\nx\n4")
    with executor:
        mapped = tt.map_file(
            tmp_path / "rows", inverse, resume="a", executor=executor, output=tmp_path / "out"
        )
    assert mapped == tt.Mapped(tmp_path / "out", 5, 2)
    assert [json.loads(line) for line in mapped.path.read_text().splitlines()] == [
        {"value": 0.5},
        {"error": "ZeroDivisionError: division by zero"},
        {"value": 0.5},
        {"error": "ValueError: invalid literal for int() with base 10: 'x'"},
        {"value": 0.25},
    ]


def test_a_run_takes_the_usual_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDINGS_STORE", f"file:{tmp_path / 'usual'}")
    (tmp_path / "rows").write_text("8\n")
    assert tt.map_file(tmp_path / "rows", inverse, resume="a").failed == 0
    assert (tmp_path / "rows.a.out").read_text() == '{"value": 0.125}\n'
    assert (tmp_path / "usual").exists()


def test_a_run_needs_a_store_that_stays(tmp_path: Path) -> None:
    with tt.Executor(workers=1) as executor, pytest.raises(ValueError, match="only in a store"):
        tt.map_file(tmp_path / "rows", inverse, resume="a", executor=executor)


def test_a_file_that_is_not_there_is_named_with_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    raised = pytest.raises(FileNotFoundError, match=f"no file 'lines' in {tmp_path}: nothing is")
    with tt.Executor("file:store", workers=0) as place, raised:
        tt.map_file("lines", len, resume="run", executor=place)
    assert not list(tmp_path.glob("lines*"))
