"""A million rows: the memory and the CPU time that a check of them takes, by the form of the file.

    python rows.py --output .

Ten sizes, 5 % of noise, all values different. Writes rows.csv: the peak of resident memory and the
CPU seconds of `tidings-scaling check`, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from drawing.manifest import Table

ROWS = 1_000_000
SIZES = [2**k for k in range(6, 16)]
STATED = '[[expectation]]\nfunction = "f"\nmetric = "time"\ngrowth = "n"\n'
SEED = 1


def values() -> dict[int, list[float]]:
    """Return the values of each size."""
    rng = np.random.default_rng(SEED)
    each = ROWS // len(SIZES)
    return {n: (1e-6 * n * (1 + 0.05 * rng.standard_normal(each))).tolist() for n in SIZES}


def json_lines(measured: dict[int, list[float]]) -> Iterable[str]:
    """Yield JSON Lines with runs and repetitions."""
    for n, at_size in measured.items():
        for number, value in enumerate(at_size):
            row = {"function": "f", "metric": "time", "parameter": "n", "size": n, "value": value}
            yield json.dumps({**row, "run": f"r{number % 100}", "repetition": number}) + "\n"


def csv_lines(measured: dict[int, list[float]]) -> Iterable[str]:
    """Yield CSV."""
    yield "function,n,time\n"
    for n, at_size in measured.items():
        yield from (f"f,{n},{value}\n" for value in at_size)


def extra_p(measured: dict[int, list[float]]) -> Iterable[str]:
    """Yield the text of Extra-P."""
    yield f"PARAMETER n\nPOINTS {' '.join(map(str, measured))}\nREGION f\nMETRIC time\n"
    for at_size in measured.values():
        yield f"DATA {' '.join(map(str, at_size))}\n"


def pytest_benchmark(measured: dict[int, list[float]]) -> Iterable[str]:
    """Yield the document of pytest-benchmark."""
    listed = [
        {"name": f"f[{n}]", "params": {"n": n}, "stats": {"data": at_size}}
        for n, at_size in measured.items()
    ]
    yield json.dumps({"benchmarks": listed}, indent=4)


FORMS = {
    "JSON Lines": json_lines,
    "CSV": csv_lines,
    "Extra-P text": extra_p,
    "pytest-benchmark": pytest_benchmark,
}


def checked(specification: Path, file: Path) -> tuple[float, float]:
    """Return the MiB and the CPU seconds of a check."""
    words = [sys.executable, "-m", "tidings.scaling", "check", "--file", specification, file]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{file}: the check ended with status {status}")
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="folder of rows.csv")
    options = parser.parse_args()
    table = Table(options.output / "rows.csv", seed=SEED)
    lines = []
    with tempfile.TemporaryDirectory() as name:
        specification = Path(name) / "scaling.toml"
        specification.write_text(STATED, encoding="utf-8")
        for form, write in FORMS.items():
            file = Path(name) / "measured"
            with file.open("w", encoding="utf-8") as out:
                out.writelines(write(values()))
            mib, seconds = checked(specification, file)
            lines.append((form, ROWS, f"{mib:.0f}", f"{seconds:.1f}"))
            print(*lines[-1])
    table.write_rows(("form", "rows", "mib", "cpu_s"), lines)


if __name__ == "__main__":
    main()
