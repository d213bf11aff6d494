"""One cell: a system started, given one work, and stopped, in a process of its own.

    python cell.py --system Ray --work steady --folder FOLDER --group PATH --output FILE

Writes the figures as JSON. Whatever it leaves behind, the comparison ends.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import systems
from processes import Group
from works import WORKS, Sizes


def main() -> None:
    """Measure one cell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--system", choices=systems.PLACES, required=True)
    parser.add_argument("--work", choices=WORKS, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--group", type=Path, help="a control group, which it enters")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    group = Group(options.group)
    group.enter()
    work, slots = WORKS[options.work]
    sizes = Sizes(seconds=0.3, tasks=40) if options.quick else Sizes()
    system = systems.make(options.system, options.folder, slots)
    system.start()
    figures = [dataclasses.asdict(figure) for figure in work(system, group, sizes)]
    options.output.write_text(json.dumps(figures), encoding="utf-8")
    system.stop()


if __name__ == "__main__":
    main()
