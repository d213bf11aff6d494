"""Figure 3, and what an agent adds: FTQ on one core in every setting of the machine.

    studies/noise/run figure-3

Settings alternate within a repetition, in another order each time. Written are `settings.csv`, a
row for each measurement, and `quanta.csv`, the work of the quanta of the first repetition, thinned
to the least of each stretch so that no gap is lost.

Exit status: 0 done, 1 a measurement failed (roles are undone), 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from drawing.manifest import Table
from machine import Agent, Tools, agents, application_core, begin, load, planned, roles
from tidings.noise.samples import Measured

COLUMNS = (
    "repetition",
    "state",
    "load",
    "agent",
    "interval_ms",
    "lost_share",
    "longest_us",
    "gaps_per_s",
    "preemptions_per_s",
    "tick_share",
    "quanta_variation",
    "speed_variation",
    "named_share",
    "own_share",
    "attribution",
)
QUANTA = ("setting", "time_s", "work")
POINTS = 400
"""Points of a line of the figure."""
INTERVALS_MS = (256, 16, 1)


@dataclass(frozen=True)
class Setting:
    """A state of the machine, a load, and where an agent runs, if one does."""

    state: str
    load: str
    agent: Agent | None = None

    @property
    def name(self) -> str:
        """Return what the figure calls it."""
        beside = f", {self.agent.interval_ms} ms, {self.agent.place}" if self.agent else ""
        return f"{self.state}, {self.load}{beside}"


def settings() -> list[Setting]:
    """Return all settings."""
    states = ("stock", "shielded", "application")
    plain = [Setting(state, load) for state in states for load in ("idle", "hostile")]
    places = (
        ("stock", "unconfined"),
        ("application", "service core"),
        ("application", "application core"),
    )
    beside = [
        Setting(state, "idle", Agent(place, interval))
        for state, place in places
        for interval in INTERVALS_MS
    ]
    return [*plain, *beside]


def order(repetitions: int) -> Iterator[tuple[int, str, list[Setting]]]:
    """Yield repetition, state, and the settings of it: the machine changes its state seldom."""
    chance, every = random.Random(1), settings()
    for repetition in range(1, repetitions + 1):
        states = list(dict.fromkeys(one.state for one in every))
        chance.shuffle(states)
        for state in states:
            chosen = [one for one in every if one.state == state]
            chance.shuffle(chosen)
            yield repetition, state, chosen


def row(repetition: int, one: Setting, result: dict[str, Any]) -> list[object]:
    """Return the row of a measurement."""
    probe = result["probes"][0]
    seconds = probe["measured_s"]
    ticks = sum(own["lost_ns"] for own in probe["sources"] if own["kind"] == "timer")
    return [
        repetition,
        one.state,
        one.load,
        one.agent.place if one.agent else "",
        one.agent.interval_ms if one.agent else "",
        f"{probe['lost_share']:.6g}",
        f"{probe['gaps']['longest_ns'] / 1e3:.6g}",
        f"{probe['gaps']['per_s']:.6g}",
        f"{probe['kernel']['preemptions'] / seconds:.6g}",
        f"{ticks / 1e9 / seconds:.6g}",
        f"{probe['quanta']['variation']:.6g}",
        f"{probe['speed']['variation']:.6g}",
        f"{probe['named_share']:.6g}",
        f"{probe['own']['share']:.6g}",
        result["attribution"]["by"],
    ]


def line(one: Setting, measured: Measured) -> list[list[object]]:
    """Return the line of a setting: work by that of a quantum that nothing disturbed."""
    quanta = measured.quanta(measured.result["probes"][0])
    work = quanta["units"].astype(float)
    work /= np.percentile(work, 95)
    step = max(1, len(work) // POINTS)
    whole = len(work) // step * step
    least = work[:whole].reshape(-1, step).min(axis=1)
    seconds = (quanta["begin_ns"][:whole:step] - quanta["begin_ns"][0]) / 1e9
    pairs = zip(seconds, least, strict=True)
    return [[one.name, f"{at:.4g}", f"{value:.4g}"] for at, value in pairs]


def measured(tools: Tools, one: Setting, core: int, seconds: int, folder: Path) -> Measured:
    """Measure a setting, whose state the machine is in."""
    output = folder / one.name.replace(" ", "-").replace(",", "")
    words = ["lab", "noise", "--cores", str(core), "--for", f"{seconds}s", "--output", str(output)]
    if one.state != "stock":
        words += ["--role", "application"]
    tools.tell(*words, "--json")
    return Measured.read(output)


def measure(options: argparse.Namespace) -> None:
    """Measure all, and write both tables."""
    tools = Tools(options.tidings, options.agent, options.c)
    table, quanta = (
        Table(options.output / "settings.csv", seed=1),
        Table(options.output / "quanta.csv", seed=1),
    )
    core = application_core(tools)
    service = ",".join(map(str, planned(tools, "service")))
    rows: list[list[object]] = []
    lines: list[list[object]] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=options.c) as folder:
        for repetition, state, chosen in order(options.repetitions):
            with roles(tools, state):
                for one in chosen:
                    with (
                        load(tools, one.load),
                        agents(tools, one.agent, options.peers, service),
                    ):
                        found = measured(tools, one, core, options.seconds, Path(folder))
                    rows.append(row(repetition, one, found.result))
                    if repetition == 1:
                        lines += line(one, found)
                    lost = 100 * found.result["probes"][0]["lost_share"]
                    print(
                        f"{time.monotonic() - began:5.0f} s  {one.name}: {lost:.3f} %", flush=True
                    )
    facts = {"core": core, "seconds": options.seconds, "peers": options.peers}
    table.write_rows(COLUMNS, rows, facts=facts)
    quanta.write_rows(QUANTA, lines, facts=facts)


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tidings", type=Path, required=True)
    parser.add_argument("--agent", type=Path, required=True)
    parser.add_argument("--c", type=Path, required=True, help="the folder of the programs in C")
    parser.add_argument("--seconds", type=int, default=4, help="of a measurement")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--peers", type=int, default=3, help="agents beside the one looked at")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    return begin(lambda: measure(options))


if __name__ == "__main__":
    sys.exit(main())
