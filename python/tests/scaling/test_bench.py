"""studies/growth-engines: suites repeat for a seed, and scores are correct."""

from __future__ import annotations

import csv
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidings.scaling.terms import CONSTANT, Term

FOLDER = Path(__file__).parents[3] / "studies" / "growth-engines"
PATHS = [str(FOLDER.parents[1] / name) for name in ("python", "studies")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Import the modules of the bench, which is no package."""
    monkeypatch.syspath_prepend(str(FOLDER))
    names = (
        *("growths", "suite", "scores", "compare", "plans", "alarms"),
        *("kernels", "collectives"),
    )
    return {name: importlib.import_module(name) for name in names}


def test_suites_are_large_enough_and_repeatable(bench: dict[str, Any]) -> None:
    for suite in bench["suite"].SUITES.values():
        assert len(suite.growths) >= 40
        assert {growth.family for growth in suite.growths} >= {"odd", "decay", "exponential"}
        once, again = (list(suite.cases(7, 1, ("5", "spiky"))) for _ in range(2))
        assert all(np.array_equal(a.values, b.values) for a, b in zip(once, again))
        assert all(5 <= len(case.sizes) <= 10 for case in once)


def test_the_suites_share_no_unusual_growth(bench: dict[str, Any]) -> None:
    odd = [
        {growth.term for growth in suite.growths if growth.family == "odd"}
        for suite in bench["suite"].SUITES.values()
    ]
    assert not odd[0] & odd[1]
    assert not odd[2] & (odd[0] | odd[1])


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


def test_the_paper_s_engine_is_used_too(bench: dict[str, Any]) -> None:
    cases = bench["suite"].SUITES["held-out"].cases(3, 1, ("0",))
    case = next(case for case in cases if case.growth.term == Term.of(1, 1))
    assert bench["compare"].paper(case).growth == Term.of(1, 1)


def test_coverage_is_counted_by_family(tmp_path: Path) -> None:
    """In a process of its own: the script has the name of a package that may be installed."""
    command = [sys.executable, str(FOLDER / "coverage.py"), "--seed", "1", "--cases", "28"]
    subprocess.run([*command, "--output", str(tmp_path)], check=True, cwd=FOLDER, env=ENVIRONMENT)
    with (tmp_path / "coverage.csv").open() as file:
        rows = {row["family"]: row for row in csv.DictReader(file)}
    counted = {family: int(row["cases"]) for family, row in rows.items()}
    assert counted.pop("all") == sum(counted.values())
    assert counted == {
        **{"constant": 28, "logarithm": 28, "decay": 28, "odd": 35, "exponential": 35},
        **{"mixture": 35, "power": 98, "power-log": 84},
    }
    assert all(0.9 < float(rows["all"][column]) < 1 for column in ("covered_4", "covered_64"))
    assert (tmp_path / "coverage.manifest.json").exists()


def test_kernels_run_and_reject_unknown_names(bench: dict[str, Any], tmp_path: Path) -> None:
    program = tmp_path / "kernels"
    source = FOLDER / "kernels.c"
    compiler = ["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*compiler, "-o", str(program), str(source), "-lm"], check=True)
    for name, (_, sizes) in bench["kernels"].KERNELS.items():
        ran = subprocess.run([program, name, str(sizes[0]), "count"], check=False)
        assert ran.returncode == 0, name
    for words in (["sum", "1"], ["sum", "x"], ["none", "8"], ["sum"]):
        refused = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert "usage" in refused.stderr


def test_growth_of_the_counted_kernels_is_named(bench: dict[str, Any]) -> None:
    kernels = bench["kernels"]
    values = kernels.read(FOLDER / "kernels.csv")
    lines = kernels.evaluated(
        {key: rows for key, rows in values.items() if key[1] == "count"},
        {"tidings": bench["compare"].bayes},
        ("count",),
    )
    assert len(lines) == 18
    assert [line["kernel"] for line in lines if line["near"] != 1] == []
    assert [line["kernel"] for line in lines if line["alarm"] != 0] == []
    assert kernels.cliff(values)["true"].startswith("misfit")


def test_statistics_of_one_series_stand_alone(bench: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "mpi_data.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["mpi", "variable", "Ranks", "mean", "median", "min"])
        for step in range(5):
            ranks = 32 * 2**step
            writer.writerow(["Some", "MPI_Bcast", ranks, ranks**2, 5 + step, 5 + step])
    series = bench["collectives"].read(path)
    line = bench["collectives"].evaluated("Bcast", series["Some", "Bcast"], None)
    assert (line["mean"], line["median"], line["min"]) == ("violated", "holds", "holds")
