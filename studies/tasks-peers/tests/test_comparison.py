"""The plan of the comparison, and the ends of what it starts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import comparison
import pytest
import systems
from processes import START_S, Crew, Group, NotReadyError, tree, until

ALL = ["ProcessPoolExecutor", "Tidings", "NATS", "Ray", "Dask", "HyperQueue"]


def test_every_system_gets_its_repetitions() -> None:
    """Each cell once, those of one repetition before those of the next."""
    cells = list(comparison.cells(list(comparison.PLAN), ALL, None))
    counted = Counter((work, system) for _, work, system in cells)
    planned = {(w, s): n for w, named in comparison.PLAN.items() for s, n in named.items()}
    assert counted == planned
    assert len(set(cells)) == len(cells)
    assert [cell[0] for cell in cells] == sorted(cell[0] for cell in cells)
    assert {system for _, _, system in cells} <= set(systems.PLACES)


def test_fewer_repetitions_and_systems_can_be_asked_for() -> None:
    """By number, and by how names begin."""
    cells = list(comparison.cells(["frozen"], ["Tidings"], 1))
    assert cells == [(1, "frozen", "Tidings, workers")]
    assert list(comparison.cells(["frozen"], [], None)) == []


def test_systems_take_turns_in_another_order() -> None:
    """Two repetitions have the same systems, and not the same order."""
    cells = list(comparison.cells(["steady"], ALL, None))
    orders = [[s for r, _, s in cells if r == repetition] for repetition in (1, 2)]
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]


def test_what_a_crew_has_started_ends_with_it(tmp_path: Path) -> None:
    """A process below one of the crew is of that one, and ends too."""
    crew = Crew(tmp_path)
    shell = crew.start("sh", "-c", "sleep 600 & wait")
    until(lambda: len(tree(shell.pid)) == 2, START_S, "the shell starts its child")
    child = tree(shell.pid)[1]
    assert crew.owner(child) == shell.pid
    with pytest.raises(NotReadyError, match="process 1 is of no process"):
        crew.owner(1)
    crew.end()
    until(lambda: ended(child), START_S, "the child ends")
    assert shell.poll() is not None


def ended(pid: int) -> bool:
    """Return whether a process is a zombie, or gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() == b""
    except OSError:
        return True


def test_a_group_goes_with_those_that_were_made_in_it(tmp_path: Path) -> None:
    """Folders stand for groups: those of a kernel are removed with the files in them."""
    group = Group(tmp_path / "cell")
    (tmp_path / "cell/worker/task").mkdir(parents=True)
    assert [path.name for path in group.below()] == ["task", "worker", "cell"]
    assert Group(None).below() == []
