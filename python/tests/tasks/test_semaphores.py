"""Counting semaphores, between processes that die and freeze."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings.tasks as tt
from tests.tasks import programs

HOLDER = """
import sys, time
import tidings.tasks as tt

permits = tt.Semaphore("licences", store="file:store").acquire(2)
print("holds", permits.lost, flush=True)
while not permits.lost:
    time.sleep(0.01)
print("lost", flush=True)
permits.release()
"""


@pytest.fixture
def executor() -> Iterator[tt.Executor]:
    """Make an executor whose store is in memory, the current one."""
    with tt.Executor(workers=1) as executor:
        yield executor


def test_permits_are_held_and_given_back(executor: tt.Executor) -> None:
    semaphore = tt.Semaphore("licences", 3)
    with semaphore.acquire(2) as held:
        assert (held.permits, held.lost) == (2, False)
        assert semaphore.overview() == tt.SemaphoreState(3, 2, 0)
        with pytest.raises(TimeoutError, match="no 2 permits of licences"):
            semaphore.acquire(2, timeout=0.01)
        with semaphore.acquire():
            assert semaphore.overview().held == 3
    held.release()
    with semaphore.acquire(3):
        assert semaphore.overview() == tt.SemaphoreState(3, 3, 0)


def test_a_block_holds_one_permit_also_within_another(executor: tt.Executor) -> None:
    semaphore = tt.Semaphore("licences", 2)
    with semaphore as held, semaphore:
        assert held.permits == 1
        assert semaphore.overview() == tt.SemaphoreState(2, 2, 0)
    assert semaphore.overview() == tt.SemaphoreState(2, 0, 0)


def test_who_no_longer_waits_gets_nothing(executor: tt.Executor) -> None:
    semaphore = tt.Semaphore("licences", 1)
    with semaphore.acquire(), pytest.raises(TimeoutError):
        semaphore.acquire(timeout=0.01)
    with semaphore.acquire() as held:
        assert semaphore.overview() == tt.SemaphoreState(1, 1, 0)
    del held


def test_permits_that_nobody_holds_go_to_others(executor: tt.Executor) -> None:
    semaphore = tt.Semaphore("licences", 1)
    dropped = semaphore.acquire()
    del dropped
    gc.collect()
    semaphore.acquire().release()


def test_permits_of_a_process_that_dies_go_to_others(tmp_path: Path) -> None:
    semaphore = tt.Semaphore("licences", 2, store=f"file:{tmp_path / 'store'}")
    holder = programs.start(HOLDER, tmp_path)
    assert programs.heard(holder) == "holds False"
    programs.kill(holder)
    with semaphore.acquire(2) as held:
        assert not held.lost


def test_a_process_that_was_frozen_learns_that_it_holds_nothing(tmp_path: Path) -> None:
    semaphore = tt.Semaphore("licences", 2, store=f"file:{tmp_path / 'store'}")
    holder = programs.start(HOLDER, tmp_path)
    assert programs.heard(holder) == "holds False"
    holder.send_signal(signal.SIGSTOP)
    with semaphore.acquire():
        holder.send_signal(signal.SIGCONT)
        assert programs.heard(holder) == "lost"
    holder.communicate()
    assert holder.returncode == 0


def test_mistakes_are_told_at_once(executor: tt.Executor) -> None:
    with pytest.raises(tt.StoreError, match="no such semaphore"):
        tt.Semaphore("none").acquire()
    with pytest.raises(tt.StoreError, match="no semaphore none"):
        tt.Semaphore("none").overview()
    semaphore = tt.Semaphore("licences", 2)
    with pytest.raises(ValueError, match="1 to 2 are possible"):
        semaphore.acquire(3)
    tt.Semaphore("licences", 3)
    semaphore.acquire(3).release()
