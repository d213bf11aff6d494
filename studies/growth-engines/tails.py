"""How far out intervals must end, for the coverage to be as stated in every family of growth.

    python tails.py --seed 6000 --cases 1000 --jobs 2

For each case: the probability of each kind of candidate (`engines/bayes/tails`), and the exponent
that an interval of 95 % would need to hold the true value. The kinds' exponents are then fitted to
the shares of both, at 4 and at 64 times the largest size; no model is fitted again for it. Prints
the coverage by family with the exponents in use and with the fitted ones, which are put into that
file by hand. Lists that a table is of are not for this.
"""

from __future__ import annotations

import argparse
import math

import coverage
import numpy as np
import scores
from numpy.typing import NDArray
from tidings.scaling.engines.bayes import BayesEngine, tails
from tidings.scaling.engines.bayes.posterior import Posterior
from tidings.scaling.measurement import Measurement

Floats = NDArray[np.float64]
Row = tuple[str, Floats, list[float]]

GOAL = 0.95
_TAILS = np.logspace(-7, math.log10(0.5), 200)
_SHARES = np.concatenate([_TAILS, 1 - _TAILS[-2::-1]])
_FACTORS = (1.3, 1.1, 1.04, 1.015, 1.005)
_SMOOTH = 40.0
"""How sharply a case counts as covered: shares that jump cannot be fitted."""


def needed(posterior: Posterior, size: float, truth: float) -> float:
    """Return the exponent at which the interval of 95 % just holds the truth."""
    values = posterior.quantiles(size, _SHARES)
    at = float(np.interp(math.log(truth), values, _SHARES))
    return math.log(2 * min(at, 1 - at)) / math.log(1 - GOAL)


def of_list(first: int, cases: int, seed: int) -> list[Row]:
    """Return family, kinds and needed exponents of the cases of a list."""
    found = []
    for case in coverage.used(first, cases, seed):
        model = BayesEngine().fit(Measurement.of_values(case.sizes, case.values))
        sizes = [scores.beyond(case, factor) for factor in coverage.FACTORS]
        ends = [needed(model.posterior, x, float(case.truth(np.array([x]))[0])) for x in sizes]
        found.append((case.growth.family, tails.kinds(model.posterior), ends))
    return found


class Coverage:
    """The coverage by family as a function of the kinds' exponents."""

    def __init__(self, rows: list[Row]) -> None:
        """Keep all as arrays."""
        self.families = sorted({row[0] for row in rows})
        self.family = np.array([self.families.index(row[0]) for row in rows])
        self.kinds = np.array([row[1] for row in rows])
        self.ends = np.array([row[2] for row in rows])

    def of(self, exponents: Floats, smooth: bool = False) -> Floats:
        """Return the share that is covered: a row for each family, a column for each size."""
        spare = (self.kinds @ exponents)[:, None] - self.ends
        if smooth:
            covered = 1 / (1 + np.exp(-np.clip(_SMOOTH * spare, -50, 50)))
        else:
            covered = (spare >= 0).astype(float)
        sums = [np.bincount(self.family, column) for column in covered.T]
        return np.array(sums).T / np.bincount(self.family)[:, None]

    def loss(self, exponents: Floats) -> float:
        """Return how far shares are from the stated one."""
        return float(((self.of(exponents, smooth=True) - GOAL) ** 2).sum())


def fitted(found: Coverage, begin: Floats) -> Floats:
    """Return the exponents nearest to the stated coverage: one is changed at a time."""
    best, least = begin.copy(), found.loss(begin)
    for factor in _FACTORS:
        changed = True
        while changed:
            changed = False
            for at in range(len(best)):
                for by in (factor, 1 / factor):
                    trial = best.copy()
                    trial[at] *= by
                    loss = found.loss(trial)
                    if loss < least - 1e-9:
                        best, least, changed = trial, loss, True
    return best


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True, help="of the first list")
    parser.add_argument("--cases", type=int, default=1000, help="of each family, at least")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    options = parser.parse_args()
    found = Coverage(coverage.of_all(of_list, options.seed, options.cases, options.jobs))
    for exponents in (tails.EXPONENTS, fitted(found, tails.EXPONENTS)):
        print("exponents", *(f"{e:.3g}" for e in exponents))
        for family, row in zip(found.families, found.of(exponents), strict=True):
            print(f"  {family:12s}", *(f"{100 * share:.1f}" for share in row))


if __name__ == "__main__":
    main()
