"""Sessions of one machine beside each other: which are compared, and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

COLUMNS = (
    "pair", "kind", "first", "second", "exit_code", "runs", "lines", "differ", "named", "of_link",
    "least_p", "longer", "floor", "differing",
)  # fmt: skip
PAIRS = 20
"""Comparisons of each kind."""
LIMIT_S = 2000
"""Seconds after which no session begins: on a busy machine it is left for another time."""
MBIT, SLOWED_MBIT = 5.0, 4.5
"""The first link of days.toml."""
ALONE = ("P0-P2, no overlap", "P0-P3, no overlap")
"""Flows that cross the first link alone: they take as much longer as it is slower."""

Difference = dict[str, object]
"""A line of `tidings lab compare --json`."""


@dataclass(frozen=True)
class Session:
    """A characterisation of a day: unchanged, or with a slower link."""

    at: int
    slowed: bool

    @property
    def name(self) -> str:
        """Return the name of its folder."""
        return f"{'slowed' if self.slowed else 'unchanged'}-{self.at:02}"

    @property
    def mbit(self) -> float:
        """Return the rate of its first link."""
        return SLOWED_MBIT if self.slowed else MBIT


def sessions(pairs: int) -> Iterator[Session]:
    """Yield all sessions in turn, so that a machine that drifts does so for both kinds."""
    for at in range(pairs):
        yield Session(at, slowed=False)
        yield Session(at, slowed=True)
    yield Session(pairs, slowed=False)


def pairs(count: int) -> Iterator[tuple[str, Session, Session]]:
    """Yield what is compared with what, and its kind.

    Unchanged sessions with the next one; slowed ones with the one before and the one after in
    turn, so that half of them are the earlier of both.
    """
    for at in range(count):
        yield "unchanged", Session(at, slowed=False), Session(at + 1, slowed=False)
        yield "slowed", Session(at + at % 2, slowed=False), Session(at, slowed=True)


def row(differences: Sequence[Difference]) -> list[object]:
    """Return what a comparison found, in the columns from `runs` on; nothing if it was refused.

    `longer` and `floor` are of the flow of ALONE that was the farther from being told.
    """
    if not differences:
        return [""] * (len(COLUMNS) - COLUMNS.index("runs"))
    differ = [own for own in differences if own["differs"]]
    link = [own for own in differences if own["variant"] in ALONE]
    named = [own for own in link if own["differs"] and longer(own) > 0]
    least = min(link, key=lambda own: longer(own) - number(own["floor"]))
    return [
        min(min(runs(own)) for own in differences),
        len(differences),
        len(differ),
        len(named),
        len(link),
        f"{min(number(own['p_holm']) for own in differences):.6f}",
        f"{longer(least):.4f}",
        f"{number(least['floor']):.4f}",
        "; ".join(f"{own['test']} {own['variant']} {longer(own):+.3f}" for own in differ),
    ]


def number(value: object) -> float:
    """Return a number of a line."""
    assert isinstance(value, (int, float)), value
    return float(value)


def runs(own: Difference) -> list[int]:
    """Return how many runs of each side counted."""
    counted = own["runs"]
    assert isinstance(counted, list), own
    return counted


def longer(own: Difference) -> float:
    """Return how much longer a line takes in the second session; 0.01 is one per cent."""
    change = own["change"]
    return number(change["estimate"]) if isinstance(change, dict) else 0.0
