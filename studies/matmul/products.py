"""Products of two matrices by tuples and by MPI, in turn, on ranks of equal and of unequal speed.

    studies/matmul/run

Within a repetition each case has three runs, in another order each time: `alone`, in which all
ranks multiply at the same time and nothing is sent, `mpi` (summa.c) and `tuples` (tuples.py). The
first round of a run is not counted. The product of a run's last round is checked. Written are
`matmul.csv`, a row for each figure, and its manifest.

With `--spans FILE` a table says what each rank did when, in the last round of each case: for a look
at where time goes, not to be published.

Exit status: 0 done, 1 something failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matrices
import numpy as np
from drawing.manifest import Table, first_line
from shares import entering, groups

HERE = Path(__file__).resolve().parent
SPANS = ("case", "rank", "span", "began_s", "ended_s")

COLUMNS = ("repetition", "case", "system", "round", "rank", "figure", "value")

Shares = Sequence[float | None]

CASES: dict[str, Shares] = {
    "2 processors": (None, None),
    "4 equal ranks": (0.4, 0.4, 0.4, 0.4),
    "a quarter at half speed": (0.4, 0.4, 0.4, 0.2),
}
"""Of each case the ranks' shares of a processor; with None a rank is not held back."""

HOLDER_SHARE = 0.02
"""Of a processor, for the holder of the store. It is not held back, but the first rank is by it."""

WRONG = 1e-9
"""The error from which a product is wrong: rounding makes 1e-14 of it, a wrong block 1e-2."""

WAIT_S = 600

Said = list[dict[str, Any]]
"""Objects that programs have printed, one a line."""


class FailedError(Exception):
    """A program failed, or its product is wrong."""


class Sizes(NamedTuple):
    """What is multiplied, and how often in a run."""

    size: int = 4096
    block: int = 256
    rounds: int = 4


