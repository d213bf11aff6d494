"""Ctrl-C: a program ends at once, and what it has submitted stays in a store that stays."""

from __future__ import annotations

import concurrent.futures
import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidings.tasks as tt

from . import programs

# Calls of which one says that it has begun, and none ends before the gate is opened.
PROGRAM = """
import fcntl, os, pathlib, signal, sys
import tidings.tasks as tt

# A shell ignores it for what it starts in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)

def passed(line):
    if line == "begin":
        return line
    pathlib.Path("begun").write_text(str(os.getpid()))
    with open("gate") as gate:
        fcntl.flock(gate, fcntl.LOCK_SH)
    with open("called", "a") as called:
        called.write(line + "\\n")
    return line

def wait(how):
    if how == "lines":
        with tt.Executor("file:store", workers=1) as executor:
            tt.map_file("rows", passed, resume="run", executor=executor)
    elif how == "block":
        with tt.Executor(workers=1) as executor:
            list(executor.map(passed, ["a"] * 100))
    else:
        executor = tt.Executor(workers=1)
        futures = [executor.submit(passed, "a") for _ in range(100)]
        futures[-1].result()

if __name__ == "__main__":
    wait(sys.argv[1])
    print("done", flush=True)
"""


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Any]:
    with (tmp_path / "gate").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield held


def started(folder: Path, how: str) -> tuple[subprocess.Popen[str], int]:
    """Start the program, and return when one of its calls runs, in which process."""
    begun = programs.pipe(folder / "begun")
    program = programs.start(PROGRAM, folder, how)
    return program, int(begun.read_text())


def interrupted(program: subprocess.Popen[str]) -> str:
    """Press Ctrl-C; return what the program has said until its end."""
    program.send_signal(signal.SIGINT)
    said, _ = program.communicate()
    assert program.returncode == -signal.SIGINT
    return said


@pytest.mark.parametrize("how", ["block", "script"])
def test_nothing_is_waited_for_that_nobody_can_have(tmp_path: Path, gate: Any, how: str) -> None:
    program, process = started(tmp_path, how)
    assert interrupted(program) == ""
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_file_goes_on_where_it_was(tmp_path: Path, gate: Any) -> None:
    lines = ["begin", *(f"line {number}" for number in range(20))]
    (tmp_path / "rows").write_text("".join(f"{line}\n" for line in lines))
    program, _ = started(tmp_path, "lines")
    interrupted(program)
    assert not (tmp_path / "rows.run.out").exists()
    (tmp_path / "begun").unlink()
    fcntl.flock(gate, fcntl.LOCK_UN)
    program = programs.start(PROGRAM, tmp_path, "lines")
    assert programs.heard(program) == "done"
    program.communicate()
    results = (tmp_path / "rows.run.out").read_text().splitlines()
    assert [json.loads(result) for result in results] == [{"value": line} for line in lines]
    assert sorted((tmp_path / "called").read_text().splitlines()) == sorted(lines[1:])


def passed(gate: Path) -> None:
    with gate.open() as shared:
        fcntl.flock(shared, fcntl.LOCK_SH)


def test_who_waits_in_another_thread_is_told(tmp_path: Path, gate: Any) -> None:
    executor = tt.Executor(workers=1)
    futures = [executor.submit(passed, tmp_path / "gate") for _ in range(3)]
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(futures[-1].result)
        with pytest.raises(KeyboardInterrupt), executor:
            raise KeyboardInterrupt
        assert isinstance(waiting.exception(), concurrent.futures.CancelledError)
    assert all(one.cancelled() for one in futures)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(abs, 1)
