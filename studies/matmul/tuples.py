"""One rank of a multiplication by tuples.

    python tuples.py --store file:PATH --rank 0 --ranks 4 --size 4096 --block 256 --rounds 3

Each rank puts its panel of A (rows) and of B (columns) as large arrays, and their handles into
tuples. Before a product it puts how long a block has taken it in the one before. Rank 0 puts a
tuple for each unit of work (units.py), the largest first. A rank pulls those that are meant for it,
then, unless it is slow, what is left of others'. It maps what it multiplies, and puts the handle of
the product in the commit that consumes the unit. So a rank that is slow does less, and a unit of
one that dies is there again. While a rank multiplies, it puts its last product, and pulls its next
unit shortly before it has time for it: not earlier, since others might have done it by then.

Printed are JSON objects: of each round its seconds by rank 0, and of each rank how many blocks it
has multiplied and what its processor did; of the last round also what each rank did when.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import matrices
import numpy as np
import tidings.tasks as tt
from matrices import Matrix
from units import Grid, Unit, cut

PARTS = 16
"""The most tuples that a statement puts, or takes."""

POPULATE_READ = 22
"""Linux's advice to map pages at once, which Python has no name for."""

AHEAD = 2
"""The products that are in memory and not put: one is made while the one before it is put."""

SURE = 0.9
"""The part of the expected time of a product that passes before its end, as far as is known."""

LEAD_S = 0.02
"""How long before that the next unit is pulled."""

NOBODY = -1
"""For whom a unit is meant that says that there are no more."""

SLOW = 1.25
"""Times as long as the fastest: a rank that takes longer for a block takes no unit of others, which
they would end sooner."""


