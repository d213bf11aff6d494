"""Seconds from a shell's line to a verdict: a check in a process of its own, beside others.

    python start.py --extra-p /path/to/python --output .

A folder with ten functions, each measured five times at seven sizes, and its scaling.toml. In turn
run a Python that imports NumPy and nothing else, `check`, and Extra-P, which models the same values
from its text format. Writes start.csv: the medians of wall time and of CPU time, with the lowest
and the highest, and their ratio to those of NumPy alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np
from drawing.manifest import Table

FUNCTIONS = 10
REPETITIONS = 5
SIZES = tuple(16 * 2**step for step in range(7))
TURNS = 40
WARM = 2
COLUMNS = (
    "program",
    "turns",
    *(f"{what}_{of}" for what in ("wall", "cpu") for of in ("s", "least_s", "most_s", "ratio")),
)


def measurements(folder: Path, seed: int) -> None:
    """Write the same values as JSON Lines with expectations, and in Extra-P's text format."""
    noise = np.random.default_rng(seed)
    names = [f"f{number}" for number in range(FUNCTIONS)]
    values = {
        name: [size * np.log2(size) * noise.normal(1, 0.02, REPETITIONS) for size in SIZES]
        for name in names
    }
    with (folder / "values.jsonl").open("w") as file:
        for name, rows in values.items():
            for size, row in zip(SIZES, rows, strict=True):
                for value in row:
                    fields = f'"function": "{name}", "metric": "work", "parameter": "n"'
                    file.write(f'{{{fields}, "size": {size}, "value": {value}}}\n')
    expected = "".join(
        f'[[expectation]]\nfunction = "{name}"\nmetric = "work"\ngrowth = "n log n"\n'
        for name in names
    )
    (folder / "scaling.toml").write_text(f'measurements = ["values.jsonl"]\n{expected}')
    points = " ".join(f"({size})" for size in SIZES)
    text = f"PARAMETER n\n\nPOINTS {points}\n\n"
    for name, rows in values.items():
        text += f"REGION {name}\nMETRIC work\n"
        text += "".join(f"DATA {' '.join(map(str, row))}\n" for row in rows)
        text += "\n"
    (folder / "values.txt").write_text(text)


def seconds(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[float, float]:
    """Return wall and CPU time of a process that ends well."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, check=True, cwd=folder, env=environment, capture_output=True)
    wall, after = time.perf_counter() - began, os.times()
    cpu = after.children_user + after.children_system
    return wall, cpu - before.children_user - before.children_system


def row(
    program: str, times: list[tuple[float, float]], alone: list[tuple[float, float]]
) -> list[object]:
    """Return the medians of a program, and their ratios to those of NumPy alone."""
    cells: list[object] = [program, len(times)]
    for at in (0, 1):
        own, bare = ([pair[at] for pair in of] for of in (times, alone))
        numbers = (median(own), min(own), max(own), median(own) / median(bare))
        cells += [f"{number:.3g}" for number in numbers]
    return cells


def main() -> None:
    """Run in turn, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extra-p", type=Path, required=True, help="python that has extrap")
    parser.add_argument("--seed", type=int, default=5700, help="of the values")
    parser.add_argument("--turns", type=int, default=TURNS, help="of each program")
    parser.add_argument("--output", type=Path, required=True, help="folder of start.csv")
    options = parser.parse_args()
    table = Table(options.output / "start.csv", seed=options.seed)
    programs = {
        "import numpy": [sys.executable, "-c", "import numpy"],
        "check": [sys.executable, "-m", "tidings.scaling", "check"],
        "Extra-P": [str(options.extra_p.absolute().with_name("extrap")), "--text", "values.txt"],
    }
    # What is imported is compiled once, as an installed package is.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as compiled:
        environment["PYTHONPYCACHEPREFIX"] = compiled
        folder = Path(name)
        measurements(folder, options.seed)
        times: dict[str, list[tuple[float, float]]] = {program: [] for program in programs}
        for turn in range(WARM + options.turns):
            for program, command in programs.items():
                taken = seconds(command, folder, environment)
                if turn >= WARM:
                    times[program].append(taken)
    rows = [row(program, taken, times["import numpy"]) for program, taken in times.items()]
    for one in rows:
        print(*one)
    table.write_rows(COLUMNS, rows, added={"extrap": "4.2.5"})


if __name__ == "__main__":
    main()
