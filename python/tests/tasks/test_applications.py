"""The applications of the examples, with the death of a worker where they are half done."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import tidings.tasks as tt

from . import programs

EXAMPLES = Path(__file__).parents[3] / "examples"

# The longest wait for what does not happen at all if it is wrong, in seconds.
WAIT = 300

TILES = int(os.environ.get("TIDINGS_CHOLESKY_TILES", "12"))
SIZE = 8

# A program with one worker, that ends with its standard input.
WORKER = """
import os, sys
import tidings.tasks as tt
os.environ["TIDINGS_TEST_WORKER"] = sys.argv[2]
with tt.Executor(sys.argv[1], workers=1, queue=sys.argv[3]):
    print("ready", flush=True)
    sys.stdin.read()
"""


def example(name: str) -> Iterator[ModuleType]:
    # Processes that call functions look for modules where this one does.
    with pytest.MonkeyPatch.context() as patch:
        place = EXAMPLES / name
        patch.syspath_prepend(place.parent)
        yield importlib.import_module(place.name)


@pytest.fixture(scope="module")
def cholesky() -> Iterator[ModuleType]:
    yield from example("cholesky")


@pytest.fixture(scope="module")
def matmul() -> Iterator[ModuleType]:
    yield from example("matmul")


@pytest.fixture(scope="module")
def mcphoton() -> Iterator[ModuleType]:
    yield from example("mcphoton/mcphoton")


@pytest.fixture(scope="module")
def nqueens() -> Iterator[ModuleType]:
    yield from example("nqueens")


class Begun(NamedTuple):
    """A call has begun: which, and of which worker."""

    call: int
    worker: str


class Journal:
    """What begins, in the order in which it begins: calls write to a pipe with a name."""

    def __init__(self, path: Path, is_time: Callable[[list[Begun]], bool]) -> None:
        os.mkfifo(path)
        self.path = path
        self.begun: list[Begun] = []
        self.has_come = threading.Event()
        self._is_time = is_time
        # As it writes too, there is no end while nobody else does.
        self._pipe = os.open(path, os.O_RDWR)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        with os.fdopen(os.dup(self._pipe), encoding="utf-8") as lines:
            for line in lines:
                call, worker = line.split()
                if worker == "end":
                    return
                self.begun.append(Begun(int(call), worker))
                if self._is_time(self.begun):
                    self.has_come.set()

    def close(self) -> list[Begun]:
        os.write(self._pipe, b"0 end\n")
        self._thread.join()
        os.close(self._pipe)
        return self.begun


def journaled(path: Path, call: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, and say so before."""
    worker = os.environ["TIDINGS_TEST_WORKER"]
    with path.open("w", encoding="utf-8") as pipe:
        pipe.write(f"{call} {worker}\n")
    return function(*arguments)


class Graph:
    """Submits calls that say when they begin, and knows which reads which."""

    def __init__(self, executor: tt.Executor, journal: Journal) -> None:
        self._executor, self._journal = executor, journal
        self._numbers: dict[tt.Future[Any], int] = {}
        self.readers: dict[int, set[int]] = {}

    def submit(self, function: Callable[..., Any], *arguments: Any) -> tt.Future[Any]:
        number = len(self._numbers)
        path = self._journal.path
        future = self._executor.submit(journaled, path, number, function, *arguments)
        self._numbers[future] = number
        self.readers[number] = set()
        for argument in arguments:
            if isinstance(argument, tt.Future):
                self.readers[self._numbers[argument]].add(number)
        return future


def two_workers(folder: Path, store: str, queue: str) -> list[Any]:
    """Start programs with a worker each, and return when both do tasks."""
    workers = [programs.start(WORKER, folder, store, name, queue) for name in ("first", "second")]
    assert [programs.heard(program) for program in workers] == ["ready"] * 2
    return workers


