#!/usr/bin/env python3
"""The instructions of each kernel of the clustering and of what it calls, counted by callgrind.

    studies/growth-clustering/count.py --cluster-dimensions K [OPTION...]

Options are those of mafia; MAFIA names another program than target/mafia. Prints a row for each
kernel, as `tidings lab series` reads them.

Exit status: 0 done, 1 a program failed or a kernel was not found.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = ("gen", "dedup", "pcount", "unjoin")
MAFIA = Path(__file__).resolve().parents[2] / "target/mafia"


def said(*command: str) -> str:
    """Return what a command prints that must succeed; its complaints are passed on."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def counted(words: list[str]) -> dict[str, int]:
    """Return the instructions of each kernel in a run with these options."""
    with tempfile.TemporaryDirectory() as place:
        file = f"{place}/callgrind"
        callgrind = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={file}"]
        said(*callgrind, os.environ.get("MAFIA", str(MAFIA)), *words)
        text = said("callgrind_annotate", "--inclusive=yes", "--threshold=100", file)
    found = {}
    for kernel in KERNELS:
        line = re.search(rf"^\s*([\d,]+) .*:mafia_{kernel}\b", text, re.MULTILINE)
        if not line:
            raise LookupError(f"callgrind_annotate names no mafia_{kernel}")
        found[kernel] = int(line[1].replace(",", ""))
    return found


def main() -> int:
    """Count, and print rows."""
    words = sys.argv[1:]
    try:
        size = int(words[words.index("--cluster-dimensions") + 1])
        for kernel, instructions in counted(words).items():
            names = {"function": kernel, "metric": "instructions", "parameter": "k"}
            row = {**names, "size": size, "value": instructions, "unit": "", "run": "0"}
            print(json.dumps(row))
    except (subprocess.CalledProcessError, LookupError, OSError, ValueError) as error:
        print(f"count.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
