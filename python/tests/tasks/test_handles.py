"""Large blobs by handle: between threads, tasks, processes, and when their owner dies."""

from __future__ import annotations

import contextlib
import gc
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import tidings.tasks as tt
from tests.tasks import programs

OWNER = """
import sys
import tidings.tasks as tt

handle = tt.put(b"kept " * 100_000, store="file:store")
tt.Space("s", store="file:store").put("block", handle)
print("has put", flush=True)
sys.stdin.readline()
"""


READER = """
import sys
import tidings.tasks as tt

tt.put(b"nobody's", store="file:store")
print("has put", flush=True)
sys.stdin.readline()
"""


# What happens in a memory of 1 MiB: full at first, too small, full again, and with room.
FULL = """
import os
from pathlib import Path
import tidings.tasks as tt

ballast = Path("small/ballast")


def fill():
    with ballast.open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def refused(data):
    try:
        print(tt.put(data))
    except tt.StoreError as error:
        print(error)
    assert not list(Path("small/shared").glob("*/new/*")), "something was left behind"


def put(length):
    return tt.put(bytes(length))


with tt.Executor("file:store", workers=1) as executor:
    fill()
    refused(b"nothing fits")
    ballast.unlink()
    kept = tt.put(b"kept" * 50_000)
    refused(bytes(2 << 20))
    fill()
    refused(b"nothing fits")
    try:
        tt.draft(100_000, "u1")
    except tt.NoSpaceError as error:
        assert error.nbytes == 100_000, error
    assert not list(Path("small/shared").glob("*/new/*")), "something was left behind"
    print(refused := executor.submit(put, 100_000).exception())
    assert isinstance(refused, tt.NoSpaceError) and refused.nbytes == 100_000
    assert bytes(kept.get()) == b"kept" * 50_000
    assert executor.submit(len, b"small").result() == 5
    ballast.unlink()
    assert bytes(tt.put(b"fits").get()) == b"fits"
    print(executor.submit(put, 100_000).result().nbytes)
"""


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder in which the large blobs of a test lie."""
    folder = tmp_path / "shared"
    monkeypatch.setenv("TIDINGS_SHARED", str(folder))
    return folder


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[tt.Executor]:
    """Make an executor whose store is a file, the current one."""
    with tt.Executor(f"file:{tmp_path / 'store'}", workers=1) as executor:
        yield executor


def blobs(shared: Path) -> list[Path]:
    """Return the files of large blobs."""
    return list(shared.glob("*/data/*"))


def mapped(address: int) -> int:
    """Return the inode of the file that is mapped at an address of this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split()
        start, end = (int(number, 16) for number in fields[0].split("-"))
        if start <= address < end:
            return int(fields[4])
    raise AssertionError("nothing is mapped there")


def test_an_array_is_mapped_and_not_copied(executor: tt.Executor, shared: Path) -> None:
    array = numpy.arange(300_000, dtype=numpy.float64).reshape(300, 1_000)
    handle = tt.put(array)
    (file,) = blobs(shared)
    assert file.stat().st_size == handle.nbytes == array.nbytes
    read = handle.array()
    assert read.dtype == array.dtype
    assert (read == array).all()
    assert not read.flags.writeable
    assert mapped(read.ctypes.data) == file.stat().st_ino
    assert handle.where
    assert handle.get().shape == array.shape
    assert handle.array("<u8").shape == (300_000,)


def test_bytes_and_what_is_not_contiguous(executor: tt.Executor) -> None:
    assert bytes(tt.put(b"abc").get()) == b"abc"
    assert bytes(tt.put(b"").get()) == b""
    array: Any = numpy.arange(12).reshape(3, 4)
    assert (tt.put(array[:, ::2]).array() == array[:, ::2]).all()
    for dtype in ("f2", ">f4", "c16", "?", "i1"):
        array = numpy.array([[0, 1, 2], [3, 4, 5]], dtype)
        found = tt.put(array).array()
        assert found.dtype == array.dtype
        assert (found == array).all()
    for array in (numpy.array(3.5), numpy.zeros((0, 3)), numpy.zeros(0)):
        found = tt.put(array).array()
        assert (found.shape, found.dtype) == (array.shape, array.dtype)
    rows: Any = tt.put(numpy.ones((2, 3))).get().tolist()
    assert rows == [[1.0] * 3] * 2
    for wrong in ("text", numpy.array([object()])):
        with pytest.raises(TypeError):
            tt.put(wrong)


