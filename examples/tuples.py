"""Counts primes by a bag of ranges, from which workers help themselves, and of which one is killed.

    python3 examples/tuples.py [STORE]

Whoever puts a range does not know who counts it. A worker pulls one, counts, and consumes it in the
commit that puts the count: so each range is counted once, though the worker that dies had pulled
one. It is there again as soon as the worker's session has ended.
"""

import multiprocessing
import sys
import tempfile
from multiprocessing.synchronize import Event as EventType

import tidings.tasks as tt

BELOW, STEP, WORKERS = 20_000, 500, 3


def is_prime(number: int) -> bool:
    """Return whether a number has no divisor but itself."""
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def work(store: str) -> None:
    """Count ranges until an empty one comes."""
    space = tt.Space("primes", store=store)
    while True:
        bounds = space.pull("range", int, int)
        _, first, end = bounds
        if first == end:
            bounds.consume()
            return
        count = sum(map(is_prime, range(first, end)))
        space.execute(consumes=[bounds], puts=[("count", first, count)])


def die(store: str, has_pulled: EventType) -> None:
    """Pull a range, and do nothing with it."""
    space = tt.Space("primes", store=store)
    bounds = space.pull("range", int, int)
    has_pulled.set()
    multiprocessing.Event().wait()
    bounds.consume()


def main() -> None:
    """Put ranges, kill a worker that has one, and add up what the others have counted."""
    store = sys.argv[1] if len(sys.argv) > 1 else f"file:{tempfile.mkdtemp()}/store"
    space = tt.Space("primes", store=store)
    for first in range(0, BELOW, STEP):
        space.put("range", first, min(first + STEP, BELOW))
    processes = multiprocessing.get_context("spawn")
    has_pulled = processes.Event()
    victim = processes.Process(target=die, args=(store, has_pulled))
    victim.start()
    has_pulled.wait()
    victim.kill()
    victim.join()
    print("a worker was killed")
    workers = [processes.Process(target=work, args=(store,)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    total = 0
    for _ in range(0, BELOW, STEP):
        total += space.take("count", int, int)[2]
    for _ in workers:
        space.put("range", 0, 0)
    for worker in workers:
        worker.join()
    print(total, "primes below", BELOW)


if __name__ == "__main__":
    main()
