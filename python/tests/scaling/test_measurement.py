"""Measurements: errors; duplicates and order do not matter."""

from __future__ import annotations

import math

import pytest

from tidings.scaling.measurement import Measurement, MeasurementError, Row


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (Row(8, "", "", 0.0, "m.jsonl:3"), r"m\.jsonl:3: the value at size 8 is 0"),
        (Row(8, "", "", -1.0), "only positive values"),
        (Row(8, "", "", math.nan, "m.jsonl:3"), r"m\.jsonl:3: the value at size 8 is missing"),
        (Row(8, "", "", math.inf), "only positive values"),
        (Row(0, "", "", 1.0), "sizes must be positive"),
        (Row(math.nan, "", "", 1.0), "sizes must be positive"),
    ],
)
def test_impossible_values_are_rejected(row: Row, problem: str) -> None:
    good = [Row(float(size), "", "", 1.0) for size in (1, 2, 4, 16)]
    with pytest.raises(MeasurementError, match=problem):
        Measurement.of([*good, row])


@pytest.mark.parametrize("sizes", [[], [8.0] * 9, [8.0, 16.0]])
def test_too_few_sizes_are_rejected(sizes: list[float]) -> None:
    with pytest.raises(MeasurementError, match=r"size|no measurement"):
        Measurement.of_values(sizes, [[1.0 + i] for i in range(len(sizes))])


def test_sizes_and_values_must_be_as_many() -> None:
    with pytest.raises(MeasurementError, match="give one each"):
        Measurement.of_values([1, 2, 3], [1.0, 2.0])


def test_duplicates_and_order_do_not_matter() -> None:
    rows = [Row(float(s), "", "", float(v)) for s in (4, 1, 2) for v in (3, 1, 2)]
    assert Measurement.of(rows) == Measurement.of([*rows[::-1], *rows])


def test_repetitions_of_equal_value_count_if_they_are_numbered() -> None:
    rows = [Row(float(s), "", str(r), 5.0) for s in (1, 2, 4) for r in range(3)]
    assert len(Measurement.of(rows).rows) == 9
