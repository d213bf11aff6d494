"""Growth functions whose leading terms the engines are to name, in three lists.

`TUNING` is what the default engine's constants were chosen on. `HELD_OUT` has other odd exponents,
decays, exponentials and mixtures. `DRAWN` are four lists drawn by chance, of each family as many as
the others have; odd exponents of the other lists are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from tidings.scaling.terms import CONSTANT, Term


@dataclass(frozen=True)
class Growth:
    """A growth function: its leading term, lower terms, and the family it is counted in."""

    family: str
    term: Term
    lower: tuple[Term, ...] = ()

    @property
    def name(self) -> str:
        """The function as text."""
        return " + ".join(term.text("p") for term in (self.term, *self.lower))


def _powers(family: str, texts: str, logs: str = "0") -> list[Growth]:
    return [Growth(family, Term.of(text, logs)) for text in texts.split()]


def _mixture(*terms: tuple[object, ...]) -> Growth:
    made = [Term.of(*parts) for parts in terms]  # type: ignore[arg-type]
    return Growth("mixture", made[0], tuple(made[1:]))


def _exponentials(*parts: tuple[str, str]) -> list[Growth]:
    return [Growth("exponential", Term.of(power=a, rate=c)) for a, c in parts]


TUNING = [
    Growth("constant", CONSTANT),
    *_powers("logarithm", "0", "1"),
    *_powers("logarithm", "0", "2"),
    *_powers("power", "1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3"),
    *_powers("power-log", "1/4 1/2 1 3/2 2 3", "1"),
    *_powers("power-log", "1/2 1 2", "2"),
    *_powers("odd", "0.4 0.6 0.85 1.1 1.6 2.8074"),
    *_powers("decay", "-1/2 -2/3 -1"),
    Growth("decay", Term.of(-1, 1)),
    *_exponentials(("0", "1"), ("1", "1"), ("3", "1"), ("0", "1/2")),
    _mixture((2,), (1,)),
    _mixture((1, 1), (1,)),
    _mixture((1.5,), (1,)),
    _mixture((1,), ("1/2",)),
]
HELD_OUT = [
    Growth("constant", CONSTANT),
    *_powers("logarithm", "0", "1"),
    *_powers("logarithm", "0", "2"),
    *_powers("power", "1/3 1/2 3/4 4/5 1 4/3 3/2 7/4 2 5/2 3"),
    *_powers("power-log", "1/3 2/3 1 5/4 3/2 2", "1"),
    *_powers("power-log", "1/4 1 3/2", "2"),
    *_powers("odd", "0.45 0.7 0.9 1.15 1.3 1.8 2.2 2.4"),
    *_powers("decay", "-1/3 -3/4 -1 -3/2"),
    *_exponentials(("0", "1"), ("2", "1"), ("4", "1"), ("0", "1/3"), ("1", "1/2")),
    _mixture((2,), (1, 1)),
    _mixture((1.5,), ("1/2",)),
    _mixture((1,), (0, 1)),
    _mixture((3,), (2,)),
]


_SIMPLE = "0:1 1/4:0 1/2:0 1/2:1 3/4:0 1:0 1:1 5/4:0 3/2:0 3/2:1 2:0 2:1 5/2:0 3:0"
_DRAWN_POWERS = "1/4 1/3 1/2 2/3 3/4 4/5 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3"
_DRAWN_LOGS = "1/4 1/3 1/2 2/3 3/4 1 3/2 2 5/2"
ODD = 5
"""How many unusual exponents a list has."""
_DRAWN_DECAYS = "-1/4 -1/3 -1/2 -2/3 -3/4 -1 -5/4 -4/3 -3/2 -2"


def frequencies() -> dict[Term | str, float]:
    """Return how often a list has each term, on average, and how many mixtures."""
    often: dict[Term | str, float] = {CONSTANT: 1.0, "mixture": 5.0}
    often |= {Term.of(0, logs): 1.0 for logs in (1, 2)}
    powers, logs_of, decays = (t.split() for t in (_DRAWN_POWERS, _DRAWN_LOGS, _DRAWN_DECAYS))
    often |= {Term.of(power): 14 / len(powers) for power in powers}
    often |= {Term.of(power, logs): 6 / len(logs_of) for power in logs_of for logs in (1, 2)}
    often |= {Term.of(power): 4 / len(decays) for power in decays}
    rates = ("1/3", "1/2", "1", "3/2", "2")
    return often | {Term.of(power, 0, rate): 0.2 for power in range(5) for rate in rates}


def summed() -> set[Term]:
    """Return the terms that mixtures are drawn from."""
    return {Term.of(*text.split(":")) for text in _SIMPLE.split()}


def odd_powers() -> list[Fraction]:
    """Return the exponents that unusual ones are drawn from."""
    taken = {growth.term.power for growth in TUNING + HELD_OUT if growth.family == "odd"}
    return [Fraction(n, 20) for n in range(6, 58) if n % 5 and Fraction(n, 20) not in taken]


def drawn(seed: int) -> list[Growth]:
    """Draw a list of 48 functions: some of each family, without doubles."""
    rng = np.random.default_rng(seed)

    def some(texts: list[str], count: int) -> list[str]:
        return [texts[i] for i in sorted(rng.choice(len(texts), count, replace=False))]

    logs = [(power, log) for power in _DRAWN_LOGS.split() for log in "12"]
    pairs = [" ".join(pair) for pair in combinations(_SIMPLE.split(), 2)]
    rates = [f"{a}:{c}" for a in range(5) for c in ("1/3", "1/2", "1", "3/2", "2")]
    exponentials = [tuple(text.split(":")) for text in some(rates, 5)]
    return [
        Growth("constant", CONSTANT),
        *_powers("logarithm", "0", "1"),
        *_powers("logarithm", "0", "2"),
        *_powers("power", " ".join(some(_DRAWN_POWERS.split(), 14))),
        *[Growth("power-log", Term.of(*logs[i])) for i in rng.choice(len(logs), 12, replace=False)],
        *_powers("odd", " ".join(some([str(power) for power in odd_powers()], ODD))),
        *_powers("decay", " ".join(some(_DRAWN_DECAYS.split(), 4))),
        *[Growth("exponential", Term.of(power=a, rate=c)) for a, c in exponentials],
        *_mixtures(some(pairs, 5)),
    ]


def _mixtures(pairs: list[str]) -> list[Growth]:
    """Return sums of two terms, the faster one leading."""
    made = [sorted(Term.of(*text.split(":")) for text in pair.split()) for pair in pairs]
    return [Growth("mixture", leading, (lower,)) for lower, leading in made]


DRAWN = [growth for seed in (35, 36, 37, 38) for growth in drawn(seed)]