def expect_only_what_was_lost_again(begun: list[Begun], readers: dict[int, set[int]]) -> None:
    """Expect each call once, and again only what the second worker had begun and nobody read."""
    seen: dict[int, str] = {}
    for number, worker in begun:
        if number in seen:
            assert (seen[number], worker) == ("second", "first"), "only what was lost is done again"
            assert seen.keys().isdisjoint(readers[number]), "a reader had its result"
        seen[number] = worker
    assert seen.keys() == readers.keys()


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def has_begun(calls: int) -> Callable[[list[Begun]], bool]:
    """Whether so many calls have begun, the last one by the second worker."""
    return lambda begun: len(begun) >= calls and begun[-1].worker == "second"


def test_tiles_are_exact_and_no_result_that_was_read_is_made_again(
    cholesky: ModuleType, tmp_path: Path
) -> None:
    store = f"file:{tmp_path / 'store'}"
    whole = cholesky.matrix(TILES * SIZE)
    half = TILES * (TILES + 1) * (TILES + 2) // 12
    journal = Journal(tmp_path / "journal", has_begun(half))
    with tt.Executor(store, workers=0, queue="tiles") as executor:
        workers = two_workers(tmp_path, store, "tiles")
        try:
            graph = Graph(executor, journal)
            futures = cholesky.factor(graph.submit, cholesky.cut(whole, TILES))
            assert journal.has_come.wait(WAIT)
            programs.kill(workers[1])
            tiles = [[future.result(WAIT) for future in row] for row in futures]
        finally:
            begun = journal.close()
            for program in workers:
                programs.kill(program)
    lower = cholesky.joined(tiles)
    alone = cholesky.factor(called, cholesky.cut(whole, TILES))
    assert (lower == cholesky.joined(alone)).all()
    assert cholesky.error(whole, lower) < 1e-14
    expect_only_what_was_lost_again(begun, graph.readers)


def test_photons_of_a_flow_are_counted_once_though_a_worker_dies(
    mcphoton: ModuleType, tmp_path: Path
) -> None:
    """The digest is that of the photons traced by one process; 100 batches, and 13 + 2 + 1 sums."""
    store, slab, photons = f"file:{tmp_path / 'store'}", mcphoton.Slab(1.0, 0.5), 20_000
    journal = Journal(tmp_path / "journal", has_begun(50))
    with tt.Executor(store, workers=0, queue="photons") as executor:
        workers = two_workers(tmp_path, store, "photons")
        try:
            graph = Graph(executor, journal)
            counts = mcphoton.dataflow(graph, slab, photons, 200)
            assert journal.has_come.wait(WAIT)
            programs.kill(workers[1])
            found = counts.get(0)
        finally:
            begun = journal.close()
            for program in workers:
                programs.kill(program)
    assert mcphoton.digest(found) == mcphoton.digest(mcphoton.trace(slab, 0, photons))
    assert len(graph.readers) == 100 + 13 + 2 + 1
    expect_only_what_was_lost_again(begun, graph.readers)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_all_ways_are_counted_at_any_depth(nqueens: ModuleType, depth: int, tmp_path: Path) -> None:
    with tt.Executor(f"file:{tmp_path / 'store'}", workers=1) as executor:
        assert executor.submit(nqueens.count_shared, 6, depth).result(WAIT) == 4


def test_ways_are_those_that_are_known(nqueens: ModuleType) -> None:
    """The first of https://oeis.org/A000170."""
    assert [nqueens.count(size) for size in range(1, 9)] == [1, 0, 0, 2, 10, 4, 40, 92]


def test_blocks_that_pass_through_an_array_are_multiplied_though_a_worker_dies(
    matmul: ModuleType, tmp_path: Path
) -> None:
    store, blocks, size = f"file:{tmp_path / 'store'}", 4, 8
    with tt.Executor(store, workers=0):
        workers = two_workers(tmp_path, store, matmul.made.options.queue)
        try:
            cell = matmul.product(blocks, size)
            cell.version((0, 0)).result(WAIT)
            programs.kill(workers[1])
            found = [[cell.get(i, j) for j in range(blocks)] for i in range(blocks)]
        finally:
            for program in workers:
                programs.kill(program)
    expected = matmul.whole(0, blocks, size) @ matmul.whole(1, blocks, size)
    assert abs(matmul.np.block(found) - expected).max() < 1e-12
