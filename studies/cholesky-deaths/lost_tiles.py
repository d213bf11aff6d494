"""Factors a matrix on two nodes, kills one of them, and counts what is done again.

    studies/cholesky-deaths/run

Each node has processes, a name of its host and a folder of outputs of its own; with its death all
of them end. The outputs stay on the node that made them. Written are `deaths.csv`, a row for each
run, and its manifest.

Exit status: 0 done, 1 a result is wrong or a call was done again for nothing, 2 wrong arguments,
130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cholesky
import numpy as np
import tidings.tasks as tt
from drawing.manifest import Table, first_line
from oracle import Known, done_again
from tile_calls import Line, lines, told

HERE = Path(__file__).resolve().parent
COLUMNS = (
    *("seed", "share", "node", "calls", "begun", "in_flight", "lost", "needed", "oracle", "again"),
    *("beyond", "error", "first_s", "again_s", "seconds", "lost_s"),
)
NODES = ("n1", "n2")
PAUSE_S = 0.002
WAIT_S = 300.0


class WrongError(Exception):
    """A result is wrong, or something was done again for nothing."""


class Sizes(NamedTuple):
    """What is factored: tiles of a row, numbers of a row of a tile, and how long a call takes."""

    tiles: int = 32
    size: int = 48
    """So that an output is too long for a record (16 KiB), and stays on its node."""
    least_s: float = 0.005
    workers: int = 2

    @property
    def calls(self) -> int:
        """How many there are."""
        return self.tiles * (self.tiles + 1) * (self.tiles + 2) // 6


class Death(NamedTuple):
    """Which node dies, and when so many calls have begun."""

    node: str
    calls: int


class AtDeath(NamedTuple):
    """What was known just before a node died, and when it did, as lines say it."""

    lines: list[Line]
    at_s: float


class Ran(NamedTuple):
    """What a run came to."""

    factor: cholesky.Tile
    readers: dict[int, set[int]]
    wanted: set[int]
    """The calls that make the factor."""
    lines: list[Line]
    begun_s: float
    seconds: float
    at_death: AtDeath | None


def environment(folder: Path, name: str) -> dict[str, str]:
    """Return the variables of a node: what it keeps is its own, and BLAS has one thread."""
    own = folder / name
    own.mkdir()
    (own / "runtime").mkdir(mode=0o700)
    path = os.environ.get("LOST_TILES_PATH", os.pathsep.join(sys.path))
    return {
        **os.environ,
        "PYTHONPATH": path,
        "OPENBLAS_NUM_THREADS": "1",
        "TMPDIR": str(own),
        "XDG_CACHE_HOME": str(own / "cache"),
        "TIDINGS_RUNTIME_DIR": str(own / "runtime"),
    }


@contextlib.contextmanager
def nodes(folder: Path, address: str, workers: int) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Start nodes, wait until all work, and end them at last."""
    started = {}
    # With the first process of a node all others of it are killed.
    own = ["unshare", "--user", "--map-root-user", "--uts", "--pid", "--fork", "--kill-child"]
    own += ["--mount-proc", "sh", "-c", 'hostname "$0" && exec "$@"']
    try:
        for name in NODES:
            words = [sys.executable, str(HERE / "tile_node.py"), address, str(folder / "keys")]
            started[name] = subprocess.Popen(
                [*own, name, *words, str(workers)],
                env=environment(folder, name),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        for node in started.values():
            assert node.stdout is not None
            if node.stdout.readline() != "works\n":
                raise WrongError("a node does not begin")
        yield started
    finally:
        for node in started.values():
            node.kill()
            node.communicate()


class Graph:
    """Submits calls that tell of themselves, and knows which reads which."""

    def __init__(self, file: Path, least_s: float) -> None:
        self._file, self._least_s = file, least_s
        self.futures: dict[tt.Future[Any], int] = {}
        self.readers: dict[int, set[int]] = {}

    def submit(self, function: Callable[..., object], *arguments: object) -> tt.Future[Any]:
        """Submit a call."""
        number = len(self.futures)
        self.readers[number] = set()
        for argument in arguments:
            if isinstance(argument, tt.Future):
                self.readers[self.futures[argument]].add(number)
        future = told.submit(self._file, number, self._least_s, function, *arguments)
        self.futures[future] = number
        return future


def kill(death: Death, file: Path, started: dict[str, subprocess.Popen[str]]) -> AtDeath:
    """Kill a node when it is time; return what was known just before."""
    end = time.monotonic() + WAIT_S
    while sum(line.is_begin for line in lines(file)) < death.calls:
        if time.monotonic() > end:
            raise WrongError(f"{death.calls} calls have not begun within {WAIT_S} s")
        time.sleep(PAUSE_S)
    known = lines(file)
    started[death.node].send_signal(signal.SIGKILL)
    return AtDeath(known, time.monotonic())


def run(sizes: Sizes, death: Death | None) -> Ran:
    """Factor the matrix, with a death or without one."""
    with tempfile.TemporaryDirectory(prefix="lt-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "keys").write_text(f"{base64.b64encode(os.urandom(32)).decode()}\n")
        keys, file = str(folder / "keys"), folder / "lines"
        tiles = cholesky.cut(cholesky.matrix(sizes.tiles * sizes.size), sizes.tiles)
        store = f"file:{folder / 'store'}"
        with (
            tt.Executor(store, workers=0, keys=keys, listen="127.0.0.1:0") as executor,
            nodes(folder, f"tcp://{executor.endpoint}", sizes.workers) as started,
        ):
            begun_s = time.monotonic()
            graph = Graph(file, sizes.least_s)
            futures = cholesky.factor(graph.submit, tiles)
            known = kill(death, file, started) if death else None
            made = [[future.result(WAIT_S) for future in row] for row in futures]
            seconds = time.monotonic() - begun_s
        whole = cholesky.joined(made)
        wanted = {graph.futures[future] for row in futures for future in row}
        return Ran(whole, graph.readers, wanted, lines(file), begun_s, seconds, known)


def row(sizes: Sizes, death: Death, ran: Ran, calm: Ran) -> dict[str, object]:
    """Say what a death came to, beside a run without one, and check it."""
    known = ran.at_death
    assert known is not None
    there = [line for line in ran.lines if line.node == death.node]
    elsewhere = {one.call for one in known.lines if one.is_begin and one.node != death.node}
    begun = {line.call for line in there if line.is_begin}
    ended = {line.call for line in there if not line.is_begin}
    again = {
        call
        for call, times in Counter(line.call for line in ran.lines if line.is_begin).items()
        if times > 1
    }
    expected = done_again(Known(ran.readers, begun, ended, elsewhere, ran.wanted))
    beyond = again - expected
    whole = cholesky.matrix(sizes.tiles * sizes.size)
    if not np.array_equal(ran.factor, calm.factor):
        raise WrongError(f"{death}: another factor than without a death")
    if beyond:
        raise WrongError(f"{death}: done again for nothing: {sorted(beyond)}")
    rest = sizes.calls - sum(not line.is_begin for line in known.lines)
    # Half of the workers take twice as long for what is left.
    ideal_s = known.at_s - ran.begun_s + 2 * rest * calm.seconds / sizes.calls
    first_s, again_s = spent(ran.lines, again, death.node, known.at_s)
    return {
        "calls": sizes.calls,
        "begun": len({line.call for line in known.lines}),
        "in_flight": len(begun - ended),
        "lost": len(ended),
        "needed": len(expected & ended),
        "oracle": len(expected),
        "again": len(again),
        "beyond": len(beyond),
        "error": f"{cholesky.error(whole, ran.factor):.1e}",
        "first_s": f"{first_s:.3f}",
        "again_s": f"{again_s:.3f}",
        "seconds": f"{ran.seconds:.2f}",
        "lost_s": f"{ran.seconds - ideal_s:.2f}",
    }


def spent(said: list[Line], again: set[int], dead: str, at_s: float) -> tuple[float, float]:
    """Return how long after a death the first call is begun again, and what all of them took."""
    own = [line for line in said if line.call in again and line.node != dead]
    first_s = min((line.at_s for line in own), default=at_s) - at_s
    return first_s, sum(-line.at_s if line.is_begin else line.at_s for line in own)


def measured(sizes: Sizes, seeds: int, shares: list[float]) -> Iterator[dict[str, object]]:
    """Yield a row for each seed and share of the calls at which a node dies."""
    calm = run(sizes, None)
    alone = cholesky.factor(
        lambda function, *arguments: function(*arguments),
        cholesky.cut(cholesky.matrix(sizes.tiles * sizes.size), sizes.tiles),
    )
    if not np.array_equal(calm.factor, cholesky.joined(alone)):
        raise WrongError("another factor than in one process")
    for seed in range(1, seeds + 1):
        chance = random.Random(seed)
        for share in shares:
            at = int(sizes.calls * share * chance.uniform(0.9, 1.1))
            death = Death(chance.choice(NODES), at)
            found = {"seed": seed, "share": share, "node": death.node}
            found |= row(sizes, death, run(sizes, death), calm)
            print(" ".join(f"{name}={value}" for name, value in found.items()), file=sys.stderr)
            yield found


def main() -> int:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--tiles", type=int, default=32, help="of a row (32)")
    parser.add_argument("--seeds", type=int, default=3, help="how often each (3)")
    options = parser.parse_args()
    if options.tiles < 2 or options.seeds < 1:
        parser.error("at least 2 tiles and 1 seed")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    table = Table(options.output / "deaths.csv", seed=list(range(1, options.seeds + 1)))
    facts: dict[str, object] = {"load_before": round(os.getloadavg()[0], 2)}
    sizes = Sizes(tiles=options.tiles)
    try:
        found = [
            [one[name] for name in COLUMNS]
            for one in measured(sizes, options.seeds, [0.25, 0.5, 0.75])
        ]
    except WrongError as error:
        print(f"lost_tiles.py: {error}", file=sys.stderr)
        return 1
    facts["load_after"] = round(os.getloadavg()[0], 2)
    added = {"unshare": first_line(["unshare", "--version"])}
    table.write_rows(COLUMNS, found, facts=facts, added=added)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
