"""Plans: whether measuring what `plan` says decides, and at which cost beside repeating.

    python plans.py --seed 600 --per-function 2

Each function of the tuning suite that is no exponential is measured at 8 to 128, five points, five
runs, 5 % noise, the constant as large as growth at 32. Undecided expectations, true and broken,
then follow the plan, a design at a time, six at most. Costs are sizes times runs. Beside it: 25
runs at the five points, from the start.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from growths import TUNING, Growth
from numpy.typing import NDArray
from suite import Case
from tidings.scaling import verdict
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.limits import Limits
from tidings.scaling.measurement import Measurement, Row
from tidings.scaling.terms import Term, log_values
from tidings.scaling.verdict import Evaluation, Outcome

SIZES = (8.0, 16.0, 32.0, 64.0, 128.0)
NOISE = 0.05
STEPS = 6
DECIDED = (Outcome.HOLDS, Outcome.VIOLATED)


def case_of(growth: Growth) -> Case:
    """Return a case with every part as large as the constant at 32."""
    terms = [growth.term, *growth.lower]
    scales = log_values(terms, np.array([32.0]))[:, 0]
    constant = 0.0 if growth.term.is_constant else 1.0
    coefficients = (constant, *(1.0 for _ in terms))
    return Case(growth, "5", np.array(SIZES), np.empty(0), coefficients, tuple(scales.tolist()))


def rows(case: Case, size: float, runs: int, rng: np.random.Generator) -> list[Row]:
    """Measure."""
    truth = float(case.truth(np.array([size]))[0])
    noise: NDArray[np.float64] = 1 + NOISE * rng.standard_normal(runs)
    return [Row(size, "", "", truth * float(factor)) for factor in noise]


def evaluated(listed: list[Row], expected: Term, case: Case) -> Evaluation:
    """Evaluate one expectation."""
    model = BayesEngine().fit(Measurement.of(listed), expected)
    return verdict.evaluate([model], [Limits.around(expected, case.deviation)])[0]


def follow(
    case: Case, expected: Term, rng: np.random.Generator
) -> tuple[float, Outcome, Outcome, Outcome]:
    """Return the cost of the plan, and outcomes at first, by the plan, and by 25 runs."""
    listed = [row for size in SIZES for row in rows(case, size, 5, rng)]
    cost = 5 * sum(SIZES)
    now = evaluated(listed, expected, case)
    first = now.outcome
    for _ in range(STEPS):
        if now.outcome is not Outcome.UNDECIDED or now.next_design is None:
            break
        listed += rows(case, now.next_design.size, now.next_design.runs, rng)
        cost += now.next_design.cost
        now = evaluated(listed, expected, case)
    many = [row for size in SIZES for row in rows(case, size, 25, rng)]
    return cost, first, now.outcome, evaluated(many, expected, case).outcome


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=600)
    parser.add_argument("--per-function", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    costs: list[float] = []
    counted: Counter[str] = Counter()
    for growth in TUNING:
        case = case_of(growth)
        for name, expected in (("true", growth.term), ("broken", case.broken)):
            if expected is None or growth.term.rate:
                continue
            for _ in range(options.per_function):
                cost, first, planned, repeated = follow(case, expected, rng)
                costs.append(cost)
                right = Outcome.HOLDS if name == "true" else Outcome.VIOLATED
                for how, outcome in (("5", first), ("plan", planned), ("25", repeated)):
                    counted[f"{how} decided"] += outcome in DECIDED
                    counted[f"{how} wrong"] += outcome in DECIDED and outcome is not right
    count = len(costs)
    print(f"{count} expectations, true and broken")
    for how in ("5", "plan", "25"):
        decided, wrong = counted[f"{how} decided"] / count, counted[f"{how} wrong"] / count
        print(f"{how:>5s}: decided {100 * decided:.1f} %, of all wrong {100 * wrong:.1f} %")
    repeated = 25 * sum(SIZES)
    cheap = np.mean(np.array(costs) <= 0.4 * repeated)
    print(f"at most 40 % of the cost of 25 runs: {100 * cheap:.1f} % of the expectations")
    print(f"cost of the plan: mean {np.mean(costs):.0f}, median {np.median(costs):.0f}")
    print(f"cost of 25 runs at five points: {repeated:.0f}")


if __name__ == "__main__":
    main()
