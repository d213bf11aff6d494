"""The iterations of ranks with real messages."""

from __future__ import annotations

import iterations
import pytest


def test_each_way_says_how_it_begins() -> None:
    """What is retained or balanced is an option of the program."""
    cases = list(iterations.cases([16, 64]))
    assert len(cases) == len(set(cases)) == 2 * len(iterations.WAYS)
    assert iterations.words(16, "known, balanced")[-1] == "--balance"
    assert iterations.words(16, "random")[-1] == str(iterations.CHANGE_PERCENT)
    known = iterations.words(16, "known", "tce:12,6")
    assert known[0] == "tce:12,6"
    assert known[known.index("--unit-us") + 1] == "10000"


def test_most_ranks_have_a_unit_between() -> None:
    """News of 40 ms would be too old."""
    known = iterations.words(4096, "known, retained")
    assert known[known.index("--unit-us") + 1] == "20000"
    assert "--unit-us" not in iterations.words(4096, "random, retained")


def test_more_ranks_contract_more() -> None:
    """Each has as many products as it has among 256, and none so many that a table takes days."""
    names = [iterations.contraction(count).name for count in (16, 256, 257, 1024, 4096)]
    assert names == ["tce:12,6", "tce:12,6", "tce:16,8", "tce:16,8", "tce:20,10"]
    products = [made.products / most for most, made in iterations.CONTRACTIONS.items()]
    assert all(60 <= of_rank < 90 for of_rank in products)
    with pytest.raises(ValueError, match="4097 ranks"):
        iterations.contraction(4097)


def test_balancing_is_part_of_an_iteration() -> None:
    """Its time is no work, and no search."""
    names = ("iteration", "attempts", "steals", "pushed", "moved", "balanced", "messages", "bytes")
    line = {**dict.fromkeys((*names, "balance_bytes"), 3), "ranks": 4, "seconds": 1.5}
    times = {"balance_seconds": 0.5, "work_seconds": 4.0, "waiting_seconds": 0.5}
    row = iterations.row("random, balanced", {**line, **times})
    assert (row.seconds, row.efficiency, row.searching_s) == ("2.0000", "0.5000", "1.500")
    assert (row.steals, row.bytes) == (6, 6)
