"""Which sessions are compared, and what is kept of a comparison."""

from __future__ import annotations

import tomllib
from pathlib import Path

import days
import pytest


def difference(variant: str, longer: float, *, differs: bool, p: float = 1.0) -> days.Difference:
    """Return a line of a comparison."""
    change = {"estimate": longer, "low": longer - 0.01, "high": longer + 0.01}
    return {
        "test": "overlap", "variant": variant, "runs": [8, 7], "change": change, "floor": 0.05,
        "p_holm": p, "differs": differs,
    }  # fmt: skip


def found(*lines: days.Difference) -> dict[str, object]:
    """Return what is kept of a comparison, by its column."""
    names = days.COLUMNS[days.COLUMNS.index("runs") :]
    return dict(zip(names, days.row(lines), strict=True))


def test_kinds_alternate_and_each_session_is_compared() -> None:
    """What drifts falls on both: slowed sessions are the earlier ones in half of their pairs."""
    order = [own.name for own in days.sessions(4)]
    assert order[:3] == ["unchanged-00", "slowed-00", "unchanged-01"]
    assert len(order) == len(set(order)) == 9
    found = list(days.pairs(4))
    assert [kind for kind, _, _ in found] == ["unchanged", "slowed"] * 4
    assert {own.name for _, *both in found for own in both} == set(order)
    later = [order.index(b.name) - order.index(a.name) for kind, a, b in found if b.slowed]
    assert later == [1, -1, 1, -1]


def test_only_a_flow_that_is_slower_across_the_link_names_it() -> None:
    """A faster one does not, nor another line that differs."""
    unlike = found(
        difference("P0-P2, no overlap", 0.11, differs=True, p=0.002),
        difference("P0-P3, no overlap", -0.11, differs=True, p=0.003),
        difference("P1-P2, no overlap", 0.2, differs=True, p=0.004),
        difference("P1-P3, no overlap", 0.0, differs=False),
    )
    assert (unlike["lines"], unlike["differ"]) == (4, 3)
    assert (unlike["named"], unlike["of_link"]) == (1, 2)
    assert (unlike["runs"], unlike["least_p"]) == (7, "0.002000")
    assert (unlike["longer"], unlike["floor"]) == ("-0.1100", "0.0500")
    assert str(unlike["differing"]).startswith("overlap P0-P2, no overlap +0.110; ")


def test_what_was_not_compared_has_empty_cells() -> None:
    """As many as there are columns."""
    assert set(found().values()) == {""}


def test_the_series_has_the_links_that_the_sessions_name() -> None:
    """At a rate that is not slowed, as the machine's."""
    text = (Path(days.__file__).parent / "days.toml").read_text(encoding="utf-8")
    series = tomllib.loads(text)
    (program,), (machine,) = series["programs"], series["machines"]
    assert program["grids"] == [{"first_link_mbit": [days.MBIT]}]
    assert machine["backend"]["rate_mbit"] == days.MBIT
    assert pytest.approx(0.9) == days.SLOWED_MBIT / days.MBIT
