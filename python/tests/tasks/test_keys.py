"""Keys: read and written by themselves, and as effects of tasks and jobs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings.tasks as tt
from tests.tasks import programs


@pytest.fixture(scope="module")
def executor() -> Iterator[tt.Executor]:
    """Make an executor whose store is in memory."""
    with tt.Executor(workers=1) as executor:
        yield executor


@pytest.fixture
def store(executor: tt.Executor) -> tt.Store:
    return tt.Store(executor=executor)


@pytest.fixture
def jobs(executor: tt.Executor) -> tt.Queue:
    return tt.Queue("jobs", executor=executor)


def test_keys_are_written_and_read(store: tt.Store) -> None:
    store["of/ä"] = {"n": [1, None]}
    store["of/b"] = 2
    store["other"] = "x"
    assert (store["of/ä"], store.get("of/b"), store.get("of/c", 7)) == ({"n": [1, None]}, 2, 7)
    assert dict(store.items("of/")) == {"of/b": 2, "of/ä": {"n": [1, None]}}
    assert [key for key in store if key.startswith("o")] == ["of/b", "of/ä", "other"]
    del store["of/b"]
    assert "of/b" not in store
    assert "other" in store
    for forget in (store.__getitem__, store.__delitem__):
        with pytest.raises(KeyError):
            forget("of/b")
    store.delete("of/b")


def test_who_expects_another_revision_writes_nothing(store: tt.Store) -> None:
    first = store.set("counter", 1, expect=0)
    found = store.read("counter")
    assert found == tt.Stored(1, first)
    second = store.set("counter", 2, expect=first)
    assert second > first
    for expect in (0, first):
        with pytest.raises(tt.ConflictError, match=f"it is at revision {second}"):
            store.set("counter", 3, expect=expect)
    assert store["counter"] == 2


def test_a_list_of_many_keys_has_all_of_them(store: tt.Store) -> None:
    for number in range(1_100):
        store[f"many/{number:04}"] = number
    assert list(store.items("many/")) == [(f"many/{n:04}", n) for n in range(1_100)]


def test_changes_come_in_their_order(store: tt.Store) -> None:
    store["seen/old"] = 1
    with store.watch("seen/") as changes:
        store["unseen"] = 0
        first = store.set("seen/new", [1])
        assert next(changes) == tt.Change("seen/new", [1], first, is_deleted=False)
        store["seen/old"] = None
        assert next(changes)[:2] == ("seen/old", None)
        del store["seen/old"]
        deleted = next(changes)
        assert (deleted.key, deleted.value, deleted.is_deleted) == ("seen/old", None, True)
    assert list(changes) == []


def test_who_wants_gets_the_present_values_first(store: tt.Store) -> None:
    revisions = {f"there/{n:04}": store.set(f"there/{n:04}", n) for n in range(1_050)}
    with store.watch("there/", present=True) as changes:
        present = [next(changes) for _ in revisions]
        assert {one.key: one.revision for one in present} == revisions
        store["there/0007"] = "again"
        assert next(changes)[:2] == ("there/0007", "again")


def test_a_watch_ends_when_nothing_changes_and_goes_on(store: tt.Store) -> None:
    changes = store.watch("quiet/", timeout=0.01)
    assert list(changes) == []
    store["quiet/1"] = 1
    assert [one.key for one in store.watch("quiet/", present=True, timeout=0.01)] == ["quiet/1"]
    # It may be told a moment after the write has returned.
    while not (told := list(changes)):
        pass
    assert [one.key for one in told] == ["quiet/1"]


HOLDER = """
import sys
import tidings.tasks as tt

