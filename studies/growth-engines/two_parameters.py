"""Growth in two parameters, drawn at random: what the engine names and calls violated; Extra-P too.

    python two_parameters.py --seeds 5301 5301 --extra-p /path/to/python --output .

A function is a product of a term in p and one in n, a sum of them, a product and a further term in
one of them, a term in one alone, or a constant, beside a constant. It is measured five times at
five values of both, on the grid or on a cross with the corner of the largest values. Noise is
log-Student. The broken expectation is too low by the square root of one parameter, or by all
growth in it if that is less; the deviation is half the gap. Extra-P has no verdict: it gets the
paper's rule on its model. Writes two-parameters.csv, a line for each tool, layout and noise.

The priors of the engine were chosen on the lists of seeds 1100 to 1101.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from drawing.manifest import Table
from numpy.typing import NDArray
from tidings.scaling import verdict
from tidings.scaling.terms import CONSTANT, Term, log_values
from tidings.scaling.two_parameters import engine
from tidings.scaling.two_parameters.limits import TwoLimits
from tidings.scaling.two_parameters.points import of_points
from tidings.scaling.two_parameters.products import Product, Sum

Floats = NDArray[np.float64]
NAMES = ("p", "n")
FIRST, SECOND = (4.0, 8.0, 16.0, 32.0, 64.0), (100.0, 200.0, 400.0, 800.0, 1600.0)
GRID = [(p, n) for p in FIRST for n in SECOND]
CROSS = [(p, n) for p, n in GRID if p == FIRST[0] or n == SECOND[0]] + [(FIRST[-1], SECOND[-1])]
LAYOUTS = {"grid": GRID, "cross": CROSS}
FAR = (512.0, 12800.0)
MIDDLE = (16.0, 400.0)
NOISES = (0, 2, 5, 10, 25)
REPETITIONS = 5
FUNCTIONS = 24
KINDS = ("product", "sum", "product and term", "one", "constant")
SHARES = (0.4, 0.25, 0.15, 0.15, 0.05)
POWERS = ("1/4", "1/3", "1/2", "2/3", "3/4", "1", "5/4", "4/3", "3/2", "2")
ROOT = Term.of("1/2")
TOOLS = ("tidings", "Extra-P, mean", "Extra-P, median")
COLUMNS = (
    "tool", "layout", "noise", "cases", "exact", "near", "far", "covered",
    "alarm", "true_held", "caught", "broken_held", "cpu_ms",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One function measured: products with coefficients, and repetitions at points."""

    products: tuple[Product, ...]
    coefficients: tuple[float, ...]
    points: list[tuple[float, float]]
    values: Floats
    broken_in: int

    @property
    def growth(self) -> Sum:
        """The true growth."""
        return Sum.of(self.products)

    def truth(self, points: list[tuple[float, float]]) -> Floats:
        """Return the function's value without noise."""
        return value(self.products, self.coefficients, points)

    @property
    def broken(self) -> tuple[Sum, Sum] | None:
        """The broken expectation, and the deviation of both; None for what does not grow."""
        grown = [(p.first, p.second)[self.broken_in] for p in self.growth.products]
        if max(grown) <= CONSTANT:
            return None
        gap = min(ROOT, max(grown))
        lowered = [self._lowered(product, gap) for product in self.growth.products]
        half = self._only(gap ** Fraction(1, 2))
        return Sum.of(lowered), Sum((half,))

    def _lowered(self, product: Product, gap: Term) -> Product:
        own = (product.first, product.second)[self.broken_in]
        return product / self._only(gap) if own >= gap else product / self._only(max(own, CONSTANT))

    def _only(self, term: Term) -> Product:
        return Product(second=term) if self.broken_in else Product(term)


def value(
    products: tuple[Product, ...],
    coefficients: tuple[float, ...],
    points: list[tuple[float, float]],
) -> Floats:
    """Return a sum; coefficients are those at the middle point."""
    total = np.zeros(len(points))
    for product, coefficient in zip(products, coefficients, strict=True):
        logs = np.zeros(len(points))
        for axis, term in enumerate((product.first, product.second)):
            at = np.array([point[axis] for point in points])
            centre = np.array([MIDDLE[axis]])
            logs += log_values([term], at)[0] - log_values([term], centre)[0]
        total += coefficient * np.exp(logs)
    return total


def _term(rng: np.random.Generator) -> Term:
    logs = int(rng.choice(3, p=(0.65, 0.3, 0.05)))
    if rng.random() < 0.1:
        return Term.of(0, max(logs, 1))
    return Term.of(str(rng.choice(POWERS)), logs)


def _products(rng: np.random.Generator) -> tuple[Product, ...]:
    """Draw the products of a function, without its constant."""
    kind = str(rng.choice(KINDS, p=SHARES))
    f, g, h = _term(rng), _term(rng), _term(rng)
    second = bool(rng.random() < 0.5)
    alone = Product(second=h) if second else Product(h)
    if kind == "product and term":
        own = g if second else f
        return (Product(f, g),) if h == own else (Product(f, g), alone)
    return {
        "product": (Product(f, g),),
        "sum": (Product(f), Product(second=g)),
        "one": (alone,),
        "constant": (),
    }[kind]


