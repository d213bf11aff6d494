"""Programs that tests start, and speak with by lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def environment(**more: str) -> dict[str, str]:
    """Return the variables by which a program finds this package."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}


def tidings() -> Path:
    """Return the program of the commands."""
    root = Path(__file__).parents[3]
    return Path(os.environ.get("TIDINGS_BIN_DIR", root / "target" / "debug")) / "tidings"


def pipe(path: Path) -> Path:
    """Make a pipe with a name: who opens it waits for the other side."""
    os.mkfifo(path)
    return path


def start(text: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a program in a folder."""
    return subprocess.Popen(
        [sys.executable, "-c", text, *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def heard(program: subprocess.Popen[str]) -> str:
    """Return the next line that a program prints."""
    assert program.stdout is not None
    return program.stdout.readline().rstrip("\n")


def kill(program: subprocess.Popen[str]) -> None:
    """End a program without a word."""
    program.kill()
    program.communicate()
