"""One rank of a multiplication by tuples.

    python tuples.py --store file:PATH --rank 0 --ranks 4 --size 4096 --block 256 --rounds 3

Each rank puts its panel of A (rows) and of B (columns) as large arrays, and their handles into
tuples. Rank 0 puts a tuple for each unit of work (units.py), the largest first. A rank pulls one of
its own rows if there is one of the size that it has had last, else the oldest. It maps what it
multiplies, and puts the handle of the product in the commit that consumes the unit. So a rank that
is slow does less, and a unit of one that dies is there again. While a rank multiplies, it puts its
last product, and pulls its next unit shortly before it has time for it: not earlier, since others
might have done it by then.

Printed are JSON objects: of each round its seconds by rank 0, and of each rank how many blocks it
has multiplied and what its processor did.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import matrices
import numpy as np
import tidings.tasks as tt
from matrices import Matrix
from units import Unit, units_of

PARTS = 16
"""The most tuples that a statement puts, or takes."""

POPULATE_READ = 22
"""Linux's advice to map pages at once, which Python has no name for."""

AHEAD = 2
"""The products that are in memory and not put: one is made while the one before it is put."""

LEAD_S = 0.05
"""How long before the expected end of a product the next unit is pulled."""


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
        own, all_of_it = range(rank * self.panel, (rank + 1) * self.panel), range(self.size)
        right = matrices.block("b", self.size, all_of_it, own)
        return {
            "a": matrices.block("a", self.size, own, all_of_it),
            "b": np.ascontiguousarray(right.T),
        }

    def units(self) -> list[tuple[int, Unit]]:
        """Return the units of work, each with the rank whose rows it has, the largest first."""
        blocks, panel = self.size // self.block, self.panel // self.block
        of_ranks = [(rank, units_of(rank, blocks, panel)) for rank in range(self.ranks)]
        made = [(rank, unit) for rank, units in of_ranks for unit in units]
        return sorted(made, key=lambda one: -one[1].blocks)


Products = list[tuple[Unit, Matrix]]
"""Units with their products."""


class Claim(NamedTuple):
    """A unit that was pulled, and the factors of its product."""

    pulled: tt.Pulled
    unit: Unit
    left: Matrix
    right: Matrix


