"""FTQ beside a spin test that shares nothing with it: loss, names, and what names cost.

    studies/noise/run agreement

Within a repetition `spin` (another program, another clock), FTQ with names and FTQ without names
(`--attribution proc`: no tracepoint is on) measure the same core, in another order each time.
Written is `agreement.csv`, a row for each measurement.

Exit status: 0 done, 1 a measurement failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

from drawing.manifest import Table, first_line
from machine import Tools, application_core, begin, said

COLUMNS = ("repetition", "program", "lost_share", "gaps_per_s", "longest_us", "named_share",
           "own_share")  # fmt: skip
PROGRAMS = ("spin", "ftq", "ftq without names")


def row(tools: Tools, program: str, core: int, seconds: int, folder: str) -> list[object]:
    """Return what a program measures, from its second cell on."""
    if program == "spin":
        share, gaps, longest = said([str(tools.c / "spin"), str(core), str(seconds)]).split()
        gaps_per_s, longest_us = float(gaps) / seconds, float(longest) / 1e3
        return [program, share, f"{gaps_per_s:.6g}", f"{longest_us:.6g}", "", ""]
    by = "auto" if program == "ftq" else "proc"
    words = ["lab", "noise", "--cores", str(core), "--for", f"{seconds}s", "--attribution", by]
    probe = json.loads(tools.tell(*words, "--output", folder, "--json"))["probes"][0]
    gaps_found = probe["gaps"]
    return [
        program,
        f"{probe['lost_share']:.9f}",
        f"{gaps_found['per_s']:.6g}",
        f"{gaps_found['longest_ns'] / 1e3:.6g}",
        f"{probe['named_share']:.6g}",
        f"{probe['own']['share']:.6g}",
    ]


def measure(options: argparse.Namespace) -> None:
    """Measure all, and write the table."""
    tools = Tools(options.tidings, options.tidings, options.c)
    table = Table(options.output / "agreement.csv", seed=1)
    core, chance = application_core(tools), random.Random(1)
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory(dir=options.c) as folder:
        for repetition in range(1, options.repetitions + 1):
            for program in chance.sample(PROGRAMS, len(PROGRAMS)):
                rows.append([repetition, *row(tools, program, core, options.seconds, folder)])
                print(*rows[-1], flush=True)
    facts = {"core": core, "seconds": options.seconds}
    table.write_rows(COLUMNS, rows, facts=facts, added={"cc": first_line(["cc", "--version"])})


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tidings", type=Path, required=True)
    parser.add_argument("--c", type=Path, required=True, help="the folder of the programs in C")
    parser.add_argument("--seconds", type=int, default=2, help="of a measurement")
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    return begin(lambda: measure(options))


if __name__ == "__main__":
    sys.exit(main())
