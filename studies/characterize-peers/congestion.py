"""The table of congestion: factors by our tests, and by canaries beside congestors."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from drawing.manifest import Table, exit_code, first_line
from peer_statistics import Estimate, interquartile_mean, paired

STUDY = Path(__file__).resolve().parent
ESTIMATES = [f"{of}{end}" for of in ("ours", "canary") for end in ("", "_low", "_high")]
COLUMNS = ["case", "ours_is", "bytes", "rounds", *ESTIMATES]
FLOWS = ("P0-P3", "P1-P2", "P0-P2", "P1-P3")
BESIDE = dict(zip(FLOWS, ("P1-P2", "P0-P3", "P1-P3", "P0-P2"), strict=True))
ROUNDS = 4


class Point(NamedTuple):
    """A point of our tests: its test, variant and count."""

    test: str
    variant: str
    count: int


class Case(NamedTuple):
    """A case of congestion.c, and our points: loaded over alone."""

    name: str
    ours_is: str
    size: int
    loaded: Point
    alone: Point


def flow_case(flow: str) -> Case:
    """Return the case of a flow beside another one over the link in the middle."""
    loaded = Point("overlap", f"{flow}, with {BESIDE[flow]}", 0)
    alone = Point("overlap", f"{flow}, no overlap", 0)
    return Case(f"{flow} with {BESIDE[flow]}", "overlap", 32768, loaded, alone)


def counted_case(name: str, size: int, most: int, test: str, variant: str) -> Case:
    """Return the case of several at once, over one."""
    ours_is = f"{test}, {most} over 1"
    return Case(name, ours_is, size, Point(test, variant, most), Point(test, variant, 1))


CASES = (
    *map(flow_case, FLOWS),
    counted_case("two streams", 32768, 2, "streams", "all streams"),
    counted_case("hot spot", 16384, 3, "hotspot", "mean of workers"),
    counted_case("two allreduce at once", 16384, 2, "parallel-allreduce", "communicators at once"),
)

Row = dict[str, Any]
Place = tuple[object, ...]
"""Test, variant, count or phase, and bytes."""
Value = dict[Place, float]


def values(rows: Iterable[Row]) -> dict[int, Value]:
    """Return the middle of each point's samples by round, and by what the point is of."""
    found: dict[int, Value] = {}
    for row in rows:
        samples = row.get("samples_s", [])[int(row.get("warmups", 0)) :]
        if not samples:
            continue
        place = (row["test"], row["variant"], row.get("count", row.get("beside")), row["bytes"])
        found.setdefault(int(row["run"]), {})[place] = interquartile_mean(samples)
    return found


def factor(rounds: Sequence[Value], loaded: Place, alone: Place) -> Estimate:
    """Return how much longer it takes under load, the median over rounds."""
    return paired([one[loaded] for one in rounds], [one[alone] for one in rounds]).ratio


def lines(rows: Iterable[Row]) -> Iterator[list[object]]:
    """Yield a line for each case; a round that lacks a point of it is left out."""
    by_round = list(values(rows).values())
    for case in CASES:
        own = [(*point, case.size) for point in (case.loaded, case.alone)]
        peer = [("congestion", case.name, beside, case.size) for beside in ("congested", "alone")]
        whole = [one for one in by_round if all(place in one for place in (*own, *peer))]
        line = [case.name, case.ours_is, case.size, len(whole)]
        if not whole:
            yield [*line, *[""] * len(ESTIMATES)]
            continue
        both = [*factor(whole, own[0], own[1]), *factor(whole, peer[0], peer[1])]
        yield [*line, *(f"{value:.4g}" for value in both)]


def measure(given: argparse.Namespace) -> None:
    """Run the series, and write its table."""
    command = "studies/characterize-peers/run congestion"
    table = Table(given.output / "congestion.csv", command=command)
    given.scratch.mkdir(parents=True, exist_ok=True)
    text = (STUDY / "congestion.toml").read_text(encoding="utf-8")
    text = text.replace("../../target", str(given.target))
    file = given.scratch / "congestion.toml"
    file.write_text(text.replace("rounds = 4", f"rounds = {given.rounds}"), encoding="utf-8")
    kept = given.scratch / "congestion"
    series = [str(given.tidings), "lab", "series", str(file), "--output", str(kept)]
    subprocess.run(series, check=True, stdout=subprocess.DEVNULL)
    rows = (kept / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    openmpi = {"openmpi": first_line(["mpirun.openmpi", "--version"])}
    table.write_rows(COLUMNS, lines(map(json.loads, rows)), added=openmpi)


def main() -> int:
    """Make the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tidings", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True, help="cargo's folder, with mpi")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    return exit_code("congestion", lambda: measure(given))


if __name__ == "__main__":
    sys.exit(main())
