"""The runner of test programs: what is over its limit is named and ended, signals are set."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path

import pytest

LIMIT = Path(__file__).parents[2] / ".ci" / "limit"
LATE = "test late has been running for over 60 seconds"


def run(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script as a test program, as a shell starts one in the background."""

    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    return subprocess.run(
        [LIMIT, "sh", "-c", script],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=ignore,
    )


@pytest.mark.parametrize("script", [f"echo {LATE}", "printf 'test late ... '"])
def test_a_test_over_its_limit_is_named_and_all_its_processes_are_ended(
    tmp_path: Path, script: str
) -> None:
    """It left a process in a session of its own, which holds a lock."""
    lock = tmp_path / "lock"
    lasting = f"setsid flock {lock} sleep 1000 & while flock -n {lock} true; do :; done"
    limit = "60" if "echo" in script else "0"
    ended = run(f"{lasting}; echo test early ... ok; {script}; wait", TIDINGS_TEST_LIMIT=limit)
    assert ended.returncode == 124
    assert "test early ... ok" in ended.stdout
    assert f"test late ... FAILED: over {limit} s" in ended.stdout
    assert f"flock {lock} sleep 1000" in ended.stdout
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_late_test_that_ends_in_time_is_none() -> None:
    """What it wrote and its exit status are passed on."""
    ended = run(f"echo {LATE}; echo test late ... ok; echo test result: ok; exit 3")
    assert (ended.returncode, ended.stderr) == (3, "")
    assert ended.stdout == f"{LATE}\ntest late ... ok\ntest result: ok\n"


def test_a_program_has_a_limit_as_a_whole() -> None:
    """Whatever it writes."""
    ended = run("echo begun; exec sleep 1000", TIDINGS_SUITE_LIMIT="0")
    assert ended.returncode == 124
    assert "error: sh is over its limit of 0 s" in ended.stdout


def test_signals_are_set_as_in_a_terminal() -> None:
    """SIGINT was ignored where the program was started."""
    assert run("kill -INT $$; echo deaf").returncode == 128 + signal.SIGINT
