"""Models of sharing, what is read of points, and the figures and tables that are made of them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import balaji
import figures
import points
import pytest
import sharing
import side_by_side
from drawing import style
from drawing.csv_table import Row, Table, TableError

STUDY = Path(points.__file__).parent


def row(variant: str, count: int, size: int, seconds: float, **more: object) -> Row:
    """Return a point, of 16 ranks and the test of overlaps if nothing else is said."""
    cells = {
        "machine": "m", "ranks": 16, "test": "overlap", "variant": variant, "bytes": size,
        "count": count, "seconds": seconds, "bytes_per_s": size / seconds,
    }  # fmt: skip
    return Row("here", {name: str(cell) for name, cell in (cells | more).items()})


@pytest.mark.parametrize("routes", sharing.OVERLAPS.values())
def test_every_model_uses_a_link_whole_and_no_more(routes: tuple[tuple[str, ...], ...]) -> None:
    """Whichever flow gets more, both cross one link, which is full and not more than full."""
    weights = [float(len(route)) for route in routes]
    for rates in (
        sharing.max_min(routes, 425),
        sharing.weighted(routes, 425, weights),
        sharing.through_first(routes, 425),
    ):
        assert sum(rates) == pytest.approx(425)
        assert min(rates) >= 0


def test_only_a_sender_that_sees_the_busy_link_is_throttled() -> None:
    """As in the paper's figure 5; weights by links give the reverse, and max-min a half each."""
    (apart, near), (first, second) = sharing.OVERLAPS.values()
    del near, second
    for routes in (sharing.OVERLAPS[("P0-P3", "P1-P2")], sharing.OVERLAPS[("P0-P2", "P1-P3")]):
        assert sharing.through_first(routes, 1.0) == [1.0, 0.0]
        assert sharing.max_min(routes, 1.0) == [0.5, 0.5]
    assert len(apart) == 3
    assert len(first) == 2
    three, one = sharing.weighted(sharing.OVERLAPS[("P0-P3", "P1-P2")], 1.0, [3.0, 1.0])
    assert one == pytest.approx(3 * three)


def test_a_flow_that_is_limited_elsewhere_leaves_the_rest() -> None:
    """Max-min on three flows: two share a link, one of them another link with the third."""
    rates = sharing.max_min((("a",), ("a", "b"), ("b", "c")), 12.0)
    assert rates == pytest.approx([6.0, 6.0, 6.0])
    rates = sharing.max_min((("a",), ("a",), ("a", "b"), ("b",)), 12.0)
    assert rates == pytest.approx([4.0, 4.0, 4.0, 8.0])


def test_what_a_flow_keeps_is_of_its_own_rate_alone() -> None:
    """At 1 MiB, and a line that is missing or double is an error with its cells."""
    size = points.LARGE
    table = Table((
        row("P0-P3, no overlap", 0, size, 2.0),
        row("P0-P3, with P1-P2", 0, size, 8.0),
        row("P0-P3, no overlap", 0, 1024, 1.0),
    ))  # fmt: skip
    assert points.beside(table, "P0-P3", "P1-P2") == pytest.approx(0.25)
    with pytest.raises(TableError, match="0 lines have"):
        points.beside(table, "P1-P2", "P0-P3")
    double = Table(table.rows * 2)
    with pytest.raises(TableError, match="2 lines have"):
        points.beside(double, "P0-P3", "P1-P2")


@pytest.mark.parametrize("quartiles", ["", "seconds_p25,seconds_p50,seconds_p75,"])
def test_a_table_with_and_without_quartiles_is_read(tmp_path: Path, quartiles: str) -> None:
    """Columns go by their names: tables of the command had no quartiles at first."""
    file = tmp_path / "points.csv"
    cells = "1e-3," * quartiles.count(",")
    file.write_text(
        f"machine,ranks,test,variant,bytes,count,seconds,{quartiles}bytes_per_s,runs\n"
        f'"m",16,"overlap","P0-P3 alone",1048576,0,2e-3,{cells}524288000,3\n',
        encoding="utf-8",
    )
    table = Table.read(file, points.COLUMNS)
    assert points.seconds(table, variant="P0-P3 alone") == pytest.approx(2e-3)
    assert points.rate(table, test="overlap") == pytest.approx(524_288_000)


def test_a_hot_spot_grows_with_the_power_of_its_last_points() -> None:
    """Latency 3 + w grows by less than w at first, and nearly by w at the end."""
    workers = [2**power for power in range(13)]
    table = Table(tuple(row("mean", w, 1, 3.0 + w, test="hotspot") for w in workers))
    assert 0.99 < side_by_side.exponent(table, 1) < 1.0


def halo(ranks: int) -> list[Row]:
    """Return points of HALO: the second order of ranks takes three times as long as the first."""
    orders = (*balaji.ORDERS, "Hilbert")
    return [
        row(f"{order}, isend and irecv", side, 4 * side, 1e-6 * side * (3 if at == 1 else 1),
            test="halo", ranks=ranks)
        for (at, order), side in itertools.product(enumerate(orders), (2, 1024))
    ]  # fmt: skip


def test_orders_of_ranks_are_compared_at_each_size() -> None:
    """Worst over best of the paper's four, for each number of ranks and N."""
    table = Table((*halo(512), *halo(4096)))
    lines = side_by_side.of_halo(table)["halo"].splitlines()
    assert len(lines) == 2 + 4
    assert all("3.0-fold" in line for line in lines[2:])


def test_a_figure_has_a_panel_for_each_number_of_ranks(tmp_path: Path) -> None:
    """And one for the protocols; all of it is drawn."""
    drawn = figures.halo(Table((*halo(512), *halo(4096))))
    titles = [axes.get_title() for axes in drawn.axes]
    assert titles[0] == "12  HALO, 512 ranks"
    assert titles[2] == "HALO by protocol, 512 ranks"
    style.save(drawn, tmp_path / "halo.svg")
    assert (tmp_path / "halo.svg").stat().st_size > 1000


def test_every_machine_of_the_series_has_a_platform_that_the_study_makes() -> None:
    """A platform that run does not write would fail after an hour."""
    text = (STUDY / "run").read_text(encoding="utf-8")
    named = set(re.findall(r"bluegene-p-(\d+x\d+x\d+)", "".join(
        file.read_text(encoding="utf-8") for file in STUDY.glob("*.toml")
    )))  # fmt: skip
    made = {"x".join(found) for found in re.findall(r"    torus (\d+) (\d+) (\d+)\n", text)}
    assert named == made
