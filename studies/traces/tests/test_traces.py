"""The cases, and what is read of the simulator's lines."""

from __future__ import annotations

import json

import pytest
import traces


def test_each_case_is_there_once() -> None:
    """And no larger one than was asked for."""
    cases = list(traces.cases(1024))
    assert len(cases) == len(set(cases))
    assert {case[3] for case in cases} == {64, 256, 1024}


def test_a_phase_that_was_not_complete_is_no_row() -> None:
    """A complete one has a cell for each column."""
    case = next(traces.cases(64))
    found = dict.fromkeys(traces.FOUND, 1)
    assert len(traces.row(case, json.dumps({"complete": True, **found}))) == len(traces.COLUMNS)
    with pytest.raises(ValueError, match="not complete"):
        traces.row(case, json.dumps({"complete": False, **found}))
