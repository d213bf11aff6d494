"""mcphoton: Monte Carlo radiative transfer through a slab, over tidings.tasks.

The photons are those of slab.c, bit for bit, so the digest is the same: for every number of
workers, every order, every death, and for both languages.
"""

from __future__ import annotations

import argparse
import itertools
from typing import NamedTuple

import numpy as np
import tidings.tasks as tt
from numpy.typing import NDArray

CELLS = 16
FAN = 8
REFLECTED, TRANSMITTED = CELLS, CELLS + 1
LN2 = 0.6931471805599453
LOW = np.uint64(0xFFFFFFFF)
HIGH = np.uint64(32)

Words = NDArray[np.uint64]
Numbers = NDArray[np.float64]


class Slab(NamedTuple):
    """What is simulated, as in slab.h."""

    thickness: float = 1.0
    albedo: float = 0.0
    diffuse: bool = False
    seed: int = 1


def philox(words: list[Words], key: int) -> list[Words]:
    """Philox4x32-10 (philox.h) of many counters, each of whose words is an array."""
    key0, key1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        product0 = np.uint64(0xD2511F53) * words[0]
        product1 = np.uint64(0xCD9E8D57) * words[2]
        words = [
            (product1 >> HIGH) ^ words[1] ^ np.uint64(key0),
            product1 & LOW,
            (product0 >> HIGH) ^ words[3] ^ np.uint64(key1),
            product0 & LOW,
        ]
        key0 = (key0 + 0x9E3779B9) & 0xFFFFFFFF
        key1 = (key1 + 0xBB67AE85) & 0xFFFFFFFF
    return words


def uniform(word: Words) -> Numbers:
    """(word + 1/2) / 2^32."""
    return (word.astype(np.float64) + 0.5) * (1.0 / 4294967296.0)


def path(word: Words) -> Numbers:
    """-ln of it: the same operations in the same order as in slab.c."""
    m, exponent = np.frexp(uniform(word))
    s = (1.0 - m) / (1.0 + m)
    square = s * s
    total = np.zeros_like(s)
    for odd in range(35, 0, -2):
        total = total * square + 1.0 / odd
    return -exponent.astype(np.float64) * LN2 + 2.0 * s * total


def trace(slab: Slab, first: int, photons: int) -> list[int]:
    """How many photons, from number `first` on, ended where."""
    number = np.arange(first, first + photons, dtype=np.uint64)
    depth, direction = np.zeros(photons), np.ones(photons)
    counts = np.zeros(CELLS + 2, dtype=np.int64)
    for collision in itertools.count():
        counter = [number & LOW, number >> HIGH, np.full_like(number, collision)]
        words = philox([*counter, np.zeros_like(number)], slab.seed)
        if collision > 0:
            direction = 2.0 * uniform(words[0]) - 1.0
        elif slab.diffuse:
            direction = np.sqrt(uniform(words[0]))
        depth = depth + direction * path(words[1])
        reflected, transmitted = depth < 0.0, depth >= slab.thickness
        inside = ~(reflected | transmitted)
        absorbed = inside & (uniform(words[2]) >= slab.albedo)
        cells = (depth[absorbed] / slab.thickness * CELLS).astype(np.int64)
        counts[:CELLS] += np.bincount(np.minimum(cells, CELLS - 1), minlength=CELLS)
        counts[REFLECTED] += np.count_nonzero(reflected)
        counts[TRANSMITTED] += np.count_nonzero(transmitted)
        goes_on = inside & ~absorbed
        if not goes_on.any():
            return [int(count) for count in counts]
        number, depth = number[goes_on], depth[goes_on]
    raise AssertionError("counting does not end")


def digest(counts: list[int]) -> str:
    """One number for all counts: FNV-1a of 64 bits, as in slab.c."""
    value = 0xCBF29CE484222325
    for byte in b"".join(count.to_bytes(8, "little") for count in counts):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def run(executor: tt.Executor, slab: Slab, photons: int, batch: int) -> list[int]:
    """Traces all photons, a batch a task."""
    firsts = range(0, photons, batch)
    futures = [executor.submit(trace, slab, first, min(batch, photons - first)) for first in firsts]
    results = [future.result() for future in futures]
    return [sum(counts[i] for counts in results) for i in range(CELLS + 2)]


def filled(slab: Slab, _place: int, first: int, photons: int, counts: list[int]) -> list[int]:
    """Add to counts where some photons ended."""
    return joined(0, 0, counts, trace(slab, first, photons))


def joined(_place: int, _stride: int, *parts: list[int]) -> list[int]:
    """Add counts."""
    return [sum(column) for column in zip(*parts, strict=True)]


def dataflow(executor: tt.Executor, slab: Slab, photons: int, batch: int) -> tt.Dependency:
    """Declare the same as a flow: each batch fills a place, and places are joined along a tree.

    All of them are submitted at once, and nothing waits here. The sum will be at place 0.
    """
    flow = tt.Flow(executor)
    counts = flow.dependency_declare("counts", int)
    fill = flow.task_declare(filled, Slab, int, int, int)
    fill.append_inout_dependency(counts, lambda _slab, place, _first, _photons: (place,))
    join = flow.task_declare(joined, int, int)
    join.append_inout_dependency(counts, lambda place, _stride: (place,))
    for part in range(1, FAN):
        join.append_migrate_dependency(
            counts, lambda place, stride, part=part: (place + part * stride,)
        )
    empty = [0] * (CELLS + 2)
    firsts = range(0, photons, batch)
    for place, first in enumerate(firsts):
        counts.put(place, data=empty)
        fill.submit(slab, place, first, min(batch, photons - first))
    stride = 1
    while stride < len(firsts):
        for place in range(0, len(firsts) - stride, FAN * stride):
            for missing in range(place + stride, place + FAN * stride, stride):
                if missing >= len(firsts):
                    counts.put(missing, data=empty)
            join.submit(place, stride)
        stride *= FAN
    return counts


def main() -> None:
    """Run it as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-t", "--thickness", type=float, default=1.0)
    parser.add_argument("-a", "--albedo", type=float, default=0.0)
    parser.add_argument("-d", "--diffuse", action="store_true")
    parser.add_argument("-s", "--seed", type=int, default=1)
    parser.add_argument("-n", "--photons", type=int, default=1_000_000)
    parser.add_argument("-b", "--batch", type=int, default=50_000)
    parser.add_argument("--dataflow", action="store_true", help="as a flow, summed along a tree")
    parser.add_argument("--store", default="memory:", help="memory:, file:PATH or usual")
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    slab = Slab(options.thickness, options.albedo, options.diffuse, options.seed)
    with tt.Executor(options.store, workers=options.workers) as executor:
        if options.dataflow:
            counts = dataflow(executor, slab, options.photons, options.batch).get(0)
        else:
            counts = run(executor, slab, options.photons, options.batch)
    print(f"transmitted {counts[TRANSMITTED] / options.photons:.6f}")
    print(f"reflected   {counts[REFLECTED] / options.photons:.6f}")
    print(f"absorbed    {sum(counts[:CELLS]) / options.photons:.6f}")
    print(f"digest      {digest(counts)}")


if __name__ == "__main__":
    main()
