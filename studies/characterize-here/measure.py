"""The study's tables: hosts made here beside what was asked and modelled."""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import days
from drawing.manifest import Table, exit_code, first_line

ROOT = Path(__file__).resolve().parents[2]
STUDY = Path(__file__).resolve().parent
LINKS = ("machine", "from", "to", "asked_mbit", "mbit", "asked_round_us", "round_us", "counted")
OVERLAP = ("flow", "beside", "runs", "mbit", "mbit_low", "mbit_high")
MAPPINGS = ("order", "hops", "messages", "links_s", "model_s", "seconds", "low", "high", "place")

TORUS, CORES = "3,3,3", 2
MBIT = (2.0, 1.7, 1.5)
"""Links of the torus of mappings.toml along X, Y and Z."""
PAYLOAD = 1448 / 1514
"""What of a full frame of TCP is the message's."""
SIDE = 8192
"""HALO's N."""
EQUAL, REFUSED, DIFFERS = 0, 2, 5
"""Exit codes of a comparison."""


class Bench:
    """The command that is tried, and where its runs are kept: one that was stopped goes on."""

    def __init__(self, given: argparse.Namespace) -> None:
        """Take it from the command line."""
        self.tidings: Path = given.tidings
        self.target: Path = given.target
        self.kept: Path = given.kept
        self.rounds: int | None = given.rounds
        self.pairs: int = given.pairs
        self.kept.mkdir(parents=True, exist_ok=True)

    def series(self, name: str, lies: str | None = None, **instead: object) -> Path:
        """Lay one of the study's series beside its runs, with these values instead of its own."""
        text = (STUDY / f"{name}.toml").read_text(encoding="utf-8")
        text = text.replace("../../target", str(self.target))
        if self.rounds:
            instead["rounds"] = self.rounds
        for key, value in instead.items():
            text = re.sub(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
        file = self.kept / f"{lies or name}.toml"
        file.write_text(text, encoding="utf-8")
        return file

    def characterised(self, folder: str, *words: str) -> Path:
        """Characterise into a folder of this name."""
        output = self.kept / folder
        command = [str(self.tidings), "lab", "characterize", *words, "--output", str(output)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return output

    def compared(self, first: Path, second: Path) -> tuple[int, list[days.Difference]]:
        """Return the exit code of a comparison, and its lines; none if runs are too few."""
        command = [str(self.tidings), "lab", "compare", "--json", str(first), str(second)]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode not in (EQUAL, REFUSED, DIFFERS):
            done.check_returncode()
        return done.returncode, json.loads(done.stdout) if done.stdout else []


def cells(file: Path) -> list[dict[str, str]]:
    """Return the lines of a table of the command."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def links(bench: Bench) -> Iterator[list[object]]:
    """Yield each direction of each link."""
    folder = bench.characterised("links", str(bench.series("links")))
    for own in cells(folder / "links.csv"):
        frames = [own[name] for name in ("sent_bytes", "counted_from", "counted_to")]
        counted = len(set(frames)) == 1 and own["lost"] == "0"
        yield [own[name] for name in LINKS[:-1]] + ["true" if counted else "false"]


def mbit(size: str, seconds: str) -> str:
    """Return a rate in Mbit/s."""
    return f"{8e-6 * float(size) / float(seconds):.3f}"


def overlap(bench: Bench) -> Iterator[list[object]]:
    """Yield each flow, alone and beside the other."""
    folder = bench.characterised("overlap", str(bench.series("overlap")))
    for own in cells(folder / "points.csv"):
        if own["test"] == "overlap" and own["bytes"] == "65536":
            flow, beside = own["variant"].split(", ")
            ends = [own[name] for name in ("seconds", "seconds_high", "seconds_low")]
            rates = [mbit(own["bytes"], seconds) for seconds in ends]
            yield [flow, beside.removeprefix("with "), own["runs"], *rates]


def modelled(bench: Bench) -> dict[str, float]:
    """Return the seconds of an exchange by the fluid model, for each order."""
    rates = ",".join(f"{rate * PAYLOAD / 8e3:.9f}" for rate in MBIT)
    command = [str(bench.tidings), "lab", "fluid", "torus", "--shape", TORUS]
    command += ["--cores", str(CORES), "--link-gb-s", rates, "--engines-gb-s", "1,1"]
    command += ["--test", "halo", "--halo-least", str(SIDE), "--halo-largest", str(SIDE)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        row["variant"].partition(",")[0]: row["samples_s"][0]
        for row in rows
        if row["test"] == "halo"
    }


def mappings(bench: Bench) -> Iterator[list[object]]:
    """Yield each order: predicted by the busiest link and by the model, and measured."""
    by_model = modelled(bench)
    folder = bench.characterised("mappings", str(bench.series("mappings")))
    found = cells(folder / "orders.csv")
    measured = sorted(float(own["seconds"]) for own in found)
    for own in sorted(found, key=lambda own: (by_model[own["order"]], own["order"])):
        place = 1 + measured.index(float(own["seconds"]))
        yield [
            own["order"],
            own["hops_a_message"],
            own["messages_of_the_busiest_link"],
            own["predicted_s"],
            by_model[own["order"]],
            own["seconds"],
            own["seconds_low"],
            own["seconds_high"],
            place,
        ]


def of_days(bench: Bench) -> Iterator[list[object]]:
    """Yield each comparison of two sessions, all of which are measured first."""
    folders = {}
    ends = time.monotonic() + days.LIMIT_S
    for own in days.sessions(bench.pairs):
        if time.monotonic() > ends:
            raise TimeoutError(f"{days.LIMIT_S} s passed before {own.name}: run it again to go on")
        series = bench.series("days", f"days-{own.name}", first_link_mbit=[own.mbit])
        folders[own] = bench.characterised(f"days-{own.name}", str(series))
    for at, (kind, first, second) in enumerate(days.pairs(bench.pairs), 1):
        code, found = bench.compared(folders[first], folders[second])
        yield [at, kind, first.name, second.name, code, *days.row(found)]


def measure(given: argparse.Namespace) -> None:
    """Make a table."""
    bench = Bench(given)
    command = f"studies/characterize-here/run {given.part}"
    table = Table(given.output / f"{given.part}.csv", command=command)
    columns, lines = PARTS[given.part]
    openmpi = {"openmpi": first_line(["mpirun.openmpi", "--version"])}
    table.write_rows(columns, list(lines(bench)), added=openmpi)


PARTS = {
    "links": (LINKS, links),
    "overlap": (OVERLAP, overlap),
    "mappings": (MAPPINGS, mappings),
    "days": (days.COLUMNS, of_days),
}


def main() -> int:
    """Make the table that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--tidings", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True, help="cargo's folder, with mpi")
    parser.add_argument("--kept", type=Path, required=True, help="where runs are kept")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--rounds", type=int, help="instead of those of the series")
    parser.add_argument("--pairs", type=int, default=days.PAIRS, help="of sessions of each kind")
    given = parser.parse_args()
    return exit_code("measure", lambda: measure(given))


if __name__ == "__main__":
    sys.exit(main())