class Place(NamedTuple):
    """Where programs run: their folder, and that for large arrays in memory."""

    folder: Path
    shared: Path

    def environment(self) -> dict[str, str]:
        """Return their variables: BLAS has one thread, and Open MPI runs as root too."""
        own = {"OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(self.folder)}
        own |= {"TIDINGS_SHARED": str(self.shared), "OMPI_ALLOW_RUN_AS_ROOT": "1"}
        path = os.environ.get("MATMUL_PATH", os.pathsep.join(sys.path))
        return {
            **os.environ,
            **own,
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PYTHONPATH": path,
        }


@contextlib.contextmanager
def made_place() -> Iterator[Place]:
    """Make a place, and remove it with what is left in it."""
    with (
        tempfile.TemporaryDirectory(prefix="matmul-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryDirectory(prefix="matmul-", dir="/dev/shm") as shared,
        with_large_pages(shared),
    ):
        yield Place(Path(folder), Path(shared))


@contextlib.contextmanager
def with_large_pages(folder: str) -> Iterator[None]:
    """Have a file system there that gives large pages to those who ask for them, if root may."""
    mount = ["mount", "-t", "tmpfs", "-o", "huge=advise,mode=0700", "matmul", folder]
    is_there = subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode == 0
    try:
        yield
    finally:
        if is_there:
            subprocess.run(["umount", "--lazy", folder], check=True)


def blas() -> Path:
    """Return the OpenBLAS that NumPy's wheel has."""
    folder = Path(np.__file__).resolve().parents[1] / "numpy.libs"
    found = sorted(folder.glob("libscipy_openblas64_*.so"))
    if not found:
        raise FailedError(f"{folder} has no OpenBLAS: NumPy must come from its wheel")
    return found[0]


def compiled(folder: Path) -> Path:
    """Compile summa.c with Open MPI and that BLAS."""
    program, library = folder / "summa", blas()
    words = ["mpicc.openmpi", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
    words += [HERE / "summa.c", library, f"-Wl,-rpath,{library.parent}", "-o", program]
    subprocess.run([str(word) for word in words], check=True)
    return program


def objects(text: str) -> Said:
    """Return the objects that a program has printed."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def by_mpi(words: Sequence[str | Path], shares: Shares, place: Place) -> Said:
    """Run a program of MPI, each rank in its group; return what it has printed."""
    command = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"]
    with groups(shares) as files:
        for rank, file in enumerate(files):
            command += ["-n", "1", *entering(file, rank, len(files), *words), ":"]
        ended = subprocess.run(
            command[:-1],
            check=False,
            cwd=place.folder,
            env=place.environment(),
            stdout=subprocess.PIPE,
            text=True,
            timeout=WAIT_S,
        )
    if ended.returncode != 0:
        raise FailedError(f"mpirun ended with {ended.returncode}")
    return objects(ended.stdout)


class Processes:
    """Processes of a multiplication by tuples; in `with`, which ends those that are left."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Processes:
        """Start none yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End what has not ended."""
        for one in self._started:
            one.kill()
            one.wait()
            for pipe in (one.stdin, one.stdout):
                assert pipe is not None
                pipe.close()

    def start(self, words: Sequence[str]) -> subprocess.Popen[str]:
        """Start one."""
        pipe, place = subprocess.PIPE, self._place
        self._started.append(
            subprocess.Popen(
                words,
                cwd=place.folder,
                env=place.environment(),
                stdin=pipe,
                stdout=pipe,
                text=True,
            )
        )
        return self._started[-1]


def ended(name: str, process: subprocess.Popen[str]) -> Said:
    """Wait for the end of a process; return what it has printed."""
    output, _ = process.communicate(timeout=WAIT_S)
    if process.returncode != 0:
        raise FailedError(f"{name} ended with {process.returncode}")
    return objects(output)


def by_tuples(sizes: Sizes, shares: Shares, place: Place, product: Path | None) -> Said:
    """Run a multiplication by tuples; return what its processes have printed.

    What the holder of the store takes of a processor is the first rank's: that has less.
    """
    python, store = sys.executable, f"file:{place.folder / 'store'}"
    words = [python, HERE / "tuples.py", "--store", store, "--ranks", str(len(shares))]
    for name, value in sizes._asdict().items():
        words += [f"--{name}", str(value)]
    words += [] if product is None else ["--product", product]
    first = None if shares[0] is None else shares[0] - HOLDER_SHARE
    with groups([first, *shares[1:]]) as files, Processes(place) as processes:
        holding = [python, HERE / "holder.py", "--store", store]
        holder = processes.start(entering(Path("/dev/null"), 0, len(files), *holding))
        assert holder.stdout is not None
        if not holder.stdout.readline():
            raise FailedError("the store cannot be opened")
        ranks = [
            processes.start(entering(file, rank, len(files), *words, "--rank", str(rank)))
            for rank, file in enumerate(files)
        ]
        said = [one for rank in ranks for one in ended("tuples.py", rank)]
        return [*said, *ended("holder.py", holder)]


def checked(said: Said, product: Path, size: int) -> Said:
    """Return what was said, with the error of the product; a FailedError if it is wrong."""
    error = matrices.error(np.fromfile(product).reshape(size, size))
    if not error < WRONG:
        raise FailedError(f"the product is wrong: its error is {error:.1e}")
    return [*said, {"error": error}]


def measured(system: str, shares: Shares, sizes: Sizes, summa: Path) -> Said:
    """Run a system once, and check its product."""
    with made_place() as own:
        product = own.shared / "product"
        numbers = [str(number) for number in sizes]
        if system == "alone":
            return by_mpi([summa, "alone", *numbers], shares, own)
        if system == "mpi":
            said = by_mpi([summa, "multiply", *numbers, product], shares, own)
        else:
            said = by_tuples(sizes, shares, own, product)
        return checked(said, product, sizes.size)


def rows(said: Said) -> Iterator[tuple[str, str, str, str]]:
    """Yield round and rank, where they apply, and each figure with its value."""
    for one in said:
        if "span" in one:
            continue
        where = str(one.get("round", "")), str(one.get("rank", ""))
        for name, value in one.items():
            if name not in ("round", "rank"):
                yield *where, name, f"{value:.6g}"


def spans(case: str, said: Said) -> Iterator[list[object]]:
    """Yield what each rank did in the last round of a run, in seconds since that began."""
    own = [one for one in said if "span" in one]
    (whole,) = [one for one in own if one["span"] == "product"]
    for one in own:
        times = (f"{one[name] - whole['began']:.4f}" for name in ("began", "ended"))
        yield [case, one["rank"], one["span"], *times]


def compare(
    sizes: Sizes, repetitions: int, cases: Sequence[str], summa: Path, tell: Callable[[str], None]
) -> Iterator[tuple[int, str, str, Said]]:
    """Yield what was said in each run of all repetitions."""
    order = random.Random(1)
    for repetition in range(1, repetitions + 1):
        for case in cases:
            shares = CASES[case]
            systems = ["alone", "mpi", "tuples"]
            order.shuffle(systems)
            for system in systems:
                said = measured(system, shares, sizes, summa)
                seconds = [one["seconds"] for one in said if "seconds" in one]
                tell(f"{repetition} {case}, {system}: {seconds[-1]:.3f} s")
                yield repetition, case, system, said


def main() -> int:
    """Measure all, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, default in Sizes()._asdict().items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--spans", type=Path)
    parser.add_argument("--case", default="", help="words of the cases that are measured")
    options = parser.parse_args()
    cases = [case for case in CASES if options.case in case]
    if not cases:
        parser.error(f"no case has the words {options.case!r}")
    if options.repetitions < 1 or options.rounds < 2:
        parser.error("at least 1 repetition of 2 rounds, of which the first is not counted")
    sizes = Sizes(options.size, options.block, options.rounds)
    table = Table(options.output / "matmul.csv", seed=1)
    facts: dict[str, object] = {
        "load_before": round(os.getloadavg()[0], 2),
        **sizes._asdict(),
    }
    with tempfile.TemporaryDirectory(prefix="matmul-") as folder:
        summa = compiled(Path(folder))
        made = list(
            compare(sizes, options.repetitions, cases, summa, lambda text: print(text, flush=True))
        )
    facts["load_after"] = round(os.getloadavg()[0], 2)
    added = {
        "openmpi": first_line(["mpirun.openmpi", "--version"]),
        "openblas": blas().name,
    }
    figures = [[*run, *row] for *run, said in made for row in rows(said)]
    table.write_rows(COLUMNS, figures, facts=facts, added=added)
    if options.spans is not None:
        last = {case: said for _, case, system, said in made if system == "tuples"}
        done = [row for case, said in last.items() for row in spans(case, said)]
        with options.spans.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([SPANS, *done])
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FailedError as error:
        print(f"products.py: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
