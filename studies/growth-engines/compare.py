"""The default engine, the paper's and Extra-P on the same synthetic cases, side by side.

    python compare.py --suite held-out --seed 9001 --per-noise 5 \
        --extra-p /path/to/extrap-venv/bin/python --output .

Writes SUITE.csv, a line for each tool and group of cases, and a manifest beside it, and
prints the table. Groups: all; family:NAME; noise:LEVEL; list:LEVEL, growth inside Extra-P's own
list with independent noise. Unfair to whom: the paper's engine is given the true growth, as its
user would be; the default engine names growth without it. Tools without a verdict get the paper's
rule on their model. CPU times are of this machine, whatever else runs on it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import scores
from drawing.manifest import Table
from scores import Outcome
from suite import NOISES, SUITES, Case
from tidings.scaling import search_space, verdict
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.engines.paper import PaperEngine
from tidings.scaling.limits import Limits, Match
from tidings.scaling.measurement import Measurement
from tidings.scaling.terms import Term

EXTRA_P_LIST = {
    Term.of(power, logs)
    for powers, logs_of in (
        ("0", "1 2"),
        ("1/4 1/3 1/2 2/3 3/4 1 3/2 2 5/2", "0 1 2"),
        ("5/4 4/3 3", "0 1"),
        ("4/5 5/3 7/4 9/4 7/3 8/3 11/4", "0"),
    )
    for power in powers.split()
    for logs in logs_of.split()
}
PARTS = 12
INDEPENDENT = ("0", "2", "5", "10", "25")
COLUMNS = (
    "tool", "group", "cases", "exact", "near", "far", "covered_4", "covered_64",
    "alarm", "caught", "unsure", "missed", "forced_alarm", "forced_caught", "brier", "cpu_ms",
)  # fmt: skip


def bayes(case: Case) -> Outcome:
    """Ask the default engine: growth without the expectation, verdicts of single tests."""
    measurement = Measurement.of_values(case.sizes, case.values)
    engine = BayesEngine()
    began = time.process_time()
    model = engine.fit(measurement)
    outcome = Outcome(model.growth)
    outcome.cpu_ms = 1e3 * (time.process_time() - began)
    outcome.far = float(model.predict(np.array([case.far]))[0])
    outcome.intervals = {f: model.interval(scores.beyond(case, f)) for f in (4.0, 64.0)}
    outcome.verdict_true, outcome.p_true = _evaluated(measurement, case.growth.term, case)
    if case.broken is not None:
        outcome.verdict_broken, outcome.p_broken = _evaluated(measurement, case.broken, case)
    return outcome


def _evaluated(measurement: Measurement, expected: Term, case: Case) -> tuple[str, float]:
    model = BayesEngine().fit(measurement, expected)
    one = verdict.evaluate([model], [Limits.around(expected, case.deviation)])[0]
    return one.outcome.value, one.probability


def paper(case: Case) -> Outcome:
    """Ask the paper's engine; its search space knows the expectation."""
    measurement = Measurement.of_values(case.sizes, case.values)

    def found(expected: Term) -> tuple[Term, float, float]:
        space = search_space.around(expected)
        began = time.process_time()
        model = PaperEngine([*space, *search_space.mpi()]).fit(measurement)
        spent = 1e3 * (time.process_time() - began)
        return model.growth, float(model.predict(np.array([case.far]))[0]), spent

    growth, far, spent = found(case.growth.term)
    outcome = Outcome(growth, far, cpu_ms=spent)
    outcome.verdict_true = _ruled(growth, case.growth.term, case)
    if case.broken is not None:
        outcome.verdict_broken = _ruled(found(case.broken)[0], case.broken, case)
    return outcome


def _ruled(growth: Term, expected: Term, case: Case) -> str:
    """Evaluate by the paper's rule, one-sided."""
    limits = Limits.around(expected, case.deviation)
    broken = limits.match(growth) is Match.NONE and growth > limits.upper
    return "violated" if broken else "holds"


