"""What is read of the measuring program."""

from __future__ import annotations

import pytest
import races

HEAD = ",".join(races.COLUMNS)
ROW = "fib,2,1,Labels,2.5,2.5,7.5,7.5,100,200,300,4"


def test_rows_are_those_below_the_heading() -> None:
    """Each with a cell for each column."""
    assert list(races.rows(f"{HEAD}\n{ROW}\n{ROW}\n")) == [ROW.split(","), ROW.split(",")]


@pytest.mark.parametrize("text", [HEAD, f"{ROW}\n{ROW}", f"{HEAD}\n{ROW},1"])
def test_another_table_is_refused(text: str) -> None:
    """One without rows, without its heading, or with a cell too many."""
    with pytest.raises(ValueError, match="not"):
        list(races.rows(text))
