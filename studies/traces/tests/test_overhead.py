"""What is read of the laps, and what they come to."""

from __future__ import annotations

import overhead
import pytest


def test_a_pair_is_a_row_and_missing_ones_are_an_error() -> None:
    """Times of both laps, and the thefts of the traced one."""
    rows = overhead.rows("T1", "10.5 20 10 20 33\n9 18 10 20 31\n", 2)
    assert rows[0] == ("T1", 1, 10.5, 20.0, 10.0, 20.0, 33)
    assert [len(row) for row in rows] == [len(overhead.COLUMNS)] * 2
    with pytest.raises(ValueError, match="2 pairs of 3"):
        overhead.rows("T1", "1 1 1 1 1\n1 1 1 1 1\n", 3)


def test_the_interval_of_a_median_leaves_outliers_out() -> None:
    """Of 24 pairs the seven least and largest are beyond it."""
    laps = [("T1", at, 100.0 + at, 0.0, 100.0, 1.0, 0) for at in range(23)]
    laps.append(("T1", 23, 900.0, 0.0, 100.0, 1.0, 0))
    middle, low, high = overhead.longer(laps, 2, 4)
    assert (middle, low, high) == pytest.approx((11.5, 7, 16))
