"""The hour of simulated nodes."""

from __future__ import annotations

import json
from typing import Any

import hour
import pytest


def report(**deaths: int) -> dict[str, Any]:
    """Return what the simulation reports of an hour."""
    return {
        "complete": True,
        "age_avg_units": 4.3457,
        "trace_hash": "80c5",
        "network": {"sent": 90, "lost": 9},
        "deaths": {**dict.fromkeys(("crashes", *hour.DEATHS), 0), **deaths},
        "checks": dict.fromkeys(hour.CHECKS, 7),
        "parameters": {
            "seed": 1,
            "units": 14063,
            "cluster": {"nodes": 1024, "interval": "256ms"},
        },
    }


def test_a_row_says_who_was_mistaken_for_dead() -> None:
    """Whatever else the report has."""
    row = dict(zip(hour.COLUMNS, hour.row(report(mistaken=3)), strict=True))
    assert (row["mistaken"], row["nodes"], row["lost"]) == (3, 1024, 9)
    assert row["age_avg_units"] == "4.346"
    assert json.dumps(row)


def test_an_hour_in_which_a_node_crashed_is_refused() -> None:
    """Not every death would be false in it."""
    with pytest.raises(ValueError, match="crashed"):
        hour.row(report(crashes=1))
