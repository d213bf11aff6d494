"""Which values of links the page says were asked, and that the study asks for some of one link."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

from drawing.csv_table import Row, Table

STUDY = Path(__file__).parents[1]


def drawing() -> ModuleType:
    """Return what draws this study's tables: other studies have modules of that name as well."""
    spec = importlib.util.spec_from_file_location("draw_characterize_here", STUDY / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


draw = drawing()


def link(one: int, other: int, mbit: float, round_us: float) -> Row:
    """Return a direction of a link that is a tenth faster than asked, and as late as asked."""
    cells = ("chain of 4", one, other, mbit, 1.1 * mbit, round_us, round_us, "true")
    return Row("links.csv:2", dict(zip(draw.LINKS, map(str, cells), strict=True)))


def test_a_link_with_values_of_its_own_is_compared_with_these() -> None:
    """And all that were asked are named, the largest first."""
    ends = [(0, 1, 20.0, 4000.0), (1, 2, 10.0, 6000.0), (2, 3, 20.0, 0.0)]
    back = [(other, one, *asked) for one, other, *asked in ends]
    both = tuple(link(*own) for own in (*ends, *back))
    line = draw.of_links(Table(both))["links"].splitlines()[-1]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["chain of 4", "6", "20 / 10", "+10.0 %", "6 / 4 / -", "+0.0 %", "6 of 6"]


def test_one_link_of_the_chain_has_values_of_its_own_and_every_machine_a_delay() -> None:
    """So that the study compares what is asked of one link as well."""
    series = tomllib.loads((STUDY / "links.toml").read_text(encoding="utf-8"))
    backends = {machine["name"]: machine["backend"] for machine in series["machines"]}
    (own,) = backends["chain of 4"]["links"]
    assert own == {"between": [1, 2], "rate_mbit": 10.0, "delay_us": 3000.0}
    assert all(backend["delay_us"] > 0 for backend in backends.values())
