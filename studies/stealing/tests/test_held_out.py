"""The cases with other seeds, and what is read of the simulator's lines."""

from __future__ import annotations

import json

import held_out
import pytest


def test_no_seed_is_one_that_rules_were_adjusted_with() -> None:
    """Each policy has each seed, once."""
    cases = list(held_out.cases())
    assert len(cases) == len(set(cases)) == 4 * len(held_out.SEEDS)
    assert not {seed for _, _, seed in cases} & {1, 2, 3}


def test_a_phase_with_missing_tasks_is_no_row() -> None:
    """A whole one has a cell for each column, a row an iteration."""
    case = next(held_out.cases())
    line = {"complete": True, "never": 0, **dict.fromkeys(held_out.FOUND, 1)}
    text = f"{json.dumps(line)}\n{json.dumps(line)}\n"
    assert [len(row) for row in held_out.rows(case, text)] == [len(held_out.COLUMNS)] * 2
    for wrong in ({"complete": False}, {"never": 1}):
        with pytest.raises(ValueError, match="missing"):
            held_out.rows(case, json.dumps({**line, **wrong}))
    with pytest.raises(ValueError, match="missing"):
        held_out.rows(case, "")
