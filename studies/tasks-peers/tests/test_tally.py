"""What lines and times come to, by hand."""

from __future__ import annotations

import pytest
import tally
from tally import Again, Spread


def lines(*rows: str) -> list[tally.Line]:
    """Return lines, each given as `NUMBER b|e SECONDS`."""
    split = [row.split() for row in rows]
    return [tally.Line(int(n), what == "b", float(at), 1) for n, what, at in split]


def test_lines_are_read_and_a_part_of_one_is_not() -> None:
    """A task may be killed, or looked at, while it writes."""
    text = "7 begin 1500000000 42\n7 end 2000000000 42\n8 beg"
    assert tally.lines_of(text) == [tally.Line(7, True, 1.5, 42), tally.Line(7, False, 2.0, 42)]
    assert tally.lines_of("") == []


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((), Again(0, 0)),
        (("1 b 0", "1 e 1", "2 b 1", "2 e 2"), Again(0, 0)),
        (("1 b 0", "1 b 1", "1 e 2"), Again(1, 0)),
        (("1 b 0", "1 e 1", "1 b 2", "1 e 3"), Again(1, 1)),
        (("1 b 0", "1 b 1", "1 e 2", "1 b 3"), Again(2, 1)),
        (("1 b 2", "1 e 1", "1 b 0"), Again(1, 1)),
    ],
)
def test_a_task_that_began_more_than_once_ran_again(rows: tuple[str, ...], expected: Again) -> None:
    """Once for each further begin; what was finished before counts apart."""
    assert tally.again(lines(*rows)) == expected


def test_a_pause_is_the_longest_time_without_a_begin() -> None:
    """From the failure on, whatever was before it; ends do not count."""
    rows = lines("1 b 0", "2 b 5", "1 e 6", "3 b 8", "4 b 8.5")
    assert tally.longest_pause_s(rows, 4) == 3
    assert tally.longest_pause_s(rows, 5) == 3
    assert tally.longest_pause_s(rows, 8) == 0.5
    assert tally.longest_pause_s(rows, 9) == 0
    assert tally.first_begin(rows) == 0


def test_the_ideal_loses_slots_and_nothing_else() -> None:
    """20 s of work on three slots, of which one dies after 10/3 s: 10/3 + 10/2."""
    assert tally.ideal_s(20, 3, 10 / 3, 2) == pytest.approx(10 / 3 + 5)
    assert tally.ideal_s(20, 3, 10 / 3, 3) == pytest.approx(20 / 3)
    assert tally.ideal_s(6, 3, 4, 2) == 2


def test_quantiles_are_values_that_were_measured() -> None:
    """The 99th of a hundred, and of few the largest."""
    assert tally.quantile(range(1, 101), 0.99) == 99
    assert tally.quantile([3, 1, 2], 0.5) == 2
    assert tally.quantile([3, 1, 2], 0.99) == 3


def test_spreads_efficiencies_and_numbers_of_tasks() -> None:
    """Each by hand."""
    assert tally.spread([4, 1, 2]) == Spread(2, 1, 4)
    assert tally.efficiency(1, 4) == 0.25
    assert tally.enough(1000, 2, 50, 20_000) == 2_000
    assert tally.enough(1, 2, 50, 20_000) == 50
    assert tally.enough(1e6, 2, 50, 20_000) == 20_000
