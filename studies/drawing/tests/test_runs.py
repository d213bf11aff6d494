"""What each study's run promises: its help, its exit codes, and whole tables when it is stopped."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from drawing.tests.samples import ROOT

RUNS = sorted(ROOT.glob("*/run"))
MOVED = re.search(r"^MOVED := (.*?[^\\])$", (ROOT.parent / "Makefile").read_text(), re.M | re.S)
STUDY = """\
#!/usr/bin/env bash
# Does it end?
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../prelude.sh"
measure() {
    echo new >"$FRESH/table.csv"
    echo measuring
    %s
}
study "$@"
"""


def said(*words: str | Path) -> tuple[int, str]:
    """Run a command; return its exit code and all that it printed."""
    ended = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT.parent)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.parent.name)
def test_a_run_says_what_it_asks_and_needs(run: Path) -> None:
    """Help has the question, the minutes and the needs; what is no argument ends with 2."""
    code, text = said(run, "--help")
    assert code == 0
    assert "?" in text.splitlines()[0]
    assert "Minutes: " in text
    assert "Needs: " in text
    assert f"usage: studies/{run.parent.name}/run" in text
    assert said(run, "no-such-part")[0] == 2
    assert said(run, "--draw", "more")[0] == 2


def test_an_old_variable_says_where_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, before anything is measured."""
    monkeypatch.setenv("SIMULATION", "--name overhead-64")
    code, text = said(ROOT / "overhead-simulated/run", "--trial")
    assert code == 2
    assert "SIMULATION was of simulate.py, which is gone: NODES chooses" in text


def test_old_targets_say_where_they_went() -> None:
    """Exit code 2, and a folder that is there."""
    assert MOVED is not None
    pairs = [one.split(":") for one in MOVED[1].replace("\\\n", " ").split()]
    assert len(pairs) > 20
    for target, study in pairs:
        assert study == "QUESTION" or (ROOT / study / "run").exists()
        code, text = said("make", target)
        assert code == 2
        assert f"now studies/{study}/run" in text


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Make a study with an old table."""
    folder = tmp_path / "studies" / "one"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "prelude.sh", folder.parent)
    (folder / "table.csv").write_text("old\n")
    return folder


def written(study: Path, end: str) -> Path:
    """Write and commit the run of a study that measures so."""
    run = study / "run"
    run.write_text(STUDY % end)
    run.chmod(0o755)
    git = ["git", "-C", str(study.parents[1]), "-c", "user.name=A", "-c", "user.email=a@b.c"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "Begin"]):
        subprocess.run([*git, *words], check=True)
    return run


def test_changed_sources_are_refused_but_for_a_trial(study: Path) -> None:
    """A trial goes elsewhere."""
    run = written(study, "true")
    with (study.parent / "prelude.sh").open("a") as prelude:
        prelude.write("# changed\n")
    ended = subprocess.run([run], check=False, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "studies/prelude.sh" in ended.stderr
    subprocess.run([run, "--trial"], check=True, capture_output=True)
    assert (study / "table.csv").read_text() == "old\n"
    assert (study.parents[1] / "target/trial/one/table.csv").read_text() == "new\n"


def test_a_table_is_replaced_when_all_is_measured(study: Path) -> None:
    """And nothing else is left."""
    subprocess.run([written(study, "true")], check=True, capture_output=True)
    assert (study / "table.csv").read_text() == "new\n"
    assert sorted(file.name for file in study.iterdir()) == ["run", "table.csv"]


def test_a_failure_leaves_the_old_table(study: Path) -> None:
    """The exit code is that of what failed."""
    ended = subprocess.run([written(study, "false")], check=False, capture_output=True)
    assert ended.returncode == 1
    assert (study / "table.csv").read_text() == "old\n"


def test_ctrl_c_leaves_the_old_table(study: Path) -> None:
    """It comes while a table is being measured; the half of it goes."""
    words = ["env", "--default-signal=INT", str(written(study, "cat"))]
    measuring = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert measuring.stdout is not None
    assert measuring.stdout.readline() == "measuring\n"
    os.killpg(measuring.pid, signal.SIGINT)
    measuring.communicate()
    assert measuring.returncode == 130
    assert (study / "table.csv").read_text() == "old\n"
    assert sorted(file.name for file in study.iterdir()) == ["run", "table.csv"]
