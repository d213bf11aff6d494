"""Synthetic suites: functions of known growth, sizes, repetitions and noise, from a seed.

A case is what a user would have measured of a function whose growth is known here. Three suites:
`tuning`, which the default engine's constants were chosen on; `held-out`, with other exponents,
other ranges of constants, other numbers of repetitions and other noise, looked at now and then;
and `drawn`, of functions drawn by chance and noise with heavier tails, for the published figures
alone. The same seed gives the same cases.

What a case's verdict is asked of: the true expectation, which must not be called violated, and a
broken one, whose growth is too low by sqrt(x), or by all of it if that is less. The deviation is
half the gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from growths import DRAWN, HELD_OUT, TUNING, Growth
from numpy.typing import NDArray
from tidings.scaling.terms import CONSTANT, Term, log_values

SQUARE_ROOT = Term.of(power="1/2")
STUDENT_FREEDOM = 6
NOISES = ("0", "2", "5", "10", "25", "spiky", "run-level")


@dataclass(frozen=True)
class Case:
    """One function measured: `values` is sizes × repetitions; `coefficients` is constant first."""

    growth: Growth
    noise: str
    sizes: NDArray[np.float64]
    values: NDArray[np.float64]
    coefficients: tuple[float, ...]
    log_scales: tuple[float, ...]

    @property
    def broken(self) -> Term | None:
        """The broken expectation; a constant has none."""
        term = self.growth.term
        if term.is_constant:
            return None
        if term > CONSTANT and term.rate == 0 and term < SQUARE_ROOT:
            return CONSTANT
        return term / SQUARE_ROOT

    @property
    def deviation(self) -> Term:
        """Half the gap between the true and the broken expectation."""
        broken = self.broken
        return SQUARE_ROOT ** "1/2" if broken is None else (self.growth.term / broken) ** "1/2"

    def truth(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function's value without noise."""
        terms = [self.growth.term, *self.growth.lower]
        logs = log_values(terms, sizes) - np.array(self.log_scales)[:, None]
        return self.coefficients[0] + np.array(self.coefficients[1:]) @ np.exp(logs)

    @property
    def far(self) -> float:
        """A size far beyond the largest: 64 times it, or 4 more where growth is exponential."""
        largest = float(self.sizes[-1])
        return largest + 4 if self.growth.term.rate else 64 * largest


@dataclass(frozen=True)
class Suite:
    """What a suite draws from: functions, first sizes, repetitions, the constant's share, noise.

    `sizes` are the fewest and the most.
    """

    name: str
    growths: list[Growth]
    first_sizes: tuple[int, ...]
    repetitions: tuple[int, ...]
    constant_range: tuple[float, float]
    no_constant: float
    noise_shape: str
    spike_share: tuple[float, float]
    run_sd: tuple[float, float]
    sizes: tuple[int, int] = (5, 10)

    def cases(self, seed: int, per_noise: int, noises: tuple[str, ...] = NOISES) -> Iterator[Case]:
        """Yield `per_noise` cases of each function at each noise, in a fixed order."""
        for noise in noises:
            for index, growth in enumerate(self.growths):
                for number in range(per_noise):
                    key = [seed, NOISES.index(noise), index, number]
                    yield self._case(np.random.default_rng(key), growth, noise)

    def _case(self, rng: np.random.Generator, growth: Growth, noise: str) -> Case:
        fewest, most = self.sizes
        count = int(rng.integers(fewest, most + 1))
        if growth.term.rate:
            first = int(rng.integers(2, 6))
            sizes = np.arange(first, first + count, dtype=float)
        else:
            sizes = float(rng.choice(self.first_sizes)) * 2.0 ** np.arange(count)
        middle = sizes[count // 2 : count // 2 + 1]
        terms = [growth.term, *growth.lower]
        scales = log_values(terms, sizes[-1:] if growth.term < CONSTANT else middle)[:, 0]
        coefficients = self._coefficients(rng, growth)
        case = Case(growth, noise, sizes, np.empty(0), coefficients, tuple(scales.tolist()))
        repetitions = int(rng.choice(self.repetitions))
        values = case.truth(sizes)[:, None] * self._factors(rng, noise, count, repetitions)
        return replace(case, values=values)

    def _coefficients(self, rng: np.random.Generator, growth: Growth) -> tuple[float, ...]:
        unit = 10.0 ** rng.uniform(-4, 4)
        low, high = np.log(self.constant_range)
        share = float(np.exp(rng.uniform(low, high)))
        if growth.term < CONSTANT:
            share = min(share, 1.0)
        constant = 0.0 if rng.random() < self.no_constant and not growth.term.is_constant else share
        lower = [unit * float(np.exp(rng.uniform(-1.5, 1.5))) for _ in growth.lower]
        return (constant * unit, unit, *lower)

    def _factors(
        self, rng: np.random.Generator, noise: str, count: int, repetitions: int
    ) -> NDArray[np.float64]:
        shape = (count, repetitions)
        levels = {"spiky": 3.0, "run-level": 3.0}
        level = levels.get(noise) if noise in levels else float(noise)
        relative = self._standard(rng, shape) * float(level or 0.0) / 100
        additive = self.noise_shape == "normal"
        factors = np.maximum(1.0 + relative, 0.05) if additive else np.exp(relative)
        if noise == "spiky":
            share = rng.uniform(*self.spike_share)
            spiked = rng.random(shape) < share
            factors = np.where(spiked, factors * rng.uniform(1.5, 10.0, shape), factors)
        if noise == "run-level":
            sd = rng.uniform(*self.run_sd)
            factors = factors * np.exp(sd * rng.standard_normal((count, 1)))
        return factors

    def _standard(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Draw numbers of variance 1."""
        if self.noise_shape == "log-student":
            return rng.standard_t(STUDENT_FREEDOM, shape) * np.sqrt(1 - 2 / STUDENT_FREEDOM)
        return rng.standard_normal(shape)


SUITES = {
    "tuning": Suite(
        "tuning", TUNING, (4, 8, 16), (5,), (0.03, 10.0), 0.2, "normal", (0.05, 0.2), (0.03, 0.12)
    ),
    "held-out": Suite(
        "held-out",
        HELD_OUT,
        (2, 8, 32),
        (3, 5, 7),
        (0.1, 4.0),
        0.1,
        "log-normal",
        (0.1, 0.15),
        (0.05, 0.1),
    ),
    "drawn": Suite(
        "drawn",
        DRAWN,
        (4, 16, 64),
        (4, 6),
        (0.05, 8.0),
        0.15,
        "log-student",
        (0.05, 0.2),
        (0.03, 0.12),
    ),
}
