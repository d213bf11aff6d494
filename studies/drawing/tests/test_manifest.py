"""Tables that studies in Python write, with their manifests."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawing.manifest import Table


def test_a_row_that_is_no_row_of_the_table_is_refused(tmp_path: Path) -> None:
    """A value less would move those after it into other columns."""
    table = Table(tmp_path / "table.csv", command="studies/none/run")
    with pytest.raises(ValueError, match="a row of 2 values below the columns a, b, c"):
        table.write_rows(("a", "b", "c"), [(1, 2, 3), (4, 6)])
    assert list(tmp_path.iterdir()) == []
    table.write_rows(("a", "b", "c"), [(1, 2, 3), (4, "", 6)])
    assert (tmp_path / "table.csv").read_text() == "a,b,c\n1,2,3\n4,,6\n"