store = tt.Store(sys.argv[1])
store["watched/before"] = 1
print("holds", flush=True)
sys.stdin.read()
"""


def test_a_watch_goes_on_when_the_holder_of_the_store_is_killed(tmp_path: Path) -> None:
    where = f"file:{tmp_path / 'store'}"
    holder = programs.start(HOLDER, tmp_path, where)
    assert programs.heard(holder) == "holds"
    store = tt.Store(where)
    with store.watch("watched/", present=True) as changes:
        assert next(changes).key == "watched/before"
        programs.kill(holder)
        del store["watched/before"]
        store["watched/after"] = 2
        # All changes that the new holder has, or what they came to: in the order of keys then.
        told = [next(changes), next(changes)]
    assert {(one.key, one.value, one.is_deleted) for one in told} == {
        ("watched/before", None, True),
        ("watched/after", 2, False),
    }


def test_values_are_bytes_or_pickles_if_asked(executor: tt.Executor, store: tt.Store) -> None:
    store["shared"] = [1, "ä"]
    assert tt.Store(executor=executor, serializer="bytes")["shared"] == '[1,"ä"]'.encode()
    pickled = tt.Store(executor=executor, serializer="pickle")
    pickled["set"] = {1, 2}
    assert pickled["set"] == {1, 2}


def test_what_is_outside_of_its_bounds_is_refused(store: tt.Store) -> None:
    for key in ("", "k" * 511):
        with pytest.raises(ValueError, match="1 to 510 bytes"):
            store[key] = 1
    with pytest.raises(ValueError, match="at most 16384 bytes"):
        store["long"] = "x" * 16_384


def writes(number: int) -> int:
    with tt.effect() as e:
        e.store[f"sum/{number}"] = tt.attempt()
        e.queue("next").put({"n": number})
    with pytest.raises(KeyError), tt.effect() as e:
        e.store["dropped"] = 1
        raise KeyError
    return number


def fails() -> None:
    with tt.effect() as e:
        e.store["failed"] = 1
    raise ValueError("after its effect")


def dies_first(file: Path) -> None:
    with tt.effect() as e:
        e.store["tried"] = tt.attempt()
        e.queue("tried").put(tt.attempt())
    if not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def test_effects_of_a_task_are_in_its_commit(executor: tt.Executor, store: tt.Store) -> None:
    assert executor.submit(writes, 3).result() == 3
    assert store["sum/3"] == 1
    assert "dropped" not in store
    with tt.Queue("next", executor=executor).claim() as job:
        assert job.data == {"n": 3}
    with pytest.raises(ValueError, match="after its effect"):
        executor.submit(fails).result()
    assert "failed" not in store


def test_of_a_task_that_runs_twice_one_try_writes(
    executor: tt.Executor, store: tt.Store, tmp_path: Path
) -> None:
    executor.submit(dies_first, tmp_path / "died").result()
    assert store["tried"] == 2
    queue = tt.Queue("tried", executor=executor)
    assert len(queue) == 1
    with queue.claim() as job:
        assert job.data == 2


def test_effects_of_a_job_are_in_its_commit(jobs: tt.Queue, store: tt.Store) -> None:
    jobs.put(1)
    with jobs.claim() as job:
        with job.effect() as e:
            e.store["job/1"] = "written"
            e.store["job/2"] = "not"
            del e.store["job/2"]
            e.queue("jobs").put(2, priority=1)
        with job.effect() as e:
            e.store["job/1"] = "written again"
        assert "job/1" not in store
    assert dict(store.items("job/")) == {"job/1": "written again"}
    with pytest.raises(RuntimeError, match="on purpose"), jobs.claim() as job:
        with job.effect() as e:
            e.store["job/2"] = job.data
        raise RuntimeError("on purpose")
    assert "job/2" not in store


def test_a_job_that_was_lost_writes_nothing(jobs: tt.Queue, store: tt.Store) -> None:
    jobs.put(1)
    with pytest.raises(tt.LostError), jobs.claim(lease="20ms") as late:
        with late.effect() as e:
            e.store["late"] = 1
            e.queue("late").put(1)
        jobs.claim().complete()
    assert "late" not in store


def test_an_effect_that_expects_another_revision_fails_the_job(
    jobs: tt.Queue, store: tt.Store
) -> None:
    revision = store.set("expected", 1)
    jobs.put(1)
    with jobs.claim() as job, job.effect() as e:
        e.store.set("expected", 2, expect=revision)
    jobs.put(1)
    with pytest.raises(tt.ConflictError), jobs.claim() as job, job.effect() as e:
        e.store.set("expected", 3, expect=revision)
        e.store["beside"] = 3
    assert store["expected"] == 2
    assert "beside" not in store
    assert len(jobs) == 0


def test_too_many_effects_are_refused(jobs: tt.Queue) -> None:
    jobs.put(1)
    with jobs.claim() as job:
        with pytest.raises(ValueError, match="at most 64 keys, not 65"), job.effect() as e:
            for number in range(65):
                e.store[str(number)] = 0
        with pytest.raises(ValueError, match="at most 1000 items"), job.effect() as e:
            for number in range(1_001):
                e.queue("many").put(number)


def test_outside_of_a_task_there_is_no_effect() -> None:
    with pytest.raises(RuntimeError, match="use Store and Queue"):
        tt.effect()
