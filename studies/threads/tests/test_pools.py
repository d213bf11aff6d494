"""The plan of the comparison, and what is made of its figures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pools
import pytest
from drawing.csv_table import Table
from ratios import against, medians, spread

ROWS = """\
tree,"in order, Rust",1,1,100,100,0
tree,"in order, Rust",1,2,110,100,0
tree,"in order, Rust",1,3,300,100,0
tree,"Tidings, forks",1,1,50,110,0
tree,"in order, Rust",2,1,120,120,0
tree,"Tidings, forks",2,1,75,130,0
"""


def test_each_repetition_has_all_systems_in_another_order() -> None:
    """Once with each of its works."""
    cells = list(pools.cells(2))
    counted = Counter((work, system) for _, work, system in cells)
    assert set(counted.values()) == {2}
    assert ("tree", "chili") not in counted
    assert {system for _, system in counted} == {*pools.RUST, *pools.CPP}
    orders = [[one[1:] for one in cells if one[0] == repetition] for repetition in (1, 2)]
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]


def test_the_version_of_taskflow_is_what_its_headers_state(tmp_path: Path) -> None:
    """Six digits; headers without them are refused."""
    (tmp_path / "taskflow").mkdir()
    header = tmp_path / "taskflow/taskflow.hpp"
    header.write_text("#pragma once\n#define TF_VERSION 301100\n", encoding="utf-8")
    assert pools.taskflow_version(tmp_path) == "3.11.0"
    header.write_text("#pragma once\n", encoding="utf-8")
    with pytest.raises(ValueError, match="states no version"):
        pools.taskflow_version(tmp_path)


def test_ratios_are_of_the_medians_within_a_repetition(tmp_path: Path) -> None:
    """An outlier of one run of three does not count."""
    file = tmp_path / "threads.csv"
    file.write_text(f"{','.join(pools.COLUMNS)}\n{ROWS}", encoding="utf-8")
    table = Table.read(file, pools.COLUMNS)
    assert medians(table, "tree", "in order, Rust", "wall_ms") == [110, 120]
    pair = "in order, Rust", "Tidings, forks"
    assert against(table, "tree", pair, "wall_ms") == pytest.approx([2.2, 1.6])
    assert spread([1, 2, 3, 4, 5]) == (2, 3, 4)
