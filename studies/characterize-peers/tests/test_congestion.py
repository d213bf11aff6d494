"""Factors of congestion: of one round, by hand."""

from __future__ import annotations

import congestion


def row(run: int, test: str, variant: str, middle: float, **more: object) -> congestion.Row:
    """Return a row of a series; its first sample is of the warm-up."""
    samples = [9.0, middle, middle]
    own = {"run": str(run), "test": test, "variant": variant, "bytes": 32768.0, "warmups": 1}
    return {**own, "samples_s": samples, **more}


def test_a_factor_is_of_one_round_and_a_case_without_its_points_is_said() -> None:
    """Round 2 is twice as slow throughout, and round 3 lacks the canary."""
    rows = []
    for run, by in ((1, 1.0), (2, 2.0), (3, 1.0)):
        rows.append(row(run, "overlap", "P1-P2, no overlap", by, count=0))
        rows.append(row(run, "overlap", "P1-P2, with P0-P3", 2 * by, count=0))
        if run < 3:
            rows.append(row(run, "congestion", "P1-P2 with P0-P3", by, beside="alone"))
            rows.append(row(run, "congestion", "P1-P2 with P0-P3", 3 * by, beside="congested"))
    rows.append({"run": "1", "test": "places", "library": "Open MPI"})
    found = {line[0]: line[1:] for line in congestion.lines(rows)}
    assert found["P1-P2 with P0-P3"] == ["overlap", 32768, 2, *["2"] * 3, *["3"] * 3]
    assert found["hot spot"] == ["hotspot, 3 over 1", 16384, 0, *[""] * 6]
    assert len(found) == len(congestion.CASES)
