"""Programs in C and Fortran that the tests build, and MPIs that start them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
INTERFACE = ROOT / "mpi/scaling"
SOURCES = Path(__file__).parent / "c"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
MPIS = ("openmpi", "mpich")


def done(command: list[str | Path], cwd: Path | None = None, status: int = 0) -> str:
    """Run a command to its end, with this exit status; return all that it printed."""
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    words = [str(word) for word in command]
    env = {**os.environ, **allowed}
    finished = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    said = finished.stdout + finished.stderr
    assert finished.returncode == status, f"{' '.join(words)}: {finished.returncode}: {said}"
    return said


def built(place: Path, compiler: str, standard: str, *sources: Path) -> Path:
    """Build a program of C sources."""
    program = place / f"{sources[0].stem}-{compiler}"
    flags = [f"-std={standard}", *WARNINGS, "-I", str(INTERFACE)]
    done([compiler, *flags, *sources, "-lm", "-o", program])
    return program


def launcher(mpi: str, ranks: int) -> list[str | Path]:
    """Return the command that starts ranks, more than there are processors, too."""
    words: list[str | Path] = [f"mpirun.{mpi}"]
    if mpi == "openmpi":
        words += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    return [*words, "-n", str(ranks)]
