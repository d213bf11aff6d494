"""Measurements written by programs in C, C++ and Fortran are what tidings.scaling reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scaling.programs import INTERFACE, MPIS, SOURCES, WARNINGS, built, done, launcher
from tidings.scaling import Measurement
from tidings.scaling.readers import read

SIZES = [64, 128, 256, 512, 1024]


def by_name(file: Path) -> dict[tuple[str, str], Measurement]:
    return {(m.function, m.metric): m for m in read([file])}


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("blocks")
    return built(place, "cc", "c11", SOURCES / "blocks.c", INTERFACE / "tidings_scaling.c")


def assert_blocks(file: Path) -> None:
    found = by_name(file)
    outer, inner = 'outer "quoted"', "inner"
    metrics = [(outer, "time"), (outer, "steps"), (inner, "time"), (inner, "steps")]
    assert set(found) == {*metrics, ("given", "depth")}
    for m in found.values():
        assert m.parameter == "n"
        assert m.sizes().tolist() == SIZES
        assert {row.run for row in m.rows} == {"a run"}
    # What is counted in the inner block is not the outer one's.
    assert [row.value for row in found[outer, "steps"].rows] == [2.0 * n for n in SIZES]
    assert [row.value for row in found[inner, "steps"].rows] == [2.0 * n for n in SIZES]
    assert found["given", "depth"].unit == "m"
    assert found[inner, "time"].unit == "s"
    for size in SIZES:
        outside, inside = (found[name, "time"].at(size)[0].value for name in (outer, inner))
        assert outside >= inside > 0


def test_blocks_in_c(blocks: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.jsonl"
    done([blocks, file])
    assert_blocks(file)
    done([blocks, file])
    assert len(file.read_text().splitlines()) == 2 * len(SIZES) * 5


@pytest.mark.foreign
def test_blocks_in_cpp(tmp_path: Path) -> None:
    """The very same program is C++, where the interface is compiled as C."""
    source = tmp_path / "blocks.cpp"
    source.write_text((SOURCES / "blocks.c").read_text())
    compiled = tmp_path / "interface.o"
    done(["cc", "-std=c11", *WARNINGS, "-c", INTERFACE / "tidings_scaling.c", "-o", compiled])
    program, file = tmp_path / "blocks", tmp_path / "cpp.jsonl"
    flags = ["-std=c++11", *WARNINGS, "-Wshadow", "-I", str(INTERFACE)]
    done(["c++", *flags, source, compiled, "-lm", "-o", program])
    done([program, file])
    assert_blocks(file)


@pytest.mark.foreign
def test_blocks_in_fortran(tmp_path: Path) -> None:
    compiled = tmp_path / "interface.o"
    done(["cc", "-std=c11", *WARNINGS, "-c", INTERFACE / "tidings_scaling.c", "-o", compiled])
    sources = [INTERFACE / "tidings_scaling.f90", SOURCES / "blocks.f90", compiled]
    program, file = tmp_path / "blocks", tmp_path / "fortran.jsonl"
    flags = ["-std=f2008", "-Wall", "-Werror"]
    done(["gfortran", *flags, *sources, "-lm", "-o", program], cwd=tmp_path)
    done([program, file])
    found = by_name(file)
    names = [("fortran", "steps"), ("fortran", "time"), ("given", "depth"), ("wide", "time")]
    assert sorted(found) == names
    assert [row.value for row in found["fortran", "steps"].rows] == SIZES
    assert [row.value for row in found["given", "depth"].rows] == [2 * n for n in SIZES]
    said = done([program, tmp_path / "none" / "file"], status=2)
    assert "none/file: No such file or directory" in said


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("break", "the block of left was left before its end"),
        ("zero", "nothing (depth) at size 8 is 0: sizes and values are positive numbers"),
        ("outside", "steps is counted outside of a block"),
        ("deep", "blocks nest 16 deep at most"),
        ("control", "a name holds a control character, 0x0a"),
    ],
)
def test_a_fault_has_a_message(blocks: Path, tmp_path: Path, kind: str, fault: str) -> None:
    file = tmp_path / "faulty.jsonl"
    assert fault in done([blocks, file, kind], status=1)
    assert file.read_text() == ""


def test_an_impossible_file_is_named(blocks: Path, tmp_path: Path) -> None:
    assert "No such file or directory" in done([blocks, tmp_path / "a" / "b"], status=2)


@pytest.mark.foreign
@pytest.mark.parametrize("mpi", MPIS)
def test_offsets_of_clocks_are_within_the_stated_error(mpi: str, tmp_path: Path) -> None:
    names = ("tidings_scaling.c", "tidings_scaling_mpi.c")
    sources = [SOURCES / "clocks.c", *(INTERFACE / name for name in names)]
    program, file = built(tmp_path, f"mpicc.{mpi}", "gnu11", *sources), tmp_path / "mpi.jsonl"
    said = done([*launcher(mpi, 3), program, file])
    ranks = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert len(ranks) == 3
    for rank in ranks:
        # A microsecond: the resolution of the printed and of the two clocks' own readings.
        assert abs(rank["true_s"] - rank["measured_s"]) <= rank["error_s"] + 1e-6
        assert rank["start_error_s"] >= rank["error_s"]
        assert (rank["written"], rank["tokens"]) == (10, 3 * 42)
        assert rank["done"] >= 10 + 4
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == 10
    assert {(row["function"], row["size"]) for row in rows} == {("barrier", 3)}
