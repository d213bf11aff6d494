"""Both programs at a small size, with and without shares of processors, and how work is cut."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import matrices
import numpy as np
import products
import pytest
import shares
from products import FailedError, Said, Sizes
from units import LARGEST, Grid, cut

SMALL = Sizes(size=128, block=8, rounds=2)


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ranks find what this process finds."""
    monkeypatch.setenv("MATMUL_PATH", os.pathsep.join(sys.path))


@pytest.fixture(scope="module")
def summa(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the program of MPI."""
    return products.compiled(tmp_path_factory.mktemp("summa"))


def values(said: Said, name: str) -> list[float]:
    """Return all values of a figure."""
    return [one[name] for one in said if name in one]


@pytest.mark.parametrize(
    ("seconds", "grid"),
    [
        ([0.0] * 4, Grid(16, 4)),
        ([1.0, 1.0, 1.0, 2.0], Grid(16, 4)),
        ([1.0, 1.1], Grid(16, 8)),
        ([1.0, 9.0, 3.0, 2.0], Grid(12, 3)),
        ([1.0], Grid(1, 1)),
        ([1.0, 100.0], Grid(2, 1)),
    ],
)
def test_units_cover_a_product_once(seconds: list[float], grid: Grid) -> None:
    """The rows of each are in one panel, and each rank has one, however slow it is."""
    covered: Counter[tuple[int, int]] = Counter()
    made = cut(seconds, grid)
    for _, unit in made:
        rows = range(unit.row, unit.row + unit.rows)
        columns = range(unit.column, unit.column + unit.columns)
        covered.update(itertools.product(rows, columns))
        assert len({row // grid.panel for row in rows}) == 1
        assert unit.blocks <= max(LARGEST, grid.panel)
    assert set(covered) == set(itertools.product(range(grid.blocks), repeat=2))
    assert set(covered.values()) == {1}
    assert {rank for rank, _ in made} == set(range(grid.ranks))


@pytest.mark.parametrize("seconds", [[1.0] * 4, [1.0, 1.0, 1.0, 2.0], [3.0, 1.0, 2.0, 1.0]])
def test_ranks_whose_speeds_are_known_end_together(seconds: list[float]) -> None:
    """They do as long as what they measured holds, and few units are enough for that."""
    made = cut(seconds, Grid(16, 4))
    ends = [0.0] * 4
    for rank, unit in made:
        ends[rank] += unit.blocks * seconds[rank]
    ideal = 256 / sum(1 / one for one in seconds)
    assert max(ends) < 1.015 * ideal
    assert len(made) <= 24


def test_a_rank_begins_with_its_own_rows_and_columns() -> None:
    """So ranks read different panels at a time."""
    first = {}
    for rank, unit in cut([1.0] * 4, Grid(16, 4)):
        first.setdefault(rank, unit)
    assert {(rank, unit.row, unit.column) for rank, unit in first.items()} == {
        (rank, 4 * rank, 4 * rank) for rank in range(4)
    }


def test_parts_of_a_matrix_are_those_of_the_whole() -> None:
    """Ranks make their own parts, and the two matrices are not the same."""
    whole = matrices.whole("b", 32)
    assert (matrices.block("b", 32, range(4, 9), range(16, 32)) == whole[4:9, 16:]).all()
    assert len(np.unique(whole)) == whole.size
    assert not (matrices.whole("a", 32) == whole).any()
    assert abs(whole.mean()) < 0.05


@pytest.mark.parametrize("wrong", [(0, 0), (31, 7), None])
def test_a_product_with_one_wrong_element_is_found(
    tmp_path: Path, wrong: tuple[int, int] | None
) -> None:
    """One that is right is not complained of."""
    product = matrices.whole("a", 32) @ matrices.whole("b", 32)
    if wrong is not None:
        product[wrong] += 1e-3
    product.tofile(tmp_path / "product")
    if wrong is None:
        (error,) = values(products.checked([], tmp_path / "product", 32), "error")
        assert error < 1e-13
    else:
        with pytest.raises(FailedError, match="the product is wrong"):
            products.checked([], tmp_path / "product", 32)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_tuples_make_the_product(ranks: int, tmp_path: Path) -> None:
    """All blocks are multiplied in each round, by all ranks together."""
    with products.made_place() as place:
        said = products.by_tuples(SMALL, [None] * ranks, place, tmp_path / "product")
    found = np.fromfile(tmp_path / "product").reshape(SMALL.size, SMALL.size)
    expected = matrices.whole("a", SMALL.size) @ matrices.whole("b", SMALL.size)
    assert np.abs(found - expected).max() < 1e-12
    assert len(values(said, "seconds")) == SMALL.rounds
    assert sum(values(said, "blocks")) == SMALL.rounds * (SMALL.size // SMALL.block) ** 2
    assert len(values(said, "blocks")) == SMALL.rounds * ranks


@pytest.mark.foreign
@pytest.mark.parametrize("case", products.CASES)
def test_systems_are_measured_and_their_products_right(case: str, summa: Path) -> None:
    """Each system of each case has its seconds; wrong products would be errors."""
    ranks = len(products.CASES[case])
    for system, count in (("alone", ranks), ("mpi", 1), ("tuples", 1)):
        said = products.measured(system, products.CASES[case], SMALL, summa)
        seconds = values(said, "seconds")
        assert len(seconds) == count * SMALL.rounds
        assert min(seconds) > 0
        assert len(values(said, "error")) == (system != "alone")


@pytest.mark.foreign
def test_a_wrong_size_is_refused(summa: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By both programs, with the reason."""
    with products.made_place() as place:
        with pytest.raises(FailedError, match="mpirun ended with 2"):
            products.by_mpi([summa, "multiply", "100", "8", "1"], [None] * 4, place)
        assert "SIZE must be a multiple of BLOCK" in capfd.readouterr().err
        with pytest.raises(FailedError, match=r"tuples.py ended with 2"):
            products.by_tuples(Sizes(100, 8, 1), [None] * 4, place, None)
        assert "--size must be a multiple of --block" in capfd.readouterr().err


@pytest.mark.foreign
def test_a_process_in_a_group_gets_its_share() -> None:
    """The group is there while it runs, with the share of a period, and gone afterwards."""
    with shares.groups([None, 0.25]) as (free, held):
        assert free == Path("/dev/null")
        words = shares.entering(held, 1, 2, "sh", "-c", "cat /proc/self/cgroup; nproc")
        ended = subprocess.run(words, check=True, capture_output=True, text=True)
        assert held.parent.name in ended.stdout
        assert ended.stdout.endswith("\n1\n")
        limits = [held.with_name(name) for name in ("cpu.max", "cpu.cfs_quota_us")]
        (limit,) = [one.read_text() for one in limits if one.exists()]
        assert limit.split()[0] == str(shares.PERIOD_US // 4)
    assert not held.parent.exists()