def cases(seed: int, noise: int, layout: str) -> Iterator[Case]:
    """Yield the cases of a list."""
    for number in range(FUNCTIONS):
        rng = np.random.default_rng([seed, number])
        products = _products(rng)
        unit = 10.0 ** rng.uniform(-4, 4)
        parts = [unit * float(np.exp(rng.uniform(-1, 1))) for _ in products]
        constant = unit * float(np.exp(rng.uniform(np.log(0.05), np.log(4))))
        bare = bool(products) and rng.random() < 0.15
        all_products = (*products, Product())
        coefficients = (*parts, 0.0 if bare else constant)
        points = LAYOUTS[layout]
        drawn = np.random.default_rng([seed, number, noise, len(points)])
        spread = drawn.standard_t(6, (len(points), REPETITIONS)) * np.sqrt(2 / 3) * noise / 100
        values = value(all_products, coefficients, points)[:, None] * np.exp(spread)
        yield Case(all_products, coefficients, points, values, int(rng.integers(2)))


def near(found: Sum, true: Sum) -> bool:
    """Whether the fastest power in either parameter is right to 1/4, added or multiplied alike."""
    if len(found.products) != len(true.products):
        return False
    (one,), (other,) = found.multiplied().products, true.multiplied().products
    pairs = ((one.first, other.first), (one.second, other.second))
    return all(abs(a.power - b.power) <= Fraction(1, 4) and a.rate == b.rate for a, b in pairs)


def marks(case: Case, growth: Sum, far: float | None) -> dict[str, float]:
    """Return the scores of a model."""
    truth = float(case.truth([FAR])[0])
    return {
        "exact": float(growth == case.growth),
        "near": float(near(growth, case.growth)),
        "far": float(far is not None and abs(far - truth) <= 0.2 * truth),
    }


def tidings(case: Case) -> dict[str, float]:
    """Ask the engine: growth without the expectation, verdicts of single tests."""
    measured = of_points(NAMES, case.points, case.values.tolist())
    began = time.process_time()
    model = engine.fit(measured)
    growth = model.growth
    spent = 1e3 * (time.process_time() - began)
    low, high = model.interval(FAR)
    truth = float(case.truth([FAR])[0])
    scored = marks(case, growth, model.interval(FAR, 0.0)[0])
    scored |= {"cpu_ms": spent, "covered": float(low <= truth <= high)}
    broken = case.broken
    deviation = broken[1] if broken else Sum((Product(ROOT ** Fraction(1, 2)),))
    for names, expected in (
        (("alarm", "true_held"), case.growth),
        (("caught", "broken_held"), broken),
    ):
        if expected is not None:
            asked = expected if isinstance(expected, Sum) else expected[0]
            limits = TwoLimits.around(asked, deviation)
            one = verdict.evaluate([engine.fit(measured, asked)], [limits])[0]
            for name, outcome in zip(names, ("violated", "holds"), strict=True):
                scored[name] = float(one.outcome.value == outcome)
    return scored


class ExtraP:
    """Extra-P in its own environment, over a pipe."""

    def __init__(self, python: str, summary: str) -> None:
        """Start it."""
        program = str(Path(__file__).with_name("extra_p.py"))
        self.summary = summary
        self.process = subprocess.Popen(
            [python, "-W", "ignore", program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __call__(self, case: Case) -> dict[str, float]:
        """Ask for one case; its verdict is the paper's rule on its model."""
        assert self.process.stdin
        assert self.process.stdout
        asked = {
            "points": case.points, "values": case.values.tolist(), "far": FAR,
            "summary": self.summary,
        }  # fmt: skip
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        growth = Sum.of([Product(), *(_product(p) for p in said["products"])])
        scored = marks(case, growth, said["far"]) | {"cpu_ms": said["cpu_ms"]}
        broken = case.broken
        deviation = broken[1] if broken else Sum((Product(ROOT ** Fraction(1, 2)),))
        kept = TwoLimits.around(case.growth, deviation).upper.covers(growth)
        scored |= {"alarm": float(not kept), "true_held": float(kept)}
        if broken:
            kept = TwoLimits.around(*broken).upper.covers(growth)
            scored |= {"caught": float(not kept), "broken_held": float(kept)}
        return scored


def _product(exponents: list[str]) -> Product:
    first, second = Term.of(*exponents[:2]), Term.of(*exponents[2:])
    return Product(first, second)


def line(python: str, seeds: range, tool: str, layout: str, noise: int) -> list[object]:
    """Return the means of a tool's scores at one noise."""
    ask = ExtraP(python, tool.split()[-1]) if tool != TOOLS[0] else tidings
    scored = [ask(case) for seed in seeds for case in cases(seed, noise, layout)]
    means = []
    for name in COLUMNS[4:]:
        own = [marked[name] for marked in scored if name in marked]
        means.append(f"{np.mean(own):.5g}" if own else "")
    print(tool, layout, noise, len(scored), *means, flush=True)
    return [tool, layout, noise, len(scored), *means]


def main() -> None:
    """Compare, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, required=True, help="first and last list")
    parser.add_argument("--extra-p", help="python of an environment with extrap")
    parser.add_argument("--layouts", nargs="+", choices=sorted(LAYOUTS), default=list(LAYOUTS))
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--output", type=Path, help="folder of two-parameters.csv")
    options = parser.parse_args()
    first, last = options.seeds
    seeds = range(first, last + 1)
    table = Table(options.output / "two-parameters.csv", seed=seeds) if options.output else None
    tools = TOOLS if options.extra_p else TOOLS[:1]
    blocks = [(t, layout, noise) for t in tools for layout in options.layouts for noise in NOISES]
    with ProcessPoolExecutor(options.jobs) as pool:
        lines = list(pool.map(partial(line, options.extra_p, seeds), *zip(*blocks, strict=True)))
    if table:
        added = {"extrap": "4.2.5"} if options.extra_p else None
        table.write_rows(COLUMNS, lines, added=added)


if __name__ == "__main__":
    main()
