"""bench/scaling: the suites are the same for the same seed, and the scores mean what they say."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidings.scaling.terms import CONSTANT, Term

FOLDER = Path(__file__).parents[3] / "bench" / "scaling"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Import the modules of the bench, which is no package."""
    monkeypatch.syspath_prepend(str(FOLDER))
    names = ("suite", "scores", "compare", "plans", "alarms", "page")
    return {name: importlib.import_module(name) for name in names}


def test_suites_are_large_enough_and_repeatable(bench: dict[str, Any]) -> None:
    for suite in bench["suite"].SUITES.values():
        assert len(suite.growths) >= 40
        assert {growth.family for growth in suite.growths} >= {"odd", "decay", "exponential"}
        once, again = (list(suite.cases(7, 1, ("5", "spiky"))) for _ in range(2))
        assert all(np.array_equal(a.values, b.values) for a, b in zip(once, again))
        assert all(5 <= len(case.sizes) <= 10 for case in once)


def test_the_suites_share_no_odd_growth(bench: dict[str, Any]) -> None:
    odd = [
        {growth.term for growth in suite.growths if growth.family == "odd"}
        for suite in bench["suite"].SUITES.values()
    ]
    assert not odd[0] & odd[1]


def test_broken_expectations_are_too_low_by_the_square_root(bench: dict[str, Any]) -> None:
    cases = bench["suite"].SUITES["tuning"].cases(1, 1, ("0",))
    broken = {case.growth.term: case.broken for case in cases if not case.growth.lower}
    assert broken[Term.of(2)] == Term.of("3/2")
    assert broken[Term.of("1/4")] == CONSTANT
    assert broken[Term.of(-1)] == Term.of("-3/2")
    assert broken[CONSTANT] is None


def test_scores_of_a_case_without_noise(bench: dict[str, Any]) -> None:
    cases = bench["suite"].SUITES["tuning"].cases(3, 1, ("0",))
    case = next(case for case in cases if case.growth.term == Term.of(1, 1))
    marked = bench["scores"].marks(case, bench["compare"].bayes(case))
    for score in ("exact", "near", "far", "covered_4", "covered_64", "caught"):
        assert marked[score] == 1, score
    assert marked["alarm"] == 0
    wrong = bench["scores"].Outcome(Term.of("5/4"), far=0.0, verdict_true="violated")
    marked = bench["scores"].marks(case, wrong)
    assert (marked["exact"], marked["near"], marked["far"], marked["alarm"]) == (0, 1, 0, 1)


def test_the_paper_s_engine_is_asked_too(bench: dict[str, Any]) -> None:
    cases = bench["suite"].SUITES["held-out"].cases(3, 1, ("0",))
    case = next(case for case in cases if case.growth.term == Term.of(1, 1))
    assert bench["compare"].paper(case).growth == Term.of(1, 1)
