"""False alarms: how often true expectations fall below a probability, alone and in suites.

    python alarms.py --seed 500 --per-noise 10

For each threshold t: the share of true expectations with P(holds) < t, of all cases of both suites,
and the share of broken ones. Then, for suites of m true expectations drawn at random, the share of
suites in which Holm's rule at the default rate calls any violated. `verdict.threshold` is set by
this.
"""

from __future__ import annotations

import argparse

import numpy as np
from suite import SUITES
from tidings.scaling import verdict
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.measurement import Measurement

THRESHOLDS = (0.25, 0.2, 0.15, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
SUITE_SIZES = (1, 5, 20, 50)
DRAWS = 10_000


def probabilities(name: str, seed: int, per_noise: int) -> tuple[list[float], list[float]]:
    """Return P(holds) of true and of broken expectations, misfits left out as no verdicts."""
    true, broken = [], []
    engine = BayesEngine()
    for case in SUITES[name].cases(seed, per_noise):
        measurement = Measurement.of_values(case.sizes, case.values)
        for expected, listed in ((case.growth.term, true), (case.broken, broken)):
            if expected is None:
                continue
            model = engine.fit(measurement, expected)
            fits = not verdict.misfits(model)
            upper = expected * case.deviation
            listed.append(model.probability(expected, None, upper) if fits else 1.0)
    return true, broken


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=500)
    parser.add_argument("--per-noise", type=int, default=5)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    for name in sorted(SUITES):
        true, broken = map(np.array, probabilities(name, options.seed, options.per_noise))
        print(f"{name}: {len(true)} true and {len(broken)} broken expectations")
        for t in THRESHOLDS:
            print(f"  P < {t:5.3f}: true {(true < t).mean():.5f}, broken {(broken < t).mean():.4f}")
        for size in SUITE_SIZES:
            drawn = np.sort(rng.choice(true, (DRAWS, size)), axis=1)
            alarms = (drawn[:, 0] < verdict.threshold(verdict.ALPHA / size)).mean()
            print(f"  suites of {size:2d} true expectations: {100 * alarms:.2f} % have an alarm")


if __name__ == "__main__":
    main()