def test_a_handle_is_a_field_of_a_tuple(executor: tt.Executor, shared: Path) -> None:
    space = tt.Space("pde")
    array = numpy.full((64, 64), 0.5)
    space.put("block", 3, 4, tt.put(array))
    gc.collect()
    assert len(blobs(shared)) == 1
    found = space.read("block", int, int, tt.Handle)
    assert isinstance(found[3], tt.Handle)
    with space.pull("block", 3, tt.ANY, tt.ANY) as pulled:
        handle = pulled[3]
        assert isinstance(handle, tt.Handle)
        assert handle == found[3]
        assert (handle.array(float, (64, 64)) == array).all()
        space.put("next", handle)
    assert [one[0] for one in space] == ["next"]
    assert space.try_read("next", handle) == ("next", handle)


def test_a_draft_is_filled_in_place_and_put(executor: tt.Executor, shared: Path) -> None:
    draft = tt.draft((64, 32), numpy.float32, executor=executor)
    assert (draft.array == 0).all()
    numpy.multiply(numpy.ones((64, 32)), 0.5, out=draft.array)
    address = draft.array.__array_interface__["data"][0]
    written = mapped(address)
    handle = draft.put()
    assert [file.stat().st_ino for file in blobs(shared)] == [written]  # it is no copy
    assert (handle.array() == 0.5).all()
    assert handle.array().dtype == numpy.float32
    assert handle.array().shape == (64, 32)
    assert executor.submit(total, handle).result() == 1_024
    assert handle == tt.put(numpy.full((64, 32), 0.5, numpy.float32), executor=executor)
    for again in (draft.put, lambda: draft.array):
        with pytest.raises(ValueError, match="was put, or given up"):
            again()


def test_a_draft_that_somebody_could_write_to_is_not_put(executor: tt.Executor) -> None:
    draft = tt.draft(1_000, executor=executor)
    array = draft.array
    array[:] = 2
    with pytest.raises(ValueError, match="could write to what is put"):
        draft.put()
    del array
    assert draft.put().array().sum() == 2_000


def test_a_draft_may_be_put_without_its_hash(executor: tt.Executor, shared: Path) -> None:
    """It is a blob like others, but equal bytes are not the same one."""
    handles = []
    for _ in range(2):
        draft = tt.draft(100_000, executor=executor)
        draft.array[:] = 0.5
        handles.append(draft.put(hashed=False))
    assert handles[0] != handles[1]
    assert len(blobs(shared)) == 2
    space = tt.Space("s", executor=executor)
    space.put("drawn", handles[0])
    taken = space.take("drawn", tt.Handle)[1]
    assert isinstance(taken, tt.Handle)
    assert taken.array(float).sum() == 50_000
    assert executor.submit(total, handles[1]).result() == 50_000


def test_a_draft_that_is_given_up_leaves_nothing(executor: tt.Executor, shared: Path) -> None:
    with tt.draft(1_000, executor=executor) as draft:
        draft.array[:] = 1
    del draft
    dropped = tt.draft(1_000, executor=executor)
    del dropped
    gc.collect()
    assert not [*blobs(shared), *shared.glob("*/new/*")]
    for shape, dtype, error in ((0, float, ValueError), (4, object, TypeError)):
        with pytest.raises(error):
            tt.draft(shape, dtype, executor=executor)


def test_what_nobody_needs_is_freed(tmp_path: Path, shared: Path) -> None:
    with tt.Executor(f"file:{tmp_path / 'store'}", workers=1) as executor:
        space = tt.Space("s", executor=executor)
        space.put("named", tt.put(b"named", executor=executor))
        del space
        tt.put(b"nobody's", executor=executor)
        gc.collect()
        assert len(blobs(shared)) == 2
    assert [file.read_bytes() for file in blobs(shared)] == [b"named"]


def test_a_store_in_memory_leaves_nothing(shared: Path) -> None:
    with tt.Executor(workers=1) as executor:
        handle = tt.put(numpy.arange(1_000), executor=executor)
        assert executor.submit(total, handle).result() == 499_500
        del handle
    assert not list(shared.glob("*"))


def total(handle: tt.Handle) -> int:
    """Return the sum of an array."""
    return int(handle.array().sum())


def double(handle: tt.Handle) -> tt.Handle:
    """Return a new array for an array."""
    return tt.put(handle.array() * 2)


def test_tasks_take_and_return_handles(executor: tt.Executor, shared: Path) -> None:
    array = numpy.arange(100_000)
    doubled = executor.submit(double, tt.put(array))
    assert executor.submit(total, doubled).result() == 2 * array.sum()
    assert (doubled.result().array() == array * 2).all()
    # Nobody but the record of the first task needs its result any more.
    assert len(blobs(shared)) == 2


