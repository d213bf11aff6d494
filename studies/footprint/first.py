"""The time from a clone to the first results, and the size of the wheel that is installed.

    studies/footprint/run first

What a newcomer does after the build: clones, makes an environment, installs the wheel, and runs the
first program of the guide to Python, then the first command. The clone is of this repository's
folder, so no network is in the times.

Exit status: 0 done, 1 a step failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from drawing.manifest import Table, exit_code

COLUMNS = ("number", "wheel_bytes", "installed_bytes", "installed_s", "python_s", "command_s")

ROOT = Path(__file__).resolve().parents[2]

# What the first program of docs/guides/python.md prints.
PRINTED = "1024\n[1000, 999, 998]\n"


class StepError(Exception):
    """A step has printed something else than the guide says."""


def ran(*words: str | Path, folder: Path, store: Path | None = None) -> str:
    """Run a step, and return what it prints."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if store is not None:
        own["TIDINGS_STORE"] = f"file:{store}"
    done = subprocess.run(words, cwd=folder, env=own, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def once(wheel: Path, tidings: Path) -> tuple[int, float, float, float]:
    """Go from a clone to the first results; the bytes of the package, and when what was there."""
    with tempfile.TemporaryDirectory(prefix="footprint-first-") as name:
        folder, begun = Path(name), time.monotonic()
        clone = folder / "clone"
        ran("git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), clone, folder=folder)
        ran(sys.executable, "-m", "venv", clone / "env", folder=clone)
        python = clone / "env/bin/python"
        quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index")
        ran(python, "-m", "pip", "install", *quiet, wheel, folder=clone)
        installed_s = time.monotonic() - begun
        guide = (clone / "docs/guides/python.md").read_text(encoding="utf-8")
        program = guide.partition("## An executor\n\n```python\n")[2].partition("```")[0]
        (clone / "first.py").write_text(program, encoding="utf-8")
        printed = ran(python, "first.py", folder=clone, store=folder / "store")
        if printed != PRINTED:
            raise StepError(f"the first program of the guide prints {printed!r}")
        python_s = time.monotonic() - begun
        words = ("run", "-n", "2", "--", "echo", "{}", ":::", "a", "b")
        printed = ran(tidings, *words, folder=clone, store=folder / "store")
        if sorted(printed.split()) != ["a", "b"]:
            raise StepError(f"the first command prints {printed!r}")
        command_s = time.monotonic() - begun
        files = (clone / "env").glob("lib/python3*/site-packages/tidings*/**/*")
        held = sum(
            file.stat().st_size for file in files if file.suffix != ".pyc" and file.is_file()
        )
    return held, installed_s, python_s, command_s


def measure(wheel: Path, tidings: Path, repeats: int, output: Path) -> None:
    """Measure, and write the table."""
    rows = []
    for number in range(1, repeats + 1):
        held, *times = once(wheel, tidings)
        rows.append((number, wheel.stat().st_size, held, *(f"{one:.2f}" for one in times)))
        print(f"first result after {times[1]:.1f} s ({number} of {repeats})", flush=True)
    Table(output / "first.csv").write_rows(COLUMNS, rows)


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--tidings", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    if given.repeats < 1:
        parser.error("--repeats: at least 1")
    wheel, tidings = given.wheel.resolve(), given.tidings.resolve()
    return exit_code(
        "first", lambda: measure(wheel, tidings, given.repeats, given.output), StepError
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