class ExtraP:
    """Extra-P in its own environment, over a pipe."""

    def __init__(self, python: str, summary: str, decays: bool) -> None:
        """Start it."""
        program = str(Path(__file__).with_name("extra_p.py"))
        command = [python, "-W", "ignore", program, *(["--decays"] if decays else [])]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.summary = summary

    def __call__(self, case: Case) -> Outcome:
        """Ask for one case."""
        assert self.process.stdin
        assert self.process.stdout
        asked = {
            "sizes": case.sizes.tolist(),
            "values": case.values.tolist(),
            "far": case.far,
            "summary": self.summary,
        }
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        growth = Term.of(*said["growth"])
        outcome = Outcome(growth, said["far"], cpu_ms=said["cpu_ms"])
        outcome.verdict_true = _ruled(growth, case.growth.term, case)
        if case.broken is not None:
            outcome.verdict_broken = _ruled(growth, case.broken, case)
        return outcome


def tables(scored: list[tuple[Case, dict[str, float]]]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield groups and their means."""
    families = scores.table(scored, lambda case: f"family:{case.growth.family}")
    noises = scores.table(scored, lambda case: f"noise:{case.noise}")
    inside = [
        pair
        for pair in scored
        if pair[0].growth.term in EXTRA_P_LIST
        and not pair[0].growth.lower
        and pair[0].noise in INDEPENDENT
    ]
    listed = scores.table(inside, lambda case: f"list:{case.noise}") if inside else {}
    yield "all", families["all"]
    for group in (families, noises, listed):
        yield from ((name, row) for name, row in group.items() if name != "all")


def tools(options: argparse.Namespace) -> dict[str, Callable[[], Callable[[Case], Outcome]]]:
    """Return what starts each tool."""
    started: dict[str, Callable[[], Callable[[Case], Outcome]]] = {
        "tidings": lambda: bayes,
        "paper, told E": lambda: paper,
    }
    if options.extra_p:
        started["Extra-P, mean"] = lambda: ExtraP(options.extra_p, "mean", False)
        started["Extra-P, median"] = lambda: ExtraP(options.extra_p, "median", False)
        if options.decays:
            started["Extra-P, median, decays"] = lambda: ExtraP(options.extra_p, "median", True)
    return started


def answered(
    options: argparse.Namespace, name: str, part: int
) -> list[tuple[Case, dict[str, float]]]:
    """Return the marks of a tool for each PARTS-th case of the suite, from one on."""
    tool = tools(options)[name]()
    cases = list(SUITES[options.suite].cases(options.seed, options.per_noise, NOISES))
    return [(case, scores.marks(case, tool(case))) for case in cases[part::PARTS]]


def main() -> None:
    """Compare, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=sorted(SUITES), default="held-out")
    parser.add_argument("--seed", type=int, default=9001)
    parser.add_argument("--per-noise", type=int, default=5, help="cases a function and noise")
    parser.add_argument("--extra-p", help="python of an environment with extrap")
    parser.add_argument("--decays", action="store_true", help="Extra-P with its option, too")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    table = (
        Table(options.output / f"{options.suite}.csv", seed=options.seed)
        if options.output
        else None
    )
    lines = []
    with ProcessPoolExecutor(options.jobs) as pool:
        names = list(tools(options))
        asked = [(name, part) for name in names for part in range(PARTS)]
        answers = pool.map(partial(answered, options), *zip(*asked, strict=True))
        by_part = dict(zip(asked, answers, strict=True))
    for name in names:
        scored = [pair for part in range(PARTS) for pair in by_part[name, part]]
        for group, row in tables(scored):
            lines.append({"tool": name, "group": group, **row})
    _print(lines)
    if table:
        rows = [[_cell(line.get(column, "")) for column in COLUMNS] for line in lines]
        table.write_rows(COLUMNS, rows, added={"extrap": "4.2.5"} if options.extra_p else None)


def _cell(value: object) -> object:
    return f"{value:.5g}" if isinstance(value, float) else value


def _print(lines: list[dict[str, object]]) -> None:
    print(f"{'tool':24s} {'group':20s} " + " ".join(f"{c:>10s}" for c in COLUMNS[2:]))
    for line in lines:
        cells = [f"{line[c]:10.4g}" if c in line else " " * 10 for c in COLUMNS[2:]]
        print(f"{line['tool']:24s} {line['group']:20s} {' '.join(cells)}")


if __name__ == "__main__":
    main()
