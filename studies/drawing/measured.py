"""A table of measured values as CSV, with a manifest beside it that says where they come from."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tidings.scaling.measurement import Measurement, Row

ROOT = Path(__file__).parents[2]


class Value(NamedTuple):
    """One value: of which machine, function and metric, at which size, in which run."""

    machine: str
    function: str
    metric: str
    size: float
    run: str
    value: float
    unit: str


def write(
    path: Path,
    values: Iterable[Value],
    command: str,
    versions: Mapping[str, str],
    wall_s: float,
) -> None:
    """Write values and their manifest."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Value._fields)
        for one in values:
            writer.writerow([*one[:3], f"{one.size:g}", one.run, f"{one.value:.9g}", one.unit])
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    manifest = {
        "command": command,
        "commit": commit,
        "seed": None,
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "processors": os.cpu_count(),
        "versions": dict(versions),
        "wall_s": round(wall_s),
    }
    text = json.dumps(manifest, indent=2) + "\n"
    path.with_suffix(".manifest.json").write_text(text, encoding="utf-8")


def read(path: Path) -> list[Value]:
    """Read values back."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Value(
                row["machine"],
                row["function"],
                row["metric"],
                float(row["size"]),
                row["run"],
                float(row["value"]),
                row["unit"],
            )
            for row in csv.DictReader(file)
        ]


def measurement(values: Iterable[Value], machine: str, function: str, metric: str) -> Measurement:
    """Return all of one machine, function and metric as a measurement."""
    chosen = [v for v in values if v[:3] == (machine, function, metric)]
    rows = [Row(v.size, v.run, str(at), v.value) for at, v in enumerate(chosen)]
    parameter = "k" if machine == "MAFIA" else "p"
    return Measurement.of(rows, function, metric, parameter, chosen[0].unit if chosen else "")
