"""The tables of the study: a model from 64 to 131,072 processes, and beside SMPI."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from drawing.manifest import Table, exit_code, first_line

ROOT = Path(__file__).resolve().parents[2]
CORES = 4
TORI = {
    64: "4,2,2",
    512: "8,4,4",
    4_096: "16,8,8",
    16_384: "16,16,16",
    32_768: "32,16,16",
    131_072: "32,32,32",
}
"""Tori of BlueGene/P with four processes on each node, by their processes."""
FEW = ("XYZT", "TXYZ", "ZYXT", "TZYX")
"""Orders of HALO that are there at all sizes: those of the paper's figure 12."""
ALL_ORDERS = 16_384
"""The size at which all orders are computed, Hilbert's too."""
HALO_SIDES = (2, 1024)
GROWTH = ("processes", "test", "variant", "bytes", "count", "seconds", "hops", "busiest_link")
BESIDE = ("machine", "nodes", "test", "variant", "bytes", "count", "smpi_s", "model_s")

Row = dict[str, Any]


def rows(text: str) -> list[Row]:
    """Return the objects of JSON Lines."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def printed(command: Sequence[str], folder: Path | None = None) -> str:
    """Return what a program prints; it must not fail."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
    return done.stdout


def options(name: str, values: Sequence[str]) -> list[str]:
    """Return an option that is repeated for each value."""
    return [word for value in values for word in (name, value)]


def fluid(tidings: Path, network: str, shape: str, *further: str) -> list[Row]:
    """Return the rows of a model."""
    command = [str(tidings), "lab", "fluid", network, "--shape", shape, *further]
    return rows(printed(command))


def predictions(found: Sequence[Row]) -> dict[str, Row]:
    """Return what each order does to the links."""
    return {row["variant"]: row for row in found if row["test"] == "halo-prediction"}


def growth_lines(processes: int, found: Sequence[Row]) -> Iterator[list[object]]:
    """Yield the lines of one machine."""
    predicted = predictions(found)
    for row in found:
        if "samples_s" not in row:
            continue
        key = [row["test"], row["variant"], row["bytes"], row["count"]]
        order = predicted.get(row["variant"].partition(",")[0])
        links = ["", ""]
        if order is not None and row["test"] == "halo":
            links = [order["hops_a_message"], order["messages_of_the_busiest_link"]]
        yield [processes, *key, row["samples_s"][0], *links]


def grown(lines: Sequence[Sequence[Any]]) -> Iterator[Row]:
    """Yield what grows, as tidings.scaling reads it."""
    most = max(TORI)
    farthest: dict[int, tuple[int, float]] = {}
    for processes, test, _, size, count, seconds, *_ in lines:
        if test == "hotspot" and processes == most:
            yield value(f"hot spot, {size} B", "w", count, seconds)
        if test == "hops-latency" and size == 0:
            farthest[processes] = max(farthest.get(processes, (0, 0.0)), (count, seconds))
    for processes in TORI:
        yield value("farthest node", "p", processes, farthest[processes][1])


def value(function: str, parameter: str, size: int, seconds: float) -> Row:
    """Return a row of tidings.scaling."""
    names = {"function": function, "metric": "time", "parameter": parameter, "unit": "s"}
    return {**names, "size": size, "value": seconds, "run": "0", "repetition": 0}


def growth(tidings: Path, kept: Path, output: Path) -> None:
    """Compute all sizes."""
    table = Table(output / "growth.csv", command="studies/fluid/run growth")
    lines: list[list[object]] = []
    took_s = {}
    for processes, shape in TORI.items():
        begin = time.monotonic()
        size = ["--cores", str(CORES), "--factor", "1048576"]
        tests = options("--test", ("hops", "hotspot", "overlap"))
        found = fluid(tidings, "torus", shape, *size, *tests)
        orders = [] if processes == ALL_ORDERS else options("--order", FEW)
        for side in HALO_SIDES:
            one = ["--halo-least", str(side), "--halo-largest", str(side)]
            found += fluid(tidings, "torus", shape, *size, *orders, *one, "--test", "halo")
        lines += growth_lines(processes, found)
        took_s[str(processes)] = round(time.monotonic() - begin, 1)
        print(f"{processes} processes: {took_s[str(processes)]} s", file=sys.stderr)
    kept.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{json.dumps(row)}\n" for row in grown(lines))
    (kept / "growth.jsonl").write_text(text, encoding="utf-8")
    table.write_rows(GROWTH, lines, facts={"wall_s_by_processes": took_s})