class Round:
    """What a rank does for one product."""

    def __init__(self, rank: Rank, number: int) -> None:
        self.space, self.store, self.shape = rank.space, rank.store, rank.shape
        self.rank, self.number = rank.number, number
        self.panels = {(name, rank.number): panel for name, panel in rank.panels.items()}
        self.done = threading.Event()
        self.unit_blocks, self.blocks = rank.shape.units()[0][1].blocks, 0
        self.block_s = self.wait_s = 0.0
        # Of what threads do in turn: multiply, claim and map, put arrays.
        self.cpu_s = {"multiply": 0.0, "claim": 0.0, "put": 0.0}

    @contextlib.contextmanager
    def counted(self, what: str) -> Iterator[None]:
        """Count the processor time of this thread for something."""
        began_s = time.thread_time()
        yield
        self.cpu_s[what] += time.thread_time() - began_s

    def factor(self, name: str, first: int, count: int) -> Matrix:
        """Return rows of A or columns of B, of which a panel is mapped on its first use."""
        block, panel = self.shape.block, self.shape.panel
        which, row = divmod(first * block, panel)
        if (name, which) not in self.panels:
            handle = self.space.read("panel", name, which, tt.Handle)[3]
            enter_pages(handle.get())
            self.panels[name, which] = handle.array(float, (panel, self.shape.size))
        return self.panels[name, which][row : row + count * block]

    def claim(self, later_s: float) -> Claim | None:
        """Pull a unit later, or when the product is done; None at the end of the round."""
        self.done.wait(later_s)
        with self.counted("claim"):
            return self.claimed()

    def claimed(self) -> Claim | None:
        """Pull a unit, of its own rows if there is one of the last size, and get its factors."""
        place = (int,) * 4
        own = self.space.try_pull("unit", self.number, self.unit_blocks, self.rank, *place)
        pulled = own or self.space.pull("unit", self.number, int, int, *place)
        unit = Unit(*pulled.fields[4:])
        if unit.blocks == 0:
            pulled.consume()
            return None
        self.unit_blocks = unit.blocks
        left = self.factor("a", unit.row, unit.rows)
        return Claim(pulled, unit, left, self.factor("b", unit.column, unit.columns))

    def product(self, claim: Claim) -> tt.Draft:
        """Return the product of a claim, in memory that this host shares."""
        with self.counted("put"):
            draft = tt.draft((len(claim.left), len(claim.right)), store=self.store)
        began = time.monotonic()
        with self.counted("multiply"):
            np.matmul(claim.left, claim.right.T, out=draft.array)
        self.block_s = (time.monotonic() - began) / claim.unit.blocks
        self.blocks += claim.unit.blocks
        return draft

    def deliver(self, claim: Claim, product: tt.Draft) -> None:
        """Put a product, in the commit that consumes its unit."""
        with self.counted("put"):
            handle = product.put()
        self.space.execute(
            consumes=[claim.pulled], puts=[("product", self.number, *claim.unit, handle)]
        )

    def multiply(self) -> None:
        """Do units until there are no more."""
        with ThreadPoolExecutor(1) as claims, ThreadPoolExecutor(1) as deliveries:
            delivered: list[Future[None]] = []
            claim = self.claim(0)
            while claim is not None:
                self.done.clear()
                expected_s = claim.unit.blocks * self.block_s
                ahead = claims.submit(self.claim, max(0, expected_s - LEAD_S))
                if len(delivered) >= AHEAD:
                    delivered[-AHEAD].result()
                product = self.product(claim)
                self.done.set()
                delivered.append(deliveries.submit(self.deliver, claim, product))
                began = time.monotonic()
                claim = ahead.result()
                self.wait_s += time.monotonic() - began
            for one in delivered:
                one.result()

    def conduct(self) -> tuple[float, Products]:
        """Put all units, take all products and map them; return the seconds, and the products."""
        for _ in range(self.shape.ranks):
            self.space.take("ready", self.number, int)
        began = time.monotonic()
        units = [
            ("unit", self.number, unit.blocks, rank, *unit) for rank, unit in self.shape.units()
        ]
        units.append(("go", self.number))
        product = "product", self.number, int, int, int, int, tt.Handle
        found = []
        for at in range(0, len(units), PARTS):
            self.space.execute(puts=units[at : at + PARTS])
        while left := len(units) - 1 - len(found):
            found += self.space.execute(takes=[product] * min(PARTS, left))
        seconds = time.monotonic() - began
        for rank in range(self.shape.ranks):
            self.space.put("unit", self.number, 0, rank, 0, 0, 0, 0)
        return seconds, [self.mapped(Unit(*place), handle) for _, _, *place, handle in found]

    def mapped(self, unit: Unit, handle: tt.Handle) -> tuple[Unit, Matrix]:
        """Map a product that was found."""
        block = self.shape.block
        return unit, handle.array(float, (unit.rows * block, unit.columns * block))


def enter_pages(mapped: memoryview) -> None:
    """Let all pages of what is mapped be known to this process: one by one takes twice as long."""
    if isinstance(mapped.obj, mmap.mmap):
        with contextlib.suppress(OSError):  # by Linux 5.14 and later
            mapped.obj.madvise(POPULATE_READ)


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

    def put(self) -> None:
        """Put its panels."""
        began = time.monotonic()
        for name, panel in self.panels.items():
            self.space.put("panel", name, self.number, tt.put(panel, store=self.store))
        say(rank=self.number, put_s=time.monotonic() - began)

    def round(self, number: int) -> None:
        """Take part in a product; the first rank conducts it, too."""
        own = Round(self, number)
        with ThreadPoolExecutor(1) as conductor:
            conducted = conductor.submit(own.conduct) if self.number == 0 else None
            cpu_s = time.process_time()
            self.space.put("ready", number, self.number)
            self.space.read("go", number)
            own.multiply()
            cpu_s = time.process_time() - cpu_s
        seconds = {f"{what}_cpu_s": spent for what, spent in own.cpu_s.items()}
        seconds |= {"cpu_s": cpu_s, "wait_s": own.wait_s}
        say(round=number, rank=self.number, blocks=own.blocks, **seconds)
        if conducted is not None:
            seconds, self.products = conducted.result()
            say(round=number, seconds=seconds, units=len(self.products))


def run(options: argparse.Namespace) -> None:
    """Take part in all rounds."""
    rank = Rank(options)
    rank.put()
    for number in range(options.rounds):
        rank.round(number)
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
