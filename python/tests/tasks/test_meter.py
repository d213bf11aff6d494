"""How many calls have ended, as it is shown on a terminal and elsewhere."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tidings.tasks as tt
from tests.tasks import programs
from tidings.tasks import meter

# Calls of which the last waits until the test opens its gate, so that there is something to show.
PROGRAM = """
import fcntl
import sys
import tidings.tasks as tt

def passed(number):
    if number == 2:
        with open("gate") as gate:
            fcntl.flock(gate, fcntl.LOCK_SH)
    return 1 // number

def waited(how, executor):
    if how == "map":
        yield from executor.map(passed, [1, 3, 2])
    elif how == "ahead":
        yield from executor.map(passed, [1, 3, 2], buffersize=3)
    elif how == "gather":
        yield from tt.gather([executor.submit(passed, number) for number in (1, 3, 2)])
    elif how == "quiet":
        yield from executor.map(passed, [1, 3, 2], progress=False)
    else:
        yield from tt.as_completed([executor.submit(passed, number) for number in (0, 1, 2)])

if __name__ == "__main__":
    with tt.Executor(workers=2) as executor:
        print(len(list(waited(sys.argv[1], executor))), flush=True)
"""


@pytest.fixture
def screen(tmp_path: Path) -> Any:
    """Return what starts the program with a terminal, and reads that."""
    with contextlib.ExitStack() as opened:

        def start(how: str) -> tuple[subprocess.Popen[str], int]:
            ours, theirs = pty.openpty()
            opened.callback(os.close, ours)
            program = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, how],
                cwd=tmp_path,
                env=programs.environment(),
                stdout=subprocess.PIPE,
                stderr=theirs,
                text=True,
            )
            os.close(theirs)
            opened.callback(programs.kill, program)
            return program, ours

        yield start


def read_until(screen: int, wanted: str) -> str:
    """Return what a terminal shows until a pattern is there, or its program has ended."""
    shown = ""
    while not re.search(wanted, shown):
        try:
            shown += os.read(screen, 4096).decode()
        except OSError:
            break
    return shown


@pytest.mark.parametrize(
    ("how", "part", "last"),
    [
        ("map", "2 of 3, .*/s, .* left", "3 of 3, .*/s, took"),
        ("ahead", "2 of 3, .*/s, .* left", "3 of 3, .*/s, took"),
        ("gather", "2 of 3, .*/s, .* left", "3 of 3, .*/s, took"),
        ("as_completed", "2 of 3, 1 failed, .*/s, .* left", "3 of 3, 1 failed, .*/s, took"),
    ],
)
def test_a_terminal_shows_how_many_have_ended(
    screen: Any, tmp_path: Path, how: str, part: str, last: str
) -> None:
    with locked(tmp_path / "gate"):
        program, terminal = screen(how)
        assert re.search(part, read_until(terminal, part))
    assert re.search(last, read_until(terminal, last))
    assert programs.heard(program) == "3"


def test_nothing_is_shown_if_that_is_said(screen: Any, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    program, terminal = screen("quiet")
    assert programs.heard(program) == "3"
    assert read_until(terminal, "of 3") == ""


@contextlib.contextmanager
def locked(path: Path) -> Any:
    """Hold the lock that a call waits for."""
    with path.open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield


def test_a_line_has_rate_failures_and_the_time_left() -> None:
    assert meter.text(0, 3, 0, 0.0, 0.0) == "0 of 3"
    assert meter.text(250, 1_000, 2, 125.0, 2.0) == "250 of 1,000, 2 failed, 125/s, 6 s left"
    assert meter.text(5, None, 0, 0.5, 10.0) == "5 done, 0.5/s"
    assert meter.text(1, 1_000, 0, 0.1, 10.0) == "1 of 1,000, 0.1/s, 2 h 46 min left"
    assert meter.text(700, 700, 0, 7.0, 100.0) == "700 of 700, 7/s, took 1 min 40 s"


def inverse(line: str) -> float:
    return 1 / int(line)


def test_where_there_is_no_terminal_it_is_shown_if_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows").write_text("2\n0\n4\n")
    with tt.Executor(f"file:{tmp_path / 'store'}", workers=1) as executor:
        rows = tmp_path / "rows"
        tt.map_file(rows, inverse, resume="a", executor=executor)
        assert list(executor.map(abs, range(5))) == list(range(5))
        assert capsys.readouterr().err == ""
        tt.map_file(rows, inverse, resume="b", executor=executor, progress=True)
        assert re.search("3 of 3, 1 failed, .*/s, took .* s\n$", capsys.readouterr().err)
        results = executor.map(abs, range(5), chunksize=2, progress=True)
        assert list(results) == list(range(5))
        assert re.search("5 of 5, .*/s, took .* s\n$", capsys.readouterr().err)


def test_what_is_waited_for_within_what_is_shown_is_not_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with tt.Executor(workers=1) as executor:
        futures = [executor.submit(abs, number) for number in range(7)]
        for future in tt.as_completed(futures, progress=True):
            tt.gather([future, future], progress=True)
    shown = capsys.readouterr().err
    assert "of 7" in shown
    assert "of 2" not in shown