@dataclass(frozen=True)
class Beside:
    """A machine of SMPI, with the tests that run there."""

    kind: str
    network: str
    shape: str
    nodes: int
    each: int
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its files."""
        tests = "-halo" if self.tests == HALO else ""
        return f"{self.kind}-{self.shape.replace(',', 'x')}-{self.each}{tests}"


HALO = ("halo",)
"""It has other sizes than the rest, so that it has a run of its own."""
SMALL = ("pair", "overlap", "hotspot", "fans")
LARGE = ("hops", "overlap", "fans")
MACHINES = (
    Beside("bluegene-p", "torus", "8,4,2", 64, 2, ("hops", "cores", "through", "streams", *SMALL)),
    Beside("bluegene-p", "torus", "4,4,4", 64, 1, HALO),
    Beside("fat-tree", "fat-tree", "8,8", 64, 2, ("cores", "streams", *SMALL)),
    Beside("fat-tree", "fat-tree", "8,8", 64, 1, HALO),
    Beside("dragonfly", "dragonfly", "2,2,4,4", 64, 1, (*SMALL, "halo")),
    Beside("bluegene-p", "torus", "8,8,8", 512, 1, LARGE),
    Beside("bluegene-p", "torus", "8,8,8", 512, 1, HALO),
    Beside("bluegene-p", "torus", "16,8,8", 1024, 1, LARGE),
    Beside("bluegene-p", "torus", "16,8,8", 1024, 1, HALO),
)
REPETITIONS = 3
"""The last may meet the messages by which ranks hand in their times."""
ALL_GATHER = "--cfg=smpi/allgather:bruck"
"""By SMPI's own, with which windows are made, a run of hundreds of ranks takes hours."""
SHARES = "--cfg=network/optim:Full"
"""In HALO all flows meet: which links to share anew costs more than to share all of them."""


def sizes(one: Beside) -> list[str]:
    """Return which sizes of messages are compared, or of HALO, where the sides need more steps."""
    return ["--factor", "8" if "halo" in one.tests else "1024", "--halo-largest", "1024"]


def simulated(one: Beside, smpi: Path, kept: Path) -> list[Row]:
    """Return the rows of a machine of SMPI: those that are kept, or of a run."""
    file = kept / f"{one.name}.jsonl"
    if not file.exists():
        kept.mkdir(parents=True, exist_ok=True)
        platform, hosts = kept / f"{one.name}.xml", kept / f"{one.name}.hosts"
        make = [str(ROOT / "mpi/platforms/make.py"), one.kind, "--shape", one.shape]
        make += ["--output", str(platform), "--hosts", str(hosts)]
        printed([*make, "--ranks-per-node", str(one.each)])
        command = ["smpirun", "-no-privatize", "-n", str(one.nodes * one.each)]
        command += ["-platform", str(platform), "-hostfile", str(hosts)]
        command += ["--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0"]
        command += [ALL_GATHER, *([SHARES] if one.tests == HALO else [])]
        command += ["--log=root.thres:error", str(smpi)]
        command += ["--repetitions", str(REPETITIONS), *sizes(one)]
        if one.network == "torus":
            command += ["--torus", one.shape]
        if "halo" in one.tests:
            command += ["--protocols", "isend-and-irecv"]  # which is the model's
        text = printed([*command, *options("--test", one.tests)], kept)
        file.with_suffix(".part").write_text(text, encoding="utf-8")
        file.with_suffix(".part").replace(file)
    return rows(file.read_text(encoding="utf-8"))


def medians(found: Sequence[Row]) -> dict[tuple[str, str, int, int], float]:
    """Return the median of each series, without the warm-up; a model has one sample."""
    keys = ("test", "variant", "bytes", "count")
    return {
        tuple(row[key] for key in keys): median(row["samples_s"][row.get("warmups", 0) :])
        for row in found
        if "samples_s" in row
    }


def validation(given: argparse.Namespace) -> None:
    """Lay the model beside SMPI."""
    command = f"FLUID_NODES={given.nodes} studies/fluid/run validation"
    table = Table(given.output / "validation.csv", command=command)
    lines: list[list[object]] = []
    for one in (one for one in MACHINES if one.nodes <= given.nodes):
        tests = options("--test", one.tests)
        size = ["--cores", str(one.each), "--as-simgrid", *sizes(one)]
        modelled = medians(fluid(given.tidings, one.network, one.shape, *size, *tests))
        measured = medians(simulated(one, given.smpi, given.kept))
        print(f"{one.name}: {len(measured)} series", file=sys.stderr)
        lines += [
            [one.kind, one.nodes, *key, measured[key], modelled[key]]
            for key in sorted(measured.keys() & modelled.keys())
        ]
    simgrid = {"simgrid": first_line(["smpirun", "-version"])}
    table.write_rows(BESIDE, lines, added=simgrid)


def main() -> int:
    """Make the table that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=("growth", "validation"))
    parser.add_argument("--tidings", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--smpi", type=Path)
    parser.add_argument("--nodes", type=int, default=1024, help="SMPI's largest machine")
    parser.add_argument("--kept", type=Path, required=True)
    given = parser.parse_args()
    if given.table == "growth":
        return exit_code("measure", lambda: growth(given.tidings, given.kept, given.output))
    return exit_code("measure", lambda: validation(given))


if __name__ == "__main__":
    sys.exit(main())
