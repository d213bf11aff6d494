"""The MPI study in small: its programs under real MPIs and on a simulated machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.scaling.programs import INTERFACE, MPIS, ROOT, done, launcher
from tidings.scaling.readers import read

pytestmark = pytest.mark.foreign


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("programs")
    for mpicc in (*(f"mpicc.{mpi}" for mpi in MPIS), "smpicc"):
        done([INTERFACE / "build", mpicc, place])
    return place


FUNCTIONS = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "alltoall", "bcast_all",
    "bcast_tree",
)  # fmt: skip
NODES = 1024


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("platforms") / "torus-1024.xml"
    done([ROOT / "mpi/platforms/make.py", "torus", "--nodes", str(NODES), "--output", file])
    return file


class Torus:
    """The study's series, of which a test runs a few cells of the torus with a rank a node."""

    def __init__(self, programs: Path, platform: Path, place: Path) -> None:
        """Find the programs of the tests."""
        text = (ROOT / "studies/growth-mpi/mpi.toml").read_text()
        text = text.replace("../../target/mpi", str(programs))
        self.text = text.replace("../../target/platforms", str(platform.parent))
        self.place = place

    def change(self, pattern: str, by: str) -> None:
        """Change the series."""
        self.text, count = re.subn(pattern, by, self.text, flags=re.MULTILINE)
        assert count > 0, pattern

    def rows(self, name: str, *sizes: int) -> Path:
        """Run these sizes; return the file of all rows."""
        series, file = self.place / f"{name}.toml", self.place / f"{name}.jsonl"
        series.write_text(self.text)
        tidings = Path(os.environ.get("TIDINGS_BIN_DIR", ROOT / "target" / "debug")) / "tidings"
        command: list[str | Path] = [
            tidings,
            "lab",
            "series",
            series,
            "--output",
            self.place / name,
        ]
        only = ["--only", "machine=Juqueen-mpich-1", "--only"]
        text = ""
        for size in sizes:
            done([*command, *only, f"nodes={size}"])
            text += (self.place / name / "rows.jsonl").read_text()
        file.write_text(text)
        return file


def started(flavour: str, ranks: int, programs: Path) -> list[str | Path]:
    """Return the command that starts ranks; those that wait leave the processor to others."""
    words = launcher(flavour, ranks)
    if flavour == "mpich":
        words += ["-genv", "LD_PRELOAD", str(programs / "libtidings-yield.so")]
    return words


def times(file: Path) -> dict[str, list[float]]:
    """Return the values of each operation, in the order of measuring."""
    found: dict[str, list[float]] = {}
    for line in file.read_text().splitlines():
        row = json.loads(line)
        found.setdefault(row["function"], []).append(row["value"])
    return found


@pytest.mark.parametrize("mpi", MPIS)
def test_all_operations_are_measured(programs: Path, tmp_path: Path, mpi: str) -> None:
    file = tmp_path / "collectives.jsonl"
    words = ["--repetitions", "3", "--warmups", "1", "--sleep", "--late", "1", "--file", str(file)]
    said = done([*started(mpi, 3, programs), programs / f"tidings-mpi-collectives.{mpi}", *words])
    assert list(times(file)) == list(FUNCTIONS)
    assert all(len(values) == 3 and min(values) > 0 for values in times(file).values())
    reports = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert [report["function"] for report in reports] == list(FUNCTIONS)
    assert all(report["measured"] == 3 and report["start_error_s"] >= 0 for report in reports)


@pytest.fixture
def torus(programs: Path, platform: Path, tmp_path: Path) -> Torus:
    return Torus(programs, platform, tmp_path)


def test_virtual_time_is_exact_and_the_named_algorithms_are_those_of_mpich(torus: Torus) -> None:
    torus.change('"--repetitions", "1"', '"--repetitions", "2"')
    named = times(torus.rows("named", 16))
    assert set(named) == set(FUNCTIONS)
    for values in named.values():
        assert values[0] == pytest.approx(values[1], rel=1e-2)
    torus.change(r'^ +"--cfg=smpi/(barrier|reduce|all.*|gather):.*\n', "")
    torus.change("--cfg=smpi/bcast:binomial_tree", "--cfg=smpi/coll-selector:mpich")
    chosen = times(torus.rows("chosen", 16))
    for function, values in named.items():
        assert values == pytest.approx(chosen[function], rel=1e-2), function


def test_more_ranks_take_longer_and_the_litmus_test_as_its_tree_is_deep(torus: Torus) -> None:
    sizes = (3, 7, 15, 31)
    torus.change(r"^nodes = \[16, 32, 64\]", f"nodes = {list(sizes)}")
    torus.change('"--warmups", "1",', '"--only", "bcast_tree",')
    took = times(torus.rows("litmus", *sizes))["bcast_tree"]
    steps = [after - before for before, after in zip(took, took[1:], strict=False)]
    assert min(steps) > 0
    # A level more costs about the same each time, however many ranks it holds.
    assert max(steps) < 2 * min(steps)


def test_the_specification_checks_measurements_of_a_machine(torus: Torus, tmp_path: Path) -> None:
    shutil.copy(torus.rows("machine", 16, 32, 64, 128, 256), tmp_path / "measurements.jsonl")
    shutil.copy(ROOT / "studies/growth-mpi/collectives.toml", tmp_path)
    check = [sys.executable, "-m", "tidings.scaling", "check", "--no-record", "--file"]
    said = done([*check, tmp_path / "collectives.toml"], cwd=ROOT / "python")
    rows = [line.split() for line in said.splitlines() if "O(" in line]
    assert {row[0] for row in rows if row[-1] == "holds"} >= {"bcast", "reduce", "allreduce"}
    assert "violated" not in said
    assert "rule allreduce <= reduce + bcast: holds" in said


