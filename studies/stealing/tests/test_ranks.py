"""The cases of ranks with real messages."""

from __future__ import annotations

import ranks


def test_many_ranks_neither_ask_at_random_nor_gossip_often() -> None:
    """Each network has each policy, once."""
    cases = list(ranks.cases([64, 1024, 4096]))
    assert len(cases) == len(set(cases)) == 2 * (3 + 3 + 2) + 3
    between = {(case.network, case.ranks) for case in cases if not case.progress_us}
    assert between == {("torus", 64)}
    assert {case.ranks for case in cases if case.victims == "random"} == {64, 1024}
    units = {(case.ranks, case.unit_ms) for case in cases if case.victims == "known"}
    assert units == {(64, 10), (1024, 10), (4096, 40)}
    assert all(case.unit_ms == 0 for case in cases if case.victims != "known")


def test_a_row_counts_steals_that_were_asked_for_and_pushed() -> None:
    """Both brought tasks."""
    names = ("ranks", "tasks", "attempts", "moved", "messages", "bytes")
    line = {**dict.fromkeys(names, 7), "steals": 2, "pushed": 3, "seconds": 1, "efficiency": 0.5}
    row = ranks.row(ranks.Case("torus", 7, 1000, "lifelines"), line)
    assert (row.steals, row.efficiency, row.progress_us) == (5, "0.5000", 1000)
