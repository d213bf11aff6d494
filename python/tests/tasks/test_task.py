"""Functions that know how they are to be done."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import tidings.tasks as tt
from tidings.tasks import options, pickles


@tt.task
def doubled(number: int) -> int:
    """Double."""
    return 2 * number


@tt.task(retries=2, backoff="1ms")
def failing(file: Path, times: int) -> int:
    """Fail so many times."""
    with file.open("a") as log:
        log.write("x")
    if file.stat().st_size <= times:
        raise OSError("not yet")
    return tt.attempt()


@tt.task(retries=1, backoff="1ms")
def killed(file: Path) -> int:
    """End its process the first time."""
    if not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return tt.attempt()


@tt.task(timeout=0.1, grace=0.1)
def endless() -> None:
    """Never return."""
    while True:
        pass


@tt.task(key=lambda name, folder: name)
def once(name: str, folder: Path) -> str:
    """Leave a trace of each call."""
    with (folder / name).open("a") as log:
        log.write("x")
    return name


def test_a_task_is_a_function_as_before() -> None:
    assert doubled(3) == 6
    assert (doubled.__name__, doubled.__doc__) == ("doubled", "Double.")
    assert pickles.loads(pickles.dumps(doubled)) is doubled


def test_tasks_go_to_the_executor_that_was_entered_last() -> None:
    with tt.Executor(workers=1) as executor:
        assert tt.current_executor() is executor
        assert doubled.submit(4).result() == 8
        assert list(doubled.map(range(5))) == [0, 2, 4, 6, 8]
        assert list(doubled.map(range(5), chunksize=2)) == [0, 2, 4, 6, 8]
        assert doubled.submit(doubled.submit(1)).result() == 4


def test_a_task_of_the_main_program_goes_by_value() -> None:
    def local(number: int) -> int:
        return number + 1 if number > 5 else local_task(number + 10)

    local_task = tt.task(local)
    with tt.Executor(workers=1):
        assert local_task.submit(1).result() == 12


def test_tries_are_repeated(tmp_path: Path) -> None:
    with tt.Executor(workers=1):
        assert failing.submit(tmp_path / "twice", 2).result() == 3
        with pytest.raises(OSError, match="not yet") as raised:
            failing.submit(tmp_path / "always", 9).result()
        assert isinstance(raised.value.__cause__, tt.RemoteTraceback)
        assert raised.value.__cause__.attempts == 3
        assert killed.submit(tmp_path / "killed").result() == 2


def test_a_task_over_its_time_is_ended() -> None:
    with tt.Executor(workers=1):
        with pytest.raises(tt.RemoteError) as raised:
            endless.submit().result()
        assert raised.value.cause == "time"
        assert doubled.submit(1).result() == 2


def test_one_key_is_one_task(tmp_path: Path) -> None:
    store = f"file:{tmp_path / 'store'}"
    for _ in range(2):
        with tt.Executor(store, workers=1):
            futures = [once.submit("a", tmp_path) for _ in range(3)]
            assert tt.gather(futures) == ["a"] * 3
    assert (tmp_path / "a").read_text() == "x"


def test_what_is_needed_is_checked_when_it_is_said() -> None:
    with pytest.raises(ValueError, match="no amount"):
        tt.task(need={"cpus": "many"})(len)
    with pytest.raises(ValueError, match="no duration"):
        tt.task(timeout="soon")(len)
    with pytest.raises(TypeError, match=r"need is a mapping such as .*, not \['cpus'\]"):
        tt.task(need=["cpus"])(len)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"retries is a whole number from 0 to 65535, not '2'"):
        tt.task(retries="2")(len)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"priority is a whole number from -32768 to 32767"):
        tt.task(priority=1 << 15)(len)
    for where in ("nonsense ===", "no_such_reading < 2"):
        with pytest.raises(ValueError, match="`where`"):
            tt.task(where=where)(len)
    assert tt.task(need={"cpus": 0.5, "mem": "8GiB"})(len)([1]) == 1


@pytest.mark.parametrize(
    ("duration", "ms"), [(None, 0), (0, 0), (1.5, 1500), ("10m", 600_000), ("250 ms", 250)]
)
def test_durations(duration: float | str | None, ms: int) -> None:
    assert options.milliseconds(duration) == ms


@pytest.mark.parametrize("duration", ["", "10", "ten s", "1.2.3s", -1, float("nan")])
def test_no_durations(duration: float | str) -> None:
    with pytest.raises(ValueError, match=r"duration|float"):
        options.milliseconds(duration)
