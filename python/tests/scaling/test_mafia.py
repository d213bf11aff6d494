"""The clustering program finds the planted clusters, in exactly the steps of theory."""

from __future__ import annotations

import json
import os
from math import comb
from pathlib import Path

import pytest

from tests.scaling.programs import ROOT, done
from tidings.scaling import (
    Expectation,
    Limits,
    Measurement,
    PaperEngine,
    evaluate,
    fit,
    search_space,
)
from tidings.scaling.readers import read
from tidings.scaling.verdict import Outcome

POINTS = 20_000
EXPECTED = {"gen": "k^3 2^k", "dedup": "k^4 2^k", "pcount": "k 2^k", "unjoin": "k^3 2^k"}


@pytest.fixture(scope="module")
def mafia(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("mafia") / "mafia"
    done([ROOT / "studies/growth-clustering/mafia/build", program])
    return program


def tally(mafia: Path, **options: int) -> dict[str, int]:
    """Run the program; return its last line."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    lines = done([mafia, "--points", str(POINTS), *words]).splitlines()
    found: dict[str, int] = json.loads(lines[-1])
    assert len(lines) - 1 == found["found"]
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("clusters", "k"), [(1, 2), (2, 6), (3, 4), (4, 7)])
def test_planted_clusters_are_found_and_nothing_else(
    mafia: Path, clusters: int, k: int, seed: int
) -> None:
    found = tally(mafia, clusters=clusters, cluster_dimensions=k, seed=seed)
    assert (found["found"], found["matched"]) == (clusters, clusters)


def test_a_cluster_may_fill_the_space(mafia: Path) -> None:
    assert tally(mafia, clusters=1, cluster_dimensions=8, dimensions=8)["matched"] == 1


@pytest.mark.parametrize("k", range(2, 12))
def test_candidates_and_words_are_those_of_theory(mafia: Path, k: int) -> None:
    """A cluster has C(k, l) units of l dimensions, and each is joined from C(l, 2) pairs."""
    found = tally(mafia, clusters=1, cluster_dimensions=k)
    assert found["candidates"] == sum(comb(k, size) * comb(size, 2) for size in range(2, k + 1))
    counted = sum(comb(k, size) * size for size in range(2, k + 1))
    assert found["pcount"] == counted * -(-POINTS // 64)


def test_steps_grow_as_expected_by_both_engines(mafia: Path) -> None:
    """Table 4's expectations; that of another step is not met."""
    sizes = list(range(3, 12))
    rows = [tally(mafia, clusters=1, cluster_dimensions=k) for k in sizes]
    terms = {kernel: Expectation.parse(text).term for kernel, text in EXPECTED.items()}
    measured = {
        kernel: Measurement.of_values(sizes, [float(row[kernel]) for row in rows])
        for kernel in EXPECTED
    }
    for kernel, term in terms.items():
        assert PaperEngine(search_space.around(term)).fit(measured[kernel]).growth == term
        model = fit(measured[kernel], term)
        (verdict,) = evaluate([model], [Limits.around(term)])
        assert (model.growth, verdict.outcome) == (term, Outcome.HOLDS)
    narrow = Limits.around(terms["gen"], Expectation.parse("sqrt(k)").term)
    (verdict,) = evaluate([fit(measured["dedup"], terms["gen"])], [narrow])
    assert verdict.outcome is Outcome.VIOLATED


def test_what_is_written_is_read(mafia: Path, tmp_path: Path) -> None:
    file = tmp_path / "mafia.jsonl"
    for k in (3, 4, 5):
        done([mafia, "--points", str(POINTS), "--cluster-dimensions", str(k), "--file", file])
    found = read([file])
    metrics = {(m.function, m.metric) for m in found}
    assert metrics == {(kernel, metric) for kernel in EXPECTED for metric in ("steps", "time")}
    assert all(m.sizes().tolist() == [3, 4, 5] and m.parameter == "k" for m in found)
    said = done([mafia, "--points", str(POINTS), "--file", tmp_path / "a" / "b"], status=1)
    assert "b: No such file or directory" in said


@pytest.mark.parametrize(
    ("program", "metrics", "run"),
    [("timed", {"time", "steps"}, "2"), ("counted", {"instructions"}, "0")],
)
def test_the_series_has_a_row_for_each_kernel(
    mafia: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    program: str, metrics: set[str], run: str,
) -> None:  # fmt: skip
    """A cell of the study's series, with fewer points."""
    folder = ROOT / "studies/growth-clustering"
    text = (folder / "mafia.toml").read_text().replace('"100000"', '"2000"')
    text = text.replace("../../target/mafia", str(mafia))
    (tmp_path / "mafia.toml").write_text(text.replace("./count.py", f"{folder}/count.py"))
    monkeypatch.setenv("MAFIA", str(mafia))
    tidings = Path(os.environ.get("TIDINGS_BIN_DIR", ROOT / "target" / "debug")) / "tidings"
    words = ["--only", f"program={program}", "--only", "size=4"]
    words += ["--only", "run=2"] if run == "2" else []
    done([tidings, "lab", "series", tmp_path / "mafia.toml", "--output", tmp_path / "out", *words])
    rows = [json.loads(line) for line in (tmp_path / "out/rows.jsonl").read_text().splitlines()]
    assert {(row["function"], row["metric"]) for row in rows} == {
        (kernel, metric) for kernel in EXPECTED for metric in metrics
    }
    assert {(row["machine"], row["size"], row["run"]) for row in rows} == {("MAFIA", 4, run)}
    assert min(row["value"] for row in rows) > 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--cluster-dimensions", "21"], "--cluster-dimensions cannot be '21'"),
        (["--points", "1e5"], "--points cannot be '1e5'"),
        (["--clusters", "0"], "--clusters cannot be '0'"),
        (["--dimensions", "3"], "clusters of 5 dimensions do not fit into a space of 3"),
        (["--files"], "--files is no option, or lacks a value"),
        (["more"], "'more' is no option"),
    ],
)
def test_wrong_command_lines_are_rejected(mafia: Path, words: list[str], complaint: str) -> None:
    assert f"mafia: {complaint}; see --help" in done([mafia, *words], status=2)