@pytest.mark.parametrize("mpi", MPIS)
def test_memory_of_objects_and_of_mpi(programs: Path, tmp_path: Path, mpi: str) -> None:
    file = tmp_path / "memory.jsonl"
    for ranks in (2, 3, 4):
        done([*started(mpi, ranks, programs), programs / f"tidings-mpi-memory.{mpi}", file])
    found = {m.function: m for m in read([file])}
    assert set(found) == {"comm_create", "comm_dup", "win_create", "cart_create", "mpi"}
    for name, measured in found.items():
        assert (measured.metric, measured.unit) == ("memory", "B")
        assert len(measured.rows) == 3 * (1 if name == "mpi" else 5)
        assert min(row.value for row in measured.rows) > (1e6 if name == "mpi" else 100)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--repetitions", "0"], "--repetitions cannot be '0'; see --help"),
        (["--bytes", "9"], "--bytes cannot be '9'; see --help"),
        (["--only", "scan"], "--only cannot be 'scan'; see --help"),
        (["--late"], "--late is no option, or lacks a value; see --help"),
        (["more"], "'more' is no option; see --help"),
    ],
)
def test_wrong_command_lines_are_rejected(programs: Path, words: list[str], complaint: str) -> None:
    program = programs / "tidings-mpi-collectives.mpich"
    said = done([*launcher("mpich", 1), program, *words], status=2)
    assert f"tidings-mpi-collectives: {complaint}" in said


def test_a_file_that_cannot_be_written_is_named(programs: Path, tmp_path: Path) -> None:
    program = programs / "tidings-mpi-collectives.openmpi"
    said = done([*launcher("openmpi", 2), program, "--file", tmp_path / "a" / "b"], status=1)
    assert "b: No such file or directory" in said


def test_a_table_has_the_values_of_a_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machine by machine, what is exact of the first run only; the time is that of their runs."""
    settings = {"program": "timed", "nodes": 2, "ranks": 4}

    def row(machine: str, metric: str, run: str) -> dict[str, object]:
        names = {"machine": machine, "function": "gen", "metric": metric, **settings}
        return {**names, "size": 3, "run": run, "value": 2.5e-6, "unit": "s"}

    def ran(index: int, wall_s: float, *rows: object, outcome: str = "ok") -> dict[str, object]:
        own = {"machine": "cluster", "settings": {"run": 7}, **settings}
        return {"index": index, "outcome": outcome, "wall_s": wall_s, "rows": rows, **own}

    def lay(name: str, *objects: object) -> None:
        (tmp_path / name).write_text("".join(json.dumps(one) + "\n" for one in objects))

    exact = [row("B", "steps", run) for run in ("0", "1")]
    timed = [row("B", "time", "1"), row("A", "time", "16")]
    lay("rows.jsonl", *timed, *exact)
    lay(
        "runs.jsonl",
        {"schema": "tidings-lab-series-1"},
        ran(0, 40.0, timed[0], outcome="failed"),
        ran(0, 1.25, timed[0], exact[0]),
        ran(1, 2.0, timed[1]),
        ran(2, 50.0, exact[1]),
        ran(3, 60.0, row("C", "time", "1")),
    )
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'python'}:{ROOT / 'studies'}")
    table = tmp_path / "table.csv"
    make = [sys.executable, "-m", "drawing.series"]
    done([*make, tmp_path / "rows.jsonl", table, "run", "cc"])
    assert table.read_text().splitlines() == [
        "machine,function,metric,size,run,value,unit",
        "A,gen,time,3,16,2.5e-06,s",
        "B,gen,time,3,1,2.5e-06,s",
        "B,gen,steps,3,0,2.5e-06,s",
    ]
    (made,) = json.loads((tmp_path / "table.manifest.json").read_text())["runs"]
    assert (made["command"], made["wall_s"]) == ("run", 3.25)
    assert set(made["versions"]) >= {"cc", "python"}


@pytest.mark.parametrize(
    ("folder", "name"), [("growth-mpi", "mpi"), ("growth-clustering", "mafia")]
)
def test_pages_are_drawn_of_their_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, name: str
) -> None:
    for part in ("README.md", f"{name}.csv"):
        shutil.copy(ROOT / "studies" / folder / part, tmp_path)
    file = tmp_path / "README.md"
    before = file.read_text()
    empty = re.sub(r"(<!-- table: \S+ -->\n).*?(<!-- end -->)", r"\1\2", before, flags=re.DOTALL)
    assert empty.count("\n") < before.count("\n") - 20
    file.write_text(empty)
    paths = [ROOT / part for part in ("python", "studies")]
    monkeypatch.setenv("PYTHONPATH", ":".join(map(str, paths)))
    done([sys.executable, ROOT / "studies" / folder / "draw.py", file])
    lines, drawn = before.splitlines(), file.read_text().splitlines()
    assert len(drawn) == len(lines)
    # What the paper's engine and the measurements say; the default engine has its own tests.
    assert [line.split("|")[:7] for line in drawn] == [line.split("|")[:7] for line in lines]