def test_a_handle_can_be_hidden_in_an_argument(executor: tt.Executor) -> None:
    futures = [executor.submit(totals, {"all": [tt.put(numpy.arange(n))]}) for n in (10, 20)]
    assert [future.result() for future in futures] == [45, 190]


def totals(by_name: dict[str, list[tt.Handle]]) -> int:
    """Return the sum of some arrays."""
    return sum(total(one) for some in by_name.values() for one in some)


def test_a_handle_whose_owner_is_gone_says_whose_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDINGS_SHARED", str(tmp_path / "of-the-owner"))
    owner = programs.start(OWNER, tmp_path)
    monkeypatch.setenv("TIDINGS_SHARED", str(shared))
    assert programs.heard(owner) == "has put"
    programs.kill(owner)
    handle = tt.Space("s", store="file:store").take("block", tt.Handle)[1]
    assert isinstance(handle, tt.Handle)
    with pytest.raises(tt.StoreError, match=r"500000 bytes that was put on .* is gone"):
        handle.get()


def test_a_program_ends_though_nobody_coordinates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: Path
) -> None:
    monkeypatch.setenv("TIDINGS_SHARED", str(tmp_path / "of-the-owner"))
    owner = programs.start(OWNER, tmp_path)
    monkeypatch.setenv("TIDINGS_SHARED", str(shared))
    assert programs.heard(owner) == "has put"
    reader = programs.start(READER, tmp_path)
    assert programs.heard(reader) == "has put"
    # Stopped, it has the store still, so nobody takes over.
    owner.send_signal(signal.SIGSTOP)
    try:
        reader.communicate("\n", timeout=60)
    finally:
        programs.kill(owner)
        programs.kill(reader)
    assert reader.returncode == 0


# Two workers meet, then blobs are put for which one of both has no room.
ELSEWHERE = """
import os
import tidings.tasks as tt


def meet(mode):
    with open("meeting", mode):
        pass


def put(length):
    return tt.put(bytes(length)).nbytes, os.environ["TIDINGS_SHARED"], tt.attempt()


with tt.Executor("file:store", workers=0) as executor:
    tt.gather(executor.submit(meet, "r"), executor.submit(meet, "w"))
    for found in tt.gather([executor.submit(put, 2 << 20) for _ in range(4)]):
        print(*found)
"""


def test_a_task_whose_put_finds_no_room_is_done_by_another_host(tmp_path: Path) -> None:
    """It failed, though another worker had room."""
    (tmp_path / "small").mkdir()
    programs.pipe(tmp_path / "meeting")
    command = [str(programs.tidings()), "worker", "--store", "file:store", "--slots", "1"]
    command += ["--python", sys.executable]
    mounted = 'hostname small && mount -t tmpfs -o size=1024k none small && exec "$@"'
    alone = ["unshare", "--user", "--map-root-user", "--mount", "--uts", "sh", "-c", mounted, "-"]
    with contextlib.ExitStack() as ends:
        for words, shared in (([*alone, *command], "small/in"), (command, "large")):
            environment = programs.environment(TIDINGS_SHARED=str(tmp_path / shared))
            quiet = subprocess.DEVNULL
            worker = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=quiet)
            ends.callback(worker.wait)
            ends.callback(worker.terminate)
        program = programs.start(ELSEWHERE, tmp_path)
        lines = program.communicate()[0].splitlines()
    found = [line.split() for line in lines]
    assert [row[:2] for row in found] == [[str(2 << 20), str(tmp_path / "large")]] * 4
    assert any(int(attempt) > 1 for *_, attempt in found)


def test_memory_that_is_full_is_an_error_that_says_where_and_loses_nothing(tmp_path: Path) -> None:
    """A ``put`` that found no room said so without the folder, and without what helps."""
    (tmp_path / "small").mkdir()
    mounted = 'mount -t tmpfs -o size=1024k none small && exec "$0" -c "$1"'
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted]
    run = subprocess.run(
        [*alone, sys.executable, FULL],
        cwd=tmp_path,
        env=programs.environment(TIDINGS_SHARED=str(tmp_path / "small/shared")),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    *refusals, last = run.stdout.splitlines()
    assert last == "100000"
    assert len(refusals) == 4
    for said in refusals:
        for part in ("No space", str(tmp_path / "small"), "nothing was left", "TIDINGS_SHARED"):
            assert part in said
