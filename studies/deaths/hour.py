"""Simulates an hour of 1,024 nodes on a bad network, in which nobody dies.

    studies/deaths/run hour

Written are `deaths-hour.csv`, a row, and its manifest. Every declared death is false.

Exit status: 0 done, 1 the simulation failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from drawing.manifest import ROOT, Table

SCENARIO = "crates/sim/scenarios/hour.toml"
DEATHS = ("mistaken", "suspicions", "suspicions_cleared", "probes")
CHECKS = ("pairs_checked", "understated_ages", "lowered_entries")
COLUMNS = (
    *("seed", "nodes", "interval", "units", "datagrams", "lost"),
    *("age_avg_units", *DEATHS, *CHECKS, "trace_hash"),
)


def row(report: dict[str, Any]) -> list[object]:
    """Return what the simulation reported, in the order of COLUMNS."""
    if not report["complete"] or report["deaths"]["crashes"]:
        raise ValueError("the hour is not whole, or a node has crashed")
    said = report["parameters"]
    return [
        *(said["seed"], said["cluster"]["nodes"], said["cluster"]["interval"], said["units"]),
        *(report["network"][name] for name in ("sent", "lost")),
        f"{report['age_avg_units']:.3f}",
        *(report["deaths"][name] for name in DEATHS),
        *(report["checks"][name] for name in CHECKS),
        report["trace_hash"],
    ]


def main() -> int:
    """Run the scenario, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tidings", type=Path, required=True, help="the command")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--scenario", type=Path, default=ROOT / SCENARIO)
    options = parser.parse_args()
    words = [str(options.tidings), "sim", "run", "--scenario", str(options.scenario), "--json"]
    seed = tomllib.loads(options.scenario.read_text(encoding="utf-8"))["seed"]
    table = Table(options.output / "deaths-hour.csv", command="studies/deaths/run hour", seed=seed)
    done = subprocess.run(words, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"{' '.join(words)}: status {done.returncode}", file=sys.stderr)
        return 1
    report = json.loads(done.stdout)
    table.write_rows(COLUMNS, [row(report)], facts={"parameters": report["parameters"]})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
