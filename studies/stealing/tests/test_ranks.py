"""The cases of ranks with real messages."""

from __future__ import annotations

from pathlib import Path

import pytest
import ranks


def program(folder: Path, *, prints: str, monkeypatch: pytest.MonkeyPatch) -> ranks.Program:
    """Return a program whose launcher notes each run and prints a line."""
    launcher = folder / "smpirun"
    launcher.write_text(f"#!/bin/sh\necho run >>{folder}/runs\necho '{prints}'\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    for name in ("program", "libtidings-applications.smpi.so"):
        (folder / name).write_text(prints)
    return ranks.Program(folder / "program", folder / "kept")


def machine(folder: Path) -> ranks.Machine:
    """Return a machine of two ranks."""
    (folder / "torus.xml").write_text("<platform/>")
    return ranks.Machine(folder / "torus.xml", folder / "torus.hosts", 2)


def test_what_was_run_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the program or its arguments are others."""
    first = program(tmp_path, prints='{"tasks":2000}', monkeypatch=monkeypatch)
    for said in (["a"], ["a"], ["b"]):
        assert ranks.phases(first, machine(tmp_path), said) == [{"tasks": 2000}]
    other = program(tmp_path, prints='{"tasks": 2000}', monkeypatch=monkeypatch)
    ranks.phases(other, machine(tmp_path), ["a"])
    assert (tmp_path / "runs").read_text().split() == ["run"] * 3


def test_lost_tasks_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A phase has a thousand tasks a rank."""
    short = program(tmp_path, prints='{"tasks":1999}', monkeypatch=monkeypatch)
    with pytest.raises(ValueError, match="1999 of 2000 tasks ran"):
        ranks.phases(short, machine(tmp_path), ["a"])


def test_many_ranks_do_not_gossip_often() -> None:
    """Each network has each policy, once."""
    cases = list(ranks.cases([64, 1024, 4096]))
    assert len(cases) == len(set(cases)) == 2 * (3 + 3 + 2) + 1 + 3
    between = {(case.network, case.ranks) for case in cases if not case.progress_us}
    assert between == {("torus", 64)}
    units = {(case.ranks, case.unit_ms) for case in cases if case.victims == "known"}
    assert units == {(64, 10), (1024, 10), (4096, 40)}
    assert all(case.unit_ms == 0 for case in cases if case.victims != "known")


def test_what_is_known_often_is_a_table_of_its_own() -> None:
    """At the unit of all smaller ones."""
    (case,) = ranks.knowing([4096])
    assert (case.network, case.victims, case.unit_ms) == ("torus", "known", 10)
    assert ranks.words(case)[-2:] == ["--unit-us", "10000"]


def test_a_row_counts_steals_that_were_asked_for_and_pushed() -> None:
    """Both brought tasks."""
    names = ("ranks", "tasks", "attempts", "moved", "messages", "bytes")
    line = {**dict.fromkeys(names, 7), "steals": 2, "pushed": 3, "seconds": 1, "efficiency": 0.5}
    row = ranks.row(ranks.Case("torus", 7, 1000, "lifelines"), line)
    assert (row.steals, row.efficiency, row.progress_us) == (5, "0.5000", 1000)