class Shape(NamedTuple):
    """How large the matrices are, and how they are shared out."""

    size: int
    block: int
    ranks: int

    @property
    def panel(self) -> int:
        """Rows of A, and columns of B, that a rank puts."""
        return self.size // self.ranks

    def panels(self, rank: int) -> dict[str, Matrix]:
        """Return what a rank puts: its rows of A, and its columns of B as rows."""
        own, all_of_it = (
            range(rank * self.panel, (rank + 1) * self.panel),
            range(self.size),
        )
        right = matrices.block("b", self.size, all_of_it, own)
        return {
            "a": matrices.block("a", self.size, own, all_of_it),
            "b": np.ascontiguousarray(right.T),
        }

    @property
    def grid(self) -> Grid:
        """The blocks of the product, and of a panel."""
        return Grid(self.size // self.block, self.panel // self.block)


Products = list[tuple[Unit, Matrix]]
"""Units with their products."""


class Claim(NamedTuple):
    """A unit that was pulled, and the factors of its product."""

    pulled: tt.Pulled
    unit: Unit
    left: Matrix
    right: list[Matrix]


class Blank:
    """Memory for products, made before a round: MPI's ranks have theirs before, too."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.drafts: dict[tuple[int, int], list[tt.Draft]] = {}

    def take(self, shape: tuple[int, int]) -> tt.Draft:
        """Return memory of this shape; what was not foreseen is made now."""
        left = self.drafts.get(shape)
        return left.pop() if left else tt.draft(shape, store=self.store)

    def fill(self, shapes: Iterable[tuple[int, int]]) -> None:
        """Have memory of these shapes, and no other."""
        had, self.drafts = self.drafts, {}
        for shape in shapes:
            left = had.get(shape)
            draft = left.pop() if left else tt.draft(shape, store=self.store)
            self.drafts.setdefault(shape, []).append(draft)


class Round:
    """What a rank does for one product."""

    def __init__(self, rank: Rank, number: int, seconds: list[float]) -> None:
        self.space, self.store, self.shape = rank.space, rank.store, rank.shape
        self.rank, self.number, self.blank = rank.number, number, rank.blank
        self.panels = {(name, rank.number): panel for name, panel in rank.panels.items()}
        self.maps: dict[tuple[str, int], memoryview] = {}
        self.entered: set[tuple[str, int]] = set()
        self.done = threading.Event()
        # How long a block has taken each rank before.
        self.seconds = seconds
        self.is_first = self.has_own = True
        self.blocks, self.began_s, self.busy_s = 0, 0.0, 0.0
        # Of what threads do in turn: multiply, claim and map, put arrays.
        self.cpu_s = {"multiply": 0.0, "claim": 0.0, "put": 0.0}
        self.spans: list[tuple[str, float, float]] = []

    @property
    def block_s(self) -> float:
        """How long a block takes this rank, with all that it does for it, as far as is known."""
        return self.busy_s / self.blocks if self.blocks else self.seconds[self.rank]

    @contextlib.contextmanager
    def counted(self, what: str) -> Iterator[None]:
        """Count the processor time of this thread for something, and note when it was."""
        began, began_s = time.monotonic(), time.thread_time()
        yield
        self.cpu_s[what] += time.thread_time() - began_s
        self.spans.append((what, began, time.monotonic()))

    def factor(self, name: str, first: int, count: int) -> Matrix:
        """Return rows of A or columns of B, of which a panel is mapped on its first use."""
        block, panel = self.shape.block, self.shape.panel
        which, row = divmod(first * block, panel)
        if (name, which) not in self.panels:
            handle = self.space.read("panel", name, which, tt.Handle)[3]
            self.maps[name, which] = handle.get()
            self.panels[name, which] = handle.array(float, (panel, self.shape.size))
        if (name, which) in self.maps:
            for at in range(first, first + count):
                self.enter(name, at, self.maps[name, which])
        return self.panels[name, which][row : row + count * block]

    def enter(self, name: str, at: int, mapped: memoryview) -> None:
        """Enter the pages of a row of blocks of a panel that is mapped, once."""
        if (name, at) not in self.entered:
            self.entered.add((name, at))
            length = self.shape.block * self.shape.size * 8
            enter_pages(mapped, at % self.shape.grid.panel * length, length)

    def claim(self, later_s: float) -> Claim | None:
        """Pull a unit later, or when the product is done; None at the end of the round."""
        self.done.wait(later_s)
        with self.counted("claim"):
            return self.claimed()

    def claimed(self) -> Claim | None:
        """Pull a unit, and get its factors."""
        pulled = self.pulled()
        if pulled is None:
            return None
        unit = Unit(*pulled.fields[4:])
        if unit.blocks == 0:
            pulled.consume()
            return None
        left = self.factor("a", unit.row, unit.rows)
        return Claim(pulled, unit, left, [self.factor("b", *some) for some in self.pieces(unit)])

    def pulled(self) -> tt.Pulled | None:
        """Pull a unit that is meant for this rank; if there is none, unless it is slow, any."""
        rest = (int,) * 4
        if self.is_first:
            self.is_first = False
            return self.space.pull("unit", self.number, int, self.rank, *rest)
        if self.has_own:
            own = self.space.try_pull("unit", self.number, int, self.rank, *rest)
            if own is not None:
                return own
            self.has_own = False
        if is_slow(self.rank, self.seconds):
            return None
        return self.space.pull("unit", self.number, int, int, *rest)

    def pieces(self, unit: Unit) -> Iterator[tuple[int, int]]:
        """Yield the columns of a unit, those of each panel by themselves, and how many they are."""
        at, end = unit.column, unit.column + unit.columns
        while at < end:
            some = min(end - at, self.shape.grid.panel - at % self.shape.grid.panel)
            yield at, some
            at += some

    def product(self, claim: Claim) -> tt.Draft:
        """Return the product of a claim, in memory that this host shares."""
        columns = claim.unit.columns * self.shape.block
        with self.counted("put"):
            draft = self.blank.take((len(claim.left), columns))
        at, self.began_s = 0, self.began_s or time.monotonic()
        with self.counted("multiply"):
            for right in claim.right:
                end = at + len(right)
                np.matmul(claim.left, right.T, out=draft.array[:, at:end])
                at = end
        self.busy_s = time.monotonic() - self.began_s
        self.blocks += claim.unit.blocks
        return draft

    def deliver(self, claim: Claim, product: tt.Draft) -> None:
        """Put a product, in the commit that consumes its unit; without a hash, as all map it."""
        with self.counted("put"):
            handle = product.put(hashed=False)
        self.space.execute(
            consumes=[claim.pulled],
            puts=[("product", self.number, *claim.unit, handle)],
        )

    def multiply(self) -> None:
        """Do units until there are no more."""
        with ThreadPoolExecutor(1) as claims, ThreadPoolExecutor(1) as deliveries:
            delivered: list[Future[None]] = []
            claim = self.claim(0)
            while claim is not None:
                self.done.clear()
                expected_s = claim.unit.blocks * self.block_s
                ahead = claims.submit(self.claim, max(0, SURE * expected_s - LEAD_S))
                if len(delivered) >= AHEAD:
                    delivered[-AHEAD].result()
                product = self.product(claim)
                self.done.set()
                delivered.append(deliveries.submit(self.deliver, claim, product))
                began = time.monotonic()
                claim = ahead.result()
                self.spans.append(("wait", began, time.monotonic()))
            for one in delivered:
                one.result()

    def conduct(self) -> tuple[float, float, Products]:
        """Put all units, take all products and map them; return begin, end and products."""
        for _ in range(self.shape.ranks):
            self.space.take("ready", self.number, int)
        began = time.monotonic()
        units = [
            ("unit", self.number, unit.blocks, rank, *unit)
            for rank, unit in cut(self.seconds, self.shape.grid)
        ]
        product = "product", self.number, int, int, int, int, tt.Handle
        found = []
        for at in range(0, len(units), PARTS):
            self.space.execute(puts=units[at : at + PARTS])
        while left := len(units) - len(found):
            found += self.space.execute(takes=[product] * min(PARTS, left))
        ended = time.monotonic()
        for rank in range(self.shape.ranks):
            if not is_slow(rank, self.seconds):
                self.space.put("unit", self.number, 0, NOBODY, 0, 0, 0, 0)
        products = [self.mapped(Unit(*place), handle) for _, _, *place, handle in found]
        return began, ended, products

    def mapped(self, unit: Unit, handle: tt.Handle) -> tuple[Unit, Matrix]:
        """Map a product that was found."""
        block = self.shape.block
        return unit, handle.array(float, (unit.rows * block, unit.columns * block))


def is_slow(rank: int, seconds: list[float]) -> bool:
    """Return whether a rank is known to take longer for a block than others."""
    return seconds[rank] > SLOW * min(seconds) > 0


def enter_pages(mapped: memoryview, start: int, length: int) -> None:
    """Let these pages of what is mapped be known to this process: one by one takes longer."""
    if isinstance(mapped.obj, mmap.mmap):
        with contextlib.suppress(OSError, ValueError):  # not by old kernels, nor of parts of pages
            mapped.obj.madvise(POPULATE_READ, start, length)


def write(path: Path, shape: Shape, products: Products) -> None:
    """Write a whole product, row after row."""
    whole = np.memmap(path, float, "w+", shape=(shape.size, shape.size))
    for unit, product in products:
        row, column, rows, columns = (number * shape.block for number in unit)
        whole[row : row + rows, column : column + columns] = product
    whole.flush()


def say(**what: object) -> None:
    """Print an object."""
    print(json.dumps(what), flush=True)


class Rank:
    """A rank, through all rounds."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.store, self.number = options.store, options.rank
        self.shape = Shape(options.size, options.block, options.ranks)
        self.space = tt.Space("matmul", store=self.store)
        self.panels = self.shape.panels(self.number)
        self.products: Products = []
        self.blank = Blank(self.store)
        self.block_s = self.began = self.ended = 0.0
        self.spans: list[tuple[str, float, float]] = []

    def put(self) -> None:
        """Put its panels."""
        began = time.monotonic()
        for name, panel in self.panels.items():
            draft = tt.draft(panel.shape, store=self.store)
            draft.array[:] = panel
            self.space.put("panel", name, self.number, draft.put(hashed=False))
        say(rank=self.number, put_s=time.monotonic() - began)

    def speeds(self, number: int) -> list[float]:
        """Return how long a block has taken each rank in the round before."""
        self.space.put("speed", number, self.number, self.block_s)
        return [
            self.space.read("speed", number, rank, float)[3] for rank in range(self.shape.ranks)
        ]

    def round(self, number: int) -> None:
        """Take part in a product; the first rank conducts it, too."""
        seconds = self.speeds(number)
        own = Round(self, number, seconds)
        block = self.shape.block
        units = [unit for rank, unit in cut(seconds, self.shape.grid) if rank == self.number]
        self.blank.fill((unit.rows * block, unit.columns * block) for unit in units)
        with ThreadPoolExecutor(1) as conductor:
            conducted = conductor.submit(own.conduct) if self.number == 0 else None
            cpu_s = time.process_time()
            self.space.put("ready", number, self.number)
            own.multiply()
            cpu_s = time.process_time() - cpu_s
        self.block_s, self.spans = own.block_s, own.spans
        seconds = {f"{what}_cpu_s": spent for what, spent in own.cpu_s.items()}
        waits = [ended - began for what, began, ended in own.spans if what == "wait"]
        seconds |= {"cpu_s": cpu_s, "wait_s": sum(waits)}
        say(round=number, rank=self.number, blocks=own.blocks, **seconds)
        if conducted is not None:
            self.began, self.ended, self.products = conducted.result()
            say(round=number, seconds=self.ended - self.began, units=len(self.products))


def run(options: argparse.Namespace) -> None:
    """Take part in all rounds."""
    rank = Rank(options)
    rank.put()
    for number in range(options.rounds):
        rank.round(number)
    rank.spans += [("product", rank.began, rank.ended)] if rank.number == 0 else []
    for what, began, ended in rank.spans:
        say(rank=rank.number, span=what, began=began, ended=ended)
    if options.product is not None and options.rank == 0:
        write(options.product, rank.shape, rank.products)


def main() -> None:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", required=True)
    for name in ("--rank", "--ranks", "--size", "--block", "--rounds"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--product", type=Path, help="where the last product is to be written")
    options = parser.parse_args()
    if options.size % (options.block * options.ranks):
        parser.error("--size must be a multiple of --block times --ranks")
    run(options)


if __name__ == "__main__":
    main()
