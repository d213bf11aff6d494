"""The tables of one session with our characterisation, IMB and NetPIPE."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from drawing.manifest import Table, exit_code, first_line
from peer_programs import Places, Programs, RunError
from peer_session import Block, blocks, near
from peer_statistics import paired

ESTIMATES = [f"{of}{end}" for of in ("ours", "theirs", "ratio") for end in ("", "_low", "_high")]
PEERS = ["mpi", "quantity", "peer", "how", "bytes", "rounds", *ESTIMATES, "agrees"]
"""Times are in seconds."""
ROUNDS = ["block", "rounds", "moved", "busy", "elsewhere", "kept", "gauge_ns"]
SECONDS, SEED = 420.0, 21
COMPARED = (
    ("latency", "IMB PingPong", "as reported", "ours", "PingPong"),
    ("latency", "NetPIPE", "as reported", "ours", "NetPIPE"),
    ("bandwidth", "IMB Uniband", "as reported", "ours", "Uniband"),
    ("bandwidth", "NetPIPE -s", "as reported", "ours", "NetPIPE -s"),
    ("bandwidth", "IMB Uniband", "same pattern", "ours, windows", "Uniband"),
    ("bandwidth", "NetPIPE -s", "same pattern", "ours, trials", "NetPIPE -s"),
    ("allreduce", "IMB Allreduce", "as reported", "ours", "Allreduce"),
    ("allreduce", "IMB Allreduce", "same statistic", "ours, calls", "Allreduce, calls"),
)
"""Quantity, peer, and how they are compared: what of ours, and what of the peer's."""


def counted(name: str, made: list[Block]) -> tuple[list[Block], list[object]]:
    """Return the blocks of a name that count, and the line that says how many do not, and why."""
    own = [block for block in made if block.name == name]
    faults = [block.fault() for block in own]
    steady = [block for block, fault in zip(own, faults, strict=True) if not fault]
    gauges = [statistics.median(block.gauges_ns) for block in steady]
    kept = [block for block, gauge in zip(steady, gauges, strict=True) if near(gauge, gauges)]
    usual = statistics.median(gauges) if gauges else 0.0
    why = [faults.count("moved"), faults.count("busy"), len(steady) - len(kept)]
    line: list[object] = [name, len(own), *why, len(kept), f"{usual:.0f}"]
    return kept, line


def compared(name: str, kept: list[Block]) -> Iterator[list[object]]:
    """Yield a line for each quantity, peer and size; empty where one lacks the size."""
    for quantity, peer, how, own_way, peer_way in COMPARED:
        sides = [(quantity, own_way), (quantity, peer_way)]
        if not kept or any(side not in kept[0].readings for side in sides):
            continue
        ours, theirs = ([block.readings[side] for block in kept] for side in sides)
        for size in sorted(set(ours[0]) | set(theirs[0])):
            mpi = "Open MPI" if name == "Open MPI" else "MPICH"
            line: list[object] = [mpi, quantity, peer, how, size]
            if size not in ours[0] or size not in theirs[0]:
                missing = "ours lacks it" if size not in ours[0] else "peer lacks it"
                yield [*line, 0, *[""] * 9, missing]
                continue
            pair = paired([one[size] for one in ours], [one[size] for one in theirs])
            estimates = [*pair.ours, *pair.peer, *pair.ratio]
            yield [*line, pair.rounds, *(f"{value:.5g}" for value in estimates), pair.agrees]


def saved(block: Block) -> str:
    """Return a block as a line of the session's journal."""
    readings = [[*key, reading] for key, reading in block.readings.items()]
    return json.dumps([block.name, block.gauges_ns, block.others, readings]) + "\n"


def measure_peers(given: argparse.Namespace) -> None:
    """Run the session, and write both of its tables."""
    command = "studies/characterize-peers/run peers"
    peers = Table(given.output / "peers.csv", command=command, seed=SEED)
    rounds = Table(given.output / "rounds.csv", command=command, seed=SEED)
    given.scratch.mkdir(parents=True, exist_ok=True)
    places = Places(given.mpi, given.imb, given.library, given.calls, given.scratch)
    made = []
    with (given.scratch / "blocks.jsonl").open("w", encoding="utf-8") as journal:
        for block in blocks(Programs(places), given.gauge, given.seconds, SEED):
            made.append(block)
            journal.write(saved(block))
            journal.flush()
    lines: list[list[object]] = []
    counts = []
    for name in ("MPICH", "allreduce", "Open MPI"):
        kept, count = counted(name, made)
        counts.append(count)
        lines += compared(name, kept)
    added = {
        "openmpi": first_line(["mpirun.openmpi", "--version"]),
        "mpich": first_line(["mpichversion"]),
        "netpipe": first_line(["dpkg-query", "-W", "-f", "${Version}", "netpipe-mpich2"]),
        "imb": given.imb_version,
    }
    peers.write_rows(PEERS, lines, added=added)
    rounds.write_rows(ROUNDS, counts, added=added)


def main() -> int:
    """Make the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--output", "--scratch", "--mpi", "--imb", "--library", "--calls", "--gauge"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--imb-version", required=True)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    return exit_code("peers", lambda: measure_peers(given), RunError)


if __name__ == "__main__":
    sys.exit(main())
