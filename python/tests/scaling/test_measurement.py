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
        (Row(8, "", "", math.nan, "m.jsonl:3"), r"m\.jsonl:3: the value at size 8 is NaN"),
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


def test_order_and_numbered_doubles_do_not_matter() -> None:
    rows = [Row(float(s), "", str(v), float(v)) for s in (4, 1, 2) for v in (3, 1, 2)]
    doubled = Measurement.of([*rows[::-1], *rows])
    assert Measurement.of(rows).rows == doubled.rows
    assert Measurement.of(rows).warnings == ()
    assert doubled.warnings == (
        "9 rows are the same as another in size, run, repetition and value, and counted once: "
        "if it is another measurement, name its run",
    )


def test_equal_values_of_a_coarse_clock_count() -> None:
    """A clock of 1 ms gave 5, 5, 5 and 6 ms, of which 5 and 6 remained: the mean was 5.5."""
    sizes = [1.0, 2.0, 4.0]
    values = [[5.0, 5.0, 5.0, 6.0]] * 3
    of_values = Measurement.of_values(sizes, values)
    assert [row.value for row in of_values.at(2.0)] == [5.0, 5.0, 5.0, 6.0]
    assert of_values.warnings == ()
    numbered = [Row(s, "", str(r), 5.0) for s in sizes for r in range(3)]
    assert len(Measurement.of(numbered).rows) == 9


def test_rows_of_different_runs_are_no_doubles() -> None:
    rows = [Row(float(s), run, "1", 5.0) for s in (1, 2, 4) for run in "ab"]
    assert len(Measurement.of(rows).rows) == 6


def test_a_file_that_is_there_twice_is_a_warning() -> None:
    rows = [Row(float(s), "", "", s + v / 7) for s in (1, 2, 4) for v in range(5)]
    assert Measurement.of(rows).warnings == ()
    (warning,) = Measurement.of([*rows, *rows, *rows]).warnings
    assert warning.startswith("every row is there 3 times: if a file is read twice, omit it")
    exact = [Row(float(s), "", "", float(s)) for s in range(1, 20)]
    assert Measurement.of([*exact, *exact]).warnings == ()
