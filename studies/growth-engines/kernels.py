"""Kernels of known growth, counted by callgrind and timed, evaluated by the engines and by Extra-P.

    python kernels.py --measure --output . \
        --extra-p /path/to/extrap-venv/bin/python

`kernels.c` has 18 kernels, one of which does not grow, and `copy`, whose count has a cliff. With
`--measure` they are compiled, counted once and timed five times a size, sizes interleaved, into
kernels.csv; without, that file, or the one that `--measured` names, is evaluated as it is. What
each tool named, and what became of the true and of the broken expectation (too low by sqrt x, or by
all of its growth), is written to kernel-verdicts.csv. Needs cc and valgrind.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scores
from compare import ExtraP, bayes, paper
from drawing.manifest import Table, first_line
from growths import Growth
from scores import Outcome
from suite import Case
from tidings.scaling import verdict
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.measurement import Measurement
from tidings.scaling.terms import CONSTANT, Term

N = Term.of(1)
N_LOG_N = Term.of(1, 1)
LOG_N = Term.of(0, 1)
SQUARE = Term.of(2)
STRASSEN = Term.of("2.8074")
KARATSUBA = Term.of("1.58496")


def doubling(first: int, last: int, step: int = 1) -> tuple[int, ...]:
    """Return powers of two, by their exponents."""
    return tuple(2**k for k in range(first, last + 1, step))


KERNELS: dict[str, tuple[Term, tuple[int, ...]]] = {
    "hash_lookup": (CONSTANT, doubling(8, 15)),
    "binary_search": (LOG_N, doubling(5, 12)),
    "heap_replace": (LOG_N, doubling(8, 15)),
    "trial_division": (Term.of("1/2"), doubling(8, 20, 2)),
    "sum": (N, doubling(8, 15)),
    "list_walk": (N, doubling(5, 12)),
    "merge_sort": (N_LOG_N, doubling(8, 15)),
    "heap_sort": (N_LOG_N, doubling(8, 15)),
    "fourier": (N_LOG_N, doubling(8, 15)),
    "sweeps": (Term.of("3/2"), doubling(4, 14, 2)),
    "karatsuba": (KARATSUBA, doubling(7, 13)),
    "insertion_sort": (SQUARE, doubling(4, 11)),
    "matrix_vector": (SQUARE, doubling(4, 11)),
    "edit_distance": (SQUARE, doubling(4, 11)),
    "matrix_product": (Term.of(3), doubling(2, 7)),
    "strassen": (STRASSEN, doubling(3, 7)),
    "subsets": (Term.of(0, 0, 1), tuple(range(8, 16))),
    "walsh": (Term.of(1, 0, 1), tuple(range(6, 14))),
}
CLIFF = "copy"
CLIFF_SIZES = doubling(8, 15)
REPETITIONS = 5
METRICS = ("count", "time")

Values = dict[tuple[str, str], dict[int, list[float]]]


def measured(program: Path) -> Iterator[tuple[str, str, int, float]]:
    """Yield kernel, metric, size and value: counts once, times with sizes interleaved."""
    for name, (_, sizes) in {**KERNELS, CLIFF: (N, CLIFF_SIZES)}.items():
        for size in sizes:
            yield name, "count", size, _counted(program, name, size)
        for _ in range(REPETITIONS):
            for size in sizes:
                said = subprocess.run(
                    [program, name, str(size)], capture_output=True, text=True, check=True
                )
                yield name, "time", size, float(said.stdout)


def _counted(program: Path, name: str, size: int) -> float:
    """Return the instructions inside the kernel."""
    counter = ["valgrind", "--tool=callgrind", "--toggle-collect=measured"]
    command = [*counter, "--callgrind-out-file=/dev/null", program, name, str(size), "count"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = re.search(r"Collected\s*:\s*([1-9][0-9]*)", said)
    if not found:
        raise SystemExit(f"callgrind counted nothing in {name}: {said.strip()[-200:]}")
    return float(found.group(1))


def measure(output: Path) -> None:
    """Compile, measure, and write a row for each value."""
    table = Table(output)
    source = Path(__file__).with_name("kernels.c")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "kernels"
        compiler = ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-o", program, source, "-lm"]
        subprocess.run(compiler, check=True)
        rows = [(*row[:3], f"{row[3]:.9g}") for row in measured(program)]
    versions = {name: first_line([name, "--version"]) for name in ("cc", "valgrind")}
    table.write_rows(("kernel", "metric", "size", "value"), rows, added=versions)


def read(path: Path) -> Values:
    """Return the values by kernel and metric, and by size."""
    found: Values = defaultdict(lambda: defaultdict(list))
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["kernel"], row["metric"]][int(row["size"])].append(float(row["value"]))
    return found


def case_of(name: str, values: dict[int, list[float]]) -> Case:
    """Return a case without truth: what is known of a kernel is its growth alone."""
    sizes = sorted(values)
    growth = Growth("kernel", KERNELS[name][0])
    table = np.array([values[size] for size in sizes])
    return Case(growth, "", np.array(sizes, dtype=float), table, (0.0, 1.0), (0.0,))


def minimum(tool: Callable[[Case], Outcome]) -> Callable[[Case], Outcome]:
    """Return a tool that sees only the smallest value of each size."""

    def asked(case: Case) -> Outcome:
        least = case.values.min(axis=1, keepdims=True)
        return tool(Case(case.growth, "", case.sizes, least, case.coefficients, case.log_scales))

    return asked


def evaluated(
    values: Values,
    tools: dict[str, Callable[[Case], Outcome]],
    metrics: tuple[str, ...] = METRICS,
) -> list[dict[str, object]]:
    """Return a line for each tool, metric and kernel."""
    lines: list[dict[str, object]] = []
    for tool, ask in tools.items():
        for metric in metrics:
            for name in KERNELS:
                case = case_of(name, values[name, metric])
                outcome = ask(case)
                lines.append(
                    {"tool": tool, "metric": metric, "kernel": name, **_line(case, outcome)}
                )
    return lines


def _line(case: Case, outcome: Outcome) -> dict[str, object]:
    marked = scores.marks(case, outcome)
    named = outcome.growth.text("n") if outcome.growth else ""
    return {
        "expected": case.growth.term.text("n"),
        "named": named,
        **{score: marked.get(score, "") for score in ("exact", "near", "alarm", "caught")},
        "true": outcome.verdict_true,
        "broken": outcome.verdict_broken,
    }


def cliff(values: Values) -> dict[str, object]:
    """Return what the default engine says of the kernel with a cliff."""
    rows = values[CLIFF, "count"]
    sizes = sorted(rows)
    model = BayesEngine().fit(Measurement.of_values(sizes, [rows[size] for size in sizes]), N)
    reasons = verdict.misfits(model)
    said = f"misfit: {reasons[0]}" if reasons else "no misfit"
    line = {"tool": "tidings", "metric": "count", "kernel": CLIFF, "expected": "n"}
    return {**line, "named": model.growth.text("n"), "true": said}


def main() -> None:
    """Measure, evaluate, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="count and time anew")
    parser.add_argument("--measured", type=Path, help="a file of counts and times to evaluate")
    parser.add_argument("--extra-p", help="python of an environment with extrap")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    path = options.measured or options.output / "kernels.csv"
    verdicts = Table(options.output / "kernel-verdicts.csv")
    if options.measure:
        measure(path)
    tools: dict[str, Callable[[Case], Outcome]] = {"tidings": bayes, "paper, told E": paper}
    if options.extra_p:
        tools["Extra-P, mean"] = ExtraP(options.extra_p, "mean", False)
        tools["Extra-P, minimum"] = minimum(ExtraP(options.extra_p, "mean", False))
    values = read(path)
    lines = [*evaluated(values, tools), cliff(values)]
    versions = {"extrap": "4.2.5"} if options.extra_p else None
    heading = list(lines[0])
    rows = [[line.get(name, "") for name in heading] for line in lines]
    verdicts.write_rows(heading, rows, added=versions)
    for line in lines:
        print(" ".join(f"{value!s:>16s}" for value in line.values()))


if __name__ == "__main__":
    main()
