"""The process that opens the store first, and so answers the ranks, which find it by the store.

    python holder.py --store file:PATH

Printed are JSON objects: when it has the store, and at the end of its standard input the processor
time that it took.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import tidings.tasks as tt


def main() -> None:
    """Hold the store until nobody needs it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", required=True)
    space = tt.Space("matmul", store=parser.parse_args().store)
    print(json.dumps({"opened": space.name}), flush=True)
    began_s = time.process_time()
    sys.stdin.read()
    print(json.dumps({"holder_cpu_s": time.process_time() - began_s}), flush=True)


if __name__ == "__main__":
    main()
