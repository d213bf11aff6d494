"""The oracle on graphs of a few calls, and a node that is killed while few tiles are factored."""

from __future__ import annotations

import pytest
from lost_tiles import Death, Sizes, row, run
from oracle import Known, done_again

# 0 is read by 1 and 2, these by 3, and that by 4.
READERS = {0: {1, 2}, 1: {3}, 2: {3}, 3: {4}, 4: set()}


def known(begun: set[int], ended: set[int], elsewhere: set[int], wanted: set[int]) -> Known:
    """Return a run with these."""
    return Known(READERS, begun, ended, elsewhere, wanted)


@pytest.mark.parametrize(
    ("begun", "ended", "elsewhere", "wanted", "again"),
    [
        # What was in hand, and what it had read, if that was there.
        ({0, 1}, {0}, set(), set(), {0, 1}),
        ({1}, set(), {0}, set(), {1}),
        # An output that has been read by all is not needed.
        ({0}, {0}, {1, 2}, set(), set()),
        ({0}, {0}, {1}, set(), {0}),
        # All the way back, as far as what was there.
        ({0, 1, 2}, {0, 1, 2}, set(), set(), {0, 1, 2}),
        ({1, 2}, {1, 2}, {0}, set(), {1, 2}),
        # A chain whose end was read is not made again.
        ({0, 1, 2, 3}, {0, 1, 2, 3}, {4}, set(), set()),
        # The program asks for the last one, which has to be made of what is there.
        ({4}, {4}, {0, 1, 2, 3}, {4}, {4}),
        ({2, 3, 4}, {2, 3, 4}, {0, 1}, {4}, {2, 3, 4}),
        ({4}, {4}, {0, 1, 2, 3}, set(), set()),
    ],
)
def test_what_is_lost_and_needed_is_done_again_and_nothing_else(
    begun: set[int], ended: set[int], elsewhere: set[int], wanted: set[int], again: set[int]
) -> None:
    """Recursively, as far as outputs are lost."""
    assert done_again(known(begun, ended, elsewhere, wanted)) == again


@pytest.mark.foreign
def test_a_node_that_dies_changes_no_bit_and_costs_what_the_oracle_says() -> None:
    """With few tiles; ``row`` raises an error else."""
    sizes = Sizes(tiles=6)
    death = Death("n2", sizes.calls // 2)
    calm, ran = run(sizes, None), run(sizes, death)
    found = row(sizes, death, ran, calm)
    assert found["calls"] == 56
    assert found["beyond"] == 0
    assert int(str(found["again"])) <= int(str(found["oracle"]))
    assert {line.call for line in calm.lines} == set(range(56))
