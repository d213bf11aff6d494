"""Simulates an hour of 1,024 nodes on a bad network, in which nobody dies.

    studies/deaths/run hour

Written are `deaths-hour.csv`, a row, and its manifest. Every declared death is false.

Exit status: 0 done, 1 the simulation failed, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from drawing.manifest import ROOT, Table, exit_code

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


def simulate(tidings: Path, scenario: Path, output: Path) -> None:
    """Run the scenario, and write the table."""
    seed = tomllib.loads(scenario.read_text(encoding="utf-8"))["seed"]
    table = Table(output / "deaths-hour.csv", command="studies/deaths/run hour", seed=seed)
    words = [str(tidings), "sim", "run", "--scenario", str(scenario), "--json"]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    report = json.loads(done.stdout)
    table.write_rows(COLUMNS, [row(report)], facts={"parameters": report["parameters"]})


def main() -> int:
    """Run the scenario of the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tidings", type=Path, required=True, help="the command")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--scenario", type=Path, default=ROOT / SCENARIO)
    given = parser.parse_args()
    return exit_code(
        "hour", lambda: simulate(given.tidings, given.scenario, given.output), ValueError
    )


if __name__ == "__main__":
    sys.exit(main())
