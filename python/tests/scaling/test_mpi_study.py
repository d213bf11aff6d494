"""The MPI study in small: its programs under real MPIs and on a simulated machine."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import machines
import mpi as study
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


def started(flavour: str, ranks: int, programs: Path) -> list[str]:
    """Return the study's own command that starts ranks."""
    (mpi,) = (mpi for mpi in machines.REAL if mpi.flavour == flavour)
    return mpi.launcher(ranks, programs)


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
    assert list(times(file)) == list(study.FUNCTIONS)
    assert all(len(values) == 3 and min(values) > 0 for values in times(file).values())
    reports = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert [report["function"] for report in reports] == list(study.FUNCTIONS)
    assert all(report["measured"] == 3 and report["start_error_s"] >= 0 for report in reports)


def simulated(programs: Path, place: Path, algorithms: str) -> dict[str, list[float]]:
    """Measure on sixteen nodes of a torus, each twice."""
    torus = machines.Simulated("Torus", "torus", 1, algorithms)
    for functions in study.alike(torus, 16):
        command = torus.command(programs, 16, functions[0], study.MESSAGE_BYTES, place)
        only = [word for function in functions for word in ("--only", function)]
        words = ["--repetitions", "2", "--warmups", "1", "--file", f"{place}/{algorithms}.jsonl"]
        done([*command, *words, *only])
    return times(place / f"{algorithms}.jsonl")


def test_virtual_time_is_exact_and_the_named_algorithms_are_those_of_mpich(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = simulated(programs, tmp_path, "mpich")
    assert set(named) == set(study.FUNCTIONS)
    for values in named.values():
        assert values[0] == pytest.approx(values[1], rel=1e-2)
    monkeypatch.setattr(
        machines.Simulated, "settings", lambda *_: ["--cfg=smpi/coll-selector:mpich"]
    )
    (tmp_path / "mpich.jsonl").unlink()
    chosen = simulated(programs, tmp_path, "mpich")
    for function, values in named.items():
        assert values == pytest.approx(chosen[function], rel=1e-2), function


def test_more_ranks_take_longer_and_the_litmus_test_as_its_tree_is_deep(
    programs: Path, tmp_path: Path
) -> None:
    torus = machines.Simulated("Torus", "torus", 1, "mpich")
    took = []
    for ranks in (3, 7, 15, 31):
        command = torus.command(programs, ranks, "bcast_tree", 128, tmp_path)
        file = tmp_path / f"{ranks}.jsonl"
        done([*command, "--repetitions", "1", "--only", "bcast_tree", "--file", str(file)])
        took += times(file)["bcast_tree"]
    steps = [after - before for before, after in zip(took, took[1:])]
    assert min(steps) > 0
    # A level more costs about the same each time, however many ranks it holds.
    assert max(steps) < 2 * min(steps)


def test_the_specification_checks_measurements_of_a_machine(programs: Path, tmp_path: Path) -> None:
    torus = machines.Simulated("Torus", "torus", 1, "mpich")
    for ranks in (16, 32, 64, 128, 256):
        command = torus.command(programs, ranks, "", study.MESSAGE_BYTES, tmp_path)
        words = ["--repetitions", "1", "--warmups", "1", "--file", f"{tmp_path}/measurements.jsonl"]
        done([*command, *words])
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


def test_a_stopped_study_continues_with_what_is_missing(tmp_path: Path) -> None:
    def row(run: str, function: str) -> str:
        return json.dumps({"run": run, "function": function}) + "\n"

    whole = "".join(row("16", function) for function in study.FUNCTIONS)
    (tmp_path / "A.jsonl").write_text(whole + row("32", "barrier") + row("memory-2", "mpi"))
    assert study.measured_runs(tmp_path) == {("A", "16"), ("A", "memory-2")}
    assert len((tmp_path / "A.jsonl").read_text().splitlines()) == len(study.FUNCTIONS) + 1


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
    paths = [ROOT / part for part in ("python", "studies", "studies/growth-mpi")]
    monkeypatch.setenv("PYTHONPATH", ":".join(map(str, paths)))
    done([sys.executable, ROOT / "studies" / folder / "draw.py", file])
    lines, drawn = before.splitlines(), file.read_text().splitlines()
    assert len(drawn) == len(lines)
    # What the paper's engine and the measurements say; the default engine has its own tests.
    assert [line.split("|")[:7] for line in drawn] == [line.split("|")[:7] for line in lines]
