"""Queues of data, between threads and processes."""

from __future__ import annotations

import concurrent.futures
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidings.tasks as tt
from tests.tasks import programs

CLAIMER = """
import sys
import tidings.tasks as tt

with tt.Queue("jobs", store="file:store").claim() as job:
    print(job.data, job.attempt, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def executor() -> Iterator[tt.Executor]:
    """Make an executor whose store is in memory, the current one."""
    with tt.Executor(workers=1) as executor:
        yield executor


@pytest.fixture
def queue(executor: tt.Executor) -> tt.Queue:
    return tt.Queue("jobs")


def test_items_come_by_priority_and_once(queue: tt.Queue) -> None:
    ids = [queue.put({"n": n}, priority=n % 2) for n in range(4)]
    assert len(set(ids)) == 4
    assert (len(queue), bool(queue)) == (4, True)
    seen = []
    for job in queue:
        seen.append(job.data["n"])
        assert (len(job.id), job.attempt, job.lost) == (32, 1, False)
        if len(seen) == 4:
            job.complete({"sum": sum(seen)})
            break
    assert seen == [1, 3, 0, 2]
    assert queue.overview() == tt.QueueState(0, 0, 0, 0)
    assert list(queue.jobs(timeout=0.01)) == []


def test_who_claims_waits_for_an_item(queue: tt.Queue) -> None:
    def claim() -> Any:
        with queue.claim() as job:
            return job.data

    with concurrent.futures.ThreadPoolExecutor() as pool:
        claims = [pool.submit(claim) for _ in range(4)]
        assert queue.put_all([[n, "ä"] for n in range(4)]) == 4
        assert sorted(one.result() for one in claims) == [[n, "ä"] for n in range(4)]
    with pytest.raises(TimeoutError):
        queue.claim(timeout=0.01)


def test_an_item_that_is_known_by_its_key_is_put_once(queue: tt.Queue) -> None:
    first = queue.put(1, key="a")
    assert queue.put(2, key="a") == first
    with queue.claim() as job:
        assert job.data == 1
    assert queue.put(3, key="a") == first, "also when it has ended"
    assert len(queue) == 0


def test_an_exception_fails_the_job_with_its_cause(queue: tt.Queue) -> None:
    queue.put("x", retries=1)
    for attempt in (1, 2):
        with pytest.raises(ZeroDivisionError), queue.claim() as job:
            assert job.attempt == attempt
            raise ZeroDivisionError("by zero")
    assert len(queue) == 0, "it is among the dead"


def test_a_job_that_is_given_back_or_dropped_goes_to_others(queue: tt.Queue) -> None:
    queue.put("x")
    queue.claim().give_back()
    for job in queue:
        assert job.attempt == 2
        break
    dropped = queue.claim()
    assert dropped.attempt == 3
    del dropped
    with queue.claim() as job:
        assert job.attempt == 4
    job.complete()
    job.fail("it has ended before")


def test_a_job_that_ends_within_its_block_has_ended(queue: tt.Queue) -> None:
    queue.put_all(["a", "b"])
    for number, job in enumerate(queue):
        with job:
            job.complete(number)
        if number == 1:
            break
    assert len(queue) == 0


def test_a_job_that_takes_longer_than_its_lease_is_lost(queue: tt.Queue) -> None:
    queue.put("x")
    with pytest.raises(tt.LostError, match="lease"), queue.claim(lease="20ms") as late:
        with queue.claim() as job:
            assert (job.data, job.attempt) == ("x", 2)
        assert late.lost
    assert not job.lost
    queue.put("y")
    with queue.claim(lease="1h") as job:
        assert job.data == "y"


@pytest.mark.parametrize("error", [tt.StoreError("the executor has ended"), tt.LostError("gone")])
def test_a_lease_may_end_with_the_executor(
    queue: tt.Queue, monkeypatch: pytest.MonkeyPatch, error: tt.TaskError
) -> None:
    def refuse(*_: Any) -> None:
        raise error

    queue.put("x")
    with pytest.raises(tt.LostError, match="lease"), queue.claim(lease="20ms") as late:
        monkeypatch.setattr(late._session, "ask", refuse)
        assert late._timer is not None
        # What its thread raises fails this test.
        late._timer.join()
        monkeypatch.undo()
        assert late.lost


def test_a_job_of_a_process_that_dies_goes_to_others(tmp_path: Path) -> None:
    queue = tt.Queue("jobs", store=f"file:{tmp_path / 'store'}")
    claimer = programs.start(CLAIMER, tmp_path)
    queue.put("precious")
    assert programs.heard(claimer) == "precious 1"
    programs.kill(claimer)
    with queue.claim() as job:
        assert (job.data, job.attempt) == ("precious", 2)


def test_a_process_that_ends_its_job_leaves_nothing(tmp_path: Path) -> None:
    queue = tt.Queue("jobs", store=f"file:{tmp_path / 'store'}")
    queue.put("x")
    claimer = programs.start(CLAIMER, tmp_path)
    assert programs.heard(claimer) == "x 1"
    claimer.communicate()
    assert (claimer.returncode, len(queue)) == (0, 0)


def test_the_bytes_are_those_of_other_languages(queue: tt.Queue) -> None:
    raw = tt.Queue("jobs", serializer="bytes")
    queue.put({"n": 3, "name": "ä"})
    with raw.claim() as job:
        assert job.data == '{"n":3,"name":"ä"}'.encode()
    raw.put(b"no json")
    with pytest.raises(ValueError, match="it is no json"), queue.claim() as job:
        _ = job.data
    assert len(queue) == 0, "it has failed"
    with pytest.raises(TypeError, match="serializer='pickle'"):
        queue.put({1, 2})
    with pytest.raises(TypeError, match="takes bytes, not str"):
        raw.put("text")
    with pytest.raises(ValueError, match="json, pickle, bytes"):
        tt.Queue("jobs", serializer="yaml")


def test_objects_and_long_data_go_as_pickles(executor: tt.Executor) -> None:
    queue = tt.Queue("objects", serializer="pickle")
    for value in ({1, 2}, list(range(20_000))):
        queue.put(value)
        with queue.claim() as job:
            assert job.data == value


def test_a_result_that_is_no_json_fails_the_job(queue: tt.Queue) -> None:
    queue.put(1)
    with pytest.raises(TypeError, match="not JSON"), queue.claim() as job:
        job.result = {1, 2}
    assert len(queue) == 0


def test_ctrl_c_ends_who_waits(tmp_path: Path) -> None:
    program = (
        "import signal, tidings.tasks as tt\n"
        "queue = tt.Queue('jobs', store='file:store')\n"
        "len(queue)\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "try:\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "    queue.claim()\n"
        "except KeyboardInterrupt:\n"
        "    print('ended')\n"
    )
    command = [sys.executable, "-c", program]
    environment = programs.environment()
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "ended\n"


def test_an_executor_that_ends_says_so() -> None:
    with tt.Executor(workers=1):
        queue = tt.Queue("jobs")
        waits = threading.Thread(target=lambda: failures.append(failure(queue)))
        failures: list[str] = []
        waits.start()
    waits.join()
    assert failures == ["the executor has ended"]
    with pytest.raises(tt.StoreError, match="has ended"):
        queue.put(1)


def failure(queue: tt.Queue) -> str:
    with pytest.raises(tt.StoreError) as raised:
        queue.claim()
    return str(raised.value)


def put_one() -> None:
    tt.Queue("jobs").put("from a task")


def test_a_task_reaches_the_queues_of_a_store_that_stays(tmp_path: Path) -> None:
    with tt.Executor(workers=1) as executor, pytest.raises(tt.StoreError, match="file:PATH"):
        executor.submit(put_one).result()
    with tt.Executor(f"file:{tmp_path / 'store'}", workers=1) as executor:
        executor.submit(put_one).result()
        with tt.Queue("jobs").claim() as job:
            assert job.data == "from a task"


def test_mistakes_are_told_at_once(executor: tt.Executor, queue: tt.Queue) -> None:
    with pytest.raises(ValueError, match="not both"):
        tt.Queue("jobs", store="file:x", executor=executor)
    with pytest.raises(ValueError, match="executor="):
        tt.Queue("jobs", store="memory:")
    with pytest.raises(tt.StoreError, match="is no store"):
        tt.Queue("jobs", store="tasks")
    with pytest.raises(ValueError, match="name of a queue"):
        tt.Queue("").put(1)
    with pytest.raises(ValueError, match="duration"):
        queue.put(1, delay="soon")
