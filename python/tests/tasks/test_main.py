"""The package run as a program, which it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.tasks import programs


def run(path: str) -> subprocess.CompletedProcess[str]:
    """Run the package as a program, with these folders of programs."""
    return subprocess.run(
        [sys.executable, "-m", "tidings.tasks", "worker"],
        env=programs.environment(PATH=path),
        capture_output=True,
        text=True,
    )


def test_it_says_where_the_commands_are(tmp_path: Path) -> None:
    """Python said that the package cannot be executed, and a user looked for the commands."""
    ended = run(os.fspath(tmp_path))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "not on PATH: `make install`" in ended.stderr
    program = tmp_path / "tidings"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    ended = run(os.fspath(tmp_path))
    assert ended.returncode == 2
    assert f"the program `tidings`, which is {program}." in ended.stderr
