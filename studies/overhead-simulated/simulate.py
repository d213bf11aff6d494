#!/usr/bin/env python3
"""What gossip costs an application on a simulated BlueGene/Q, in the form of ROSS'14.

    make mpi
    studies/overhead-simulated/simulate.py --nodes 64 --programs target/mpi --output .

Each cell is one run of mpi/beside on a torus: the application beside gossip, and once beside ranks
that sleep. Virtual time is exact, so that once is enough; gossip's chance is in its seed. A cell is
written to the table as soon as it is done, and those that are there already are not run again:
an interrupted study goes on where it was. A manifest is written beside the table.

Messages have the size that they have at 1,024 nodes with entries of 1 KiB, whatever --nodes is: an
entry's bytes grow as the nodes get fewer, and so does the work charged for it.

Exit status: 0 all cells are there, 1 a run failed, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from paper import TABLE1, WINDOWS

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "studies"))
from drawing.manifest import ManifestError, Table, first_line  # noqa: E402 (the path says where)

COLUMNS = (
    "application", "nodes", "elements", "interval_ms", "window_percent", "message_bytes", "seed",
    "idle_s", "seconds", "slowdown_percent", "mpi_share", "age_avg_units", "busy_share",
    "messages", "dropped", "partition_s", "idle_partition_s",
)  # fmt: skip

# The size of a window's message at 1,024 nodes and 20 % is the paper's: 204 entries of 1 KiB.
NODES_OF_PAPER, ENTRY_BYTES, ENTRY_US = 1024, 1024, 0.35

# The cells of the paper's Table 1 that have a number, and its 256 ms at 20 %.
CELLS = {interval: WINDOWS[: len(said)] for interval, said in TABLE1.items()} | {256: (20,)}
FIGURE_INTERVALS = (1024, 256, 64, 16, 8, 4, 2, 1)

SIMULATION = (
    "--log=root.thres:error",
    "--cfg=smpi/simulate-computation:no",  # work is charged, not measured
    "--cfg=smpi/test:0",
    "--cfg=smpi/shared-malloc-blocksize:1073741824",
)


@dataclass(frozen=True)
class Cell:
    """An application beside gossip; interval 0: beside ranks that sleep."""

    application: str
    interval_ms: int
    window_percent: int
    seed: int


class RunError(Exception):
    """A run failed, in its own words."""


class Machine:
    """A torus with three ranks on each node, and the programs for it."""

    def __init__(self, options: argparse.Namespace, directory: Path) -> None:
        self.options = options
        self.directory = directory
        make = [sys.executable, "-B", str(ROOT / "mpi/platforms/make.py"), "torus"]
        make += ["--nodes", str(options.nodes), "--ranks-per-node", "3"]
        make += ["--output", str(directory / "torus.xml"), "--hosts", str(directory / "hosts")]
        made = subprocess.run(make, check=False, capture_output=True, text=True)
        if made.returncode != 0:
            raise RunError(made.stderr.strip())
        text = (directory / "torus.xml").read_text(encoding="utf-8")
        self.shape = text.split('topo_parameters="')[1].split('"')[0]

    def words(self, application: str) -> list[str]:
        """Return the application's command line."""
        words = [application, "--model"]
        if application == "fft":
            log2, repeats = str(self.options.log2), str(self.options.repeats)
            words += ["--shape", self.shape, "--log2", log2, "--repeats", repeats]
            words += ["--parts", str(self.options.parts)]
        elif application == "ptrans":
            size = 128 * 2 ** ((self.options.log2 + 2) // 2 - 7)
            words += ["--size", str(size), "--block", "128"]
        else:
            side = 2 ** (((self.options.nodes * 32 - 1).bit_length() + 1) // 2)
            words += ["--blocks", str(side), "--clouds", str(max(1, side // 64)), "--steps", "10"]
            words += ["--unit-ns", str(self.options.unit_ns)]
        return words

    def gossip(self, cell: Cell) -> list[str]:
        """Return the options of the gossip processes."""
        if cell.interval_ms == 0:
            return ["--idle"]
        fewer = NODES_OF_PAPER / self.options.nodes
        words = ["--interval", str(cell.interval_ms), "--window", f"{cell.window_percent}%"]
        entry_us = 0 if self.options.without == "work" else ENTRY_US * fewer
        entry_bytes = 1 if self.options.without == "bytes" else ENTRY_BYTES * fewer
        words += ["--seed", str(cell.seed), "--entry-us", f"{entry_us:g}"]
        return [*words, "--wire-entry", f"{entry_bytes:.0f}"]

    def run(self, cell: Cell) -> dict[str, object]:
        """Return what the application printed, and under `gossip` what the gossip did."""
        report = self.directory / "report.json"
        report.unlink(missing_ok=True)
        command = ["smpirun", "-no-privatize", "-n", str(3 * self.options.nodes), *SIMULATION]
        command += ["-platform", str(self.directory / "torus.xml")]
        command += ["-hostfile", str(self.directory / "hosts")]
        command += [str(self.options.programs / "tidings-mpi-beside.smpi"), "--report", str(report)]
        command += [*self.gossip(cell), *self.words(cell.application)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        line = next((line for line in done.stdout.splitlines() if line.startswith("{")), None)
        if done.returncode != 0 or line is None:
            raise RunError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        result: dict[str, object] = json.loads(line)
        if report.exists():
            result["gossip"] = json.loads(report.read_text(encoding="utf-8"))
        return result


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """Return the study's cells, the most telling first."""
    for seed in range(1, options.seeds + 1):
        for application in ("fft", "ptrans", "proxy"):
            if application not in options.applications:
                continue
            grid = CELLS if application == "fft" else dict.fromkeys(FIGURE_INTERVALS, (20,))
            for interval_ms, windows in grid.items():
                for window in windows:
                    if interval_ms in (options.intervals or grid) and (
                        window in (options.windows or windows)
                    ):
                        yield Cell(application, interval_ms, window, seed)


def row(cell: Cell, options: argparse.Namespace, idle: dict, result: dict) -> dict[str, object]:
    """Return a line of the table."""
    gossip = result["gossip"]
    slower = result["seconds"] / idle["seconds"] - 1
    partition = [run.get("phases", {}).get("partition", "") for run in (result, idle)]
    return {
        "application": cell.application,
        "nodes": options.nodes,
        "elements": result.get("elements", ""),
        "interval_ms": cell.interval_ms,
        "window_percent": cell.window_percent,
        "message_bytes": round(gossip["bytes_made"] / max(gossip["messages_sent"], 1)),
        "seed": cell.seed,
        "idle_s": idle["seconds"],
        "seconds": result["seconds"],
        "slowdown_percent": f"{100 * slower:.4f}",
        "mpi_share": result["mpi_share"],
        "age_avg_units": gossip["age_avg_units"],
        "busy_share": gossip["busy_share"],
        "messages": gossip["messages_sent"],
        "dropped": gossip["messages_dropped"],
        "partition_s": partition[0],
        "idle_partition_s": partition[1],
    }


def there(table: Path, options: argparse.Namespace) -> list[dict[str, str]]:
    """Return the lines that a table has for this machine."""
    if not table.exists():
        return []
    with table.open(encoding="utf-8", newline="") as lines:
        return [line for line in csv.DictReader(lines) if int(line["nodes"]) == options.nodes]


def cell_of(line: dict[str, str]) -> Cell:
    """Return the cell that a line of the table is of."""
    numbers = (int(line[name]) for name in ("interval_ms", "window_percent", "seed"))
    return Cell(line["application"], *numbers)


def append(table: Path, line: dict[str, object]) -> None:
    """Write a line, and before the first the heading, to the disk."""
    begins = not table.exists()
    with table.open("a", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        if begins:
            writer.writeheader()
        writer.writerow(line)
        out.flush()
        os.fsync(out.fileno())


def study(options: argparse.Namespace, directory: Path) -> None:
    """Run the cells that are missing."""
    machine = Machine(options, directory)
    table = options.output / f"{options.name}.csv"
    seeds = list(range(1, options.seeds + 1))
    made = Table(table, seed=seeds if options.seeds > 1 else 1, goes_on=True)
    simulator = {"simgrid": first_line(["smpirun", "--version"])}
    idle, began = {}, time.monotonic()
    done = {cell_of(line) for line in there(table, options)}
    for cell in cells(options):
        if cell in done:
            continue
        if cell.application not in idle:
            idle[cell.application] = machine.run(Cell(cell.application, 0, 0, 0))
        line = row(cell, options, idle[cell.application], machine.run(cell))
        append(table, line)
        made.record(added=simulator)
        print(
            f"{cell.application} {cell.interval_ms} ms {cell.window_percent} %: "
            f"{line['slowdown_percent']} % slower, {time.monotonic() - began:.0f} s so far",
            flush=True,
        )


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=64, choices=(64, 128, 256, 512, 1024))
    parser.add_argument("--log2", type=int, default=27, help="elements of the FFT and the matrix")
    parser.add_argument("--repeats", type=int, default=3, help="transforms in a run")
    parser.add_argument("--parts", type=int, default=8, help="of a block, in the FFT's exchange")
    parser.add_argument("--name", default="overhead", help="of the table")
    parser.add_argument("--unit-ns", type=float, default=1000, help="the proxy's unit of work")
    parser.add_argument("--seeds", type=int, default=1, help="of the gossip, from 1")
    parser.add_argument(
        "--applications", nargs="+", default=["fft", "ptrans", "proxy"],
        choices=("fft", "ptrans", "proxy"),
    )  # fmt: skip
    parser.add_argument("--intervals", nargs="+", type=int, help="of the grid's, ms; all if none")
    parser.add_argument("--windows", nargs="+", type=int, help="of the grid's, %%; all if none")
    parser.add_argument(
        "--without", choices=("bytes", "work"),
        help="what to leave out of the gossip, to see what its cost comes from: bytes (payloads of "
        "one), or work (entries take no processor time)",
    )  # fmt: skip
    parser.add_argument("--programs", type=Path, required=True, help="where make mpi built")
    parser.add_argument("--output", type=Path, required=True, help="a folder")
    return parser.parse_args()


def main() -> int:
    """Run the study."""
    options = arguments()
    try:
        with tempfile.TemporaryDirectory() as directory:
            study(options, Path(directory))
    except (RunError, ManifestError, OSError) as error:
        print(f"simulate.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
