"""A node: workers that do calls of the store at an address, until standard input ends.

python tile_node.py ADDRESS KEYS WORKERS
"""

from __future__ import annotations

import sys

import tidings.tasks as tt


def main() -> None:
    """Work."""
    address, keys, workers = sys.argv[1:]
    with tt.Executor(address, workers=int(workers), keys=keys):
        print("works", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
