"""Runs iterations of a phase on simulated networks: what remembering and balancing are worth.

    studies/stealing/run iterations
    studies/stealing/run many-iterations
    studies/stealing/run most-iterations
    studies/stealing/run most-others
    studies/stealing/run contraction
    studies/stealing/run many-contraction
    studies/stealing/run most-contraction

The ranks and tasks of `ranks.py` on its torus, or with --contraction a tensor contraction there,
ITERATIONS times: what a task takes differs in each by up to CHANGE_PERCENT of itself. What
balancing takes counts as part of an iteration. Among more than MANY ranks the unit of the gossip is
LONGEST_UNIT_MS: at the usual unit a run takes more than LIMIT_S.

Exit status: 0 done, 1 a run failed or lost tasks, 2 wrong arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import ranks

ITERATIONS = 5
CHANGE_PERCENT = 10
LONGEST_UNIT_MS = 20
"""Of the gossip: in a longer one ranks know too little of a phase of 4.5 s to be worth asking."""


class Contraction(NamedTuple):
    """A tensor contraction."""

    name: str
    products: int
    """Of blocks: its tasks."""


CONTRACTIONS = {
    256: Contraction("tce:12,6", 16_120),
    1024: Contraction("tce:16,8", 81_688),
    4096: Contraction("tce:20,10", 306_040),
}
"""By the most ranks that have it: 11 minutes of a processor, 51 and 138. Beyond 256 ranks a larger
one leaves each as much as it has among 256: 63 to 80 products of 27 to 41 ms."""
WAYS = {
    "random": ("random", ""),
    "lifelines": ("lifelines", ""),
    "known": ("known", ""),
    "random, retained": ("random", "--retain"),
    "known, retained": ("known", "--retain"),
    "random, balanced": ("random", "--balance"),
    "known, balanced": ("known", "--balance"),
}
"""Whom thieves ask, and with what an iteration begins: what the program gives, what each rank ran
before, or that after a balancing."""


class Row(NamedTuple):
    """An iteration."""

    ranks: int
    way: str
    iteration: int
    seconds: str
    balance_s: str
    efficiency: str
    attempts: int
    steals: int
    moved: int
    balanced: int
    messages: int
    bytes: int
    waiting_s: str
    searching_s: str


def cases(all_ranks: list[int], ways: Iterable[str] = WAYS) -> Iterator[tuple[int, str]]:
    """Yield what is run for so many ranks."""
    for count in all_ranks:
        for way in ways:
            yield count, way


def unit_ms(victims: str, count: int) -> int:
    """Return the unit of the gossip among so many ranks; 0 where there is none."""
    usual = ranks.usual_unit_ms(victims, count)
    return min(usual, LONGEST_UNIT_MS)


def words(count: int, way: str, application: str = "") -> list[str]:
    """Return the program's arguments."""
    victims, beginning = WAYS[way]
    unit = unit_ms(victims, count)
    case = ranks.Case("torus", count, ranks.PROGRESS_US, victims, unit)
    said = ranks.words(case, application)
    said += ["--iterations", str(ITERATIONS), "--change", str(CHANGE_PERCENT)]
    return said + ([beginning] if beginning else [])


def row(way: str, line: dict[str, Any]) -> Row:
    """Return what an iteration printed. What a rank neither works nor waits for it searches."""
    seconds = line["seconds"] + line["balance_seconds"]
    available = line["ranks"] * seconds
    idle = available - line["work_seconds"] - line["waiting_seconds"]
    searching = idle - line["ranks"] * line["balance_seconds"]
    return Row(
        ranks=line["ranks"],
        way=way,
        iteration=line["iteration"],
        seconds=f"{seconds:.4f}",
        balance_s=f"{line['balance_seconds']:.4f}",
        efficiency=f"{line['work_seconds'] / available:.4f}",
        attempts=line["attempts"],
        steals=line["steals"] + line["pushed"],
        moved=line["moved"],
        balanced=line["balanced"],
        messages=line["messages"],
        bytes=line["bytes"] + line["balance_bytes"],
        waiting_s=f"{line['waiting_seconds']:.3f}",
        searching_s=f"{searching:.3f}",
    )


def contraction(count: int) -> Contraction:
    """Return what so many ranks contract; raises ValueError if there are more than 4,096."""
    for most, made in CONTRACTIONS.items():
        if count <= most:
            return made
    raise ValueError(f"{count} ranks: contractions are for {max(CONTRACTIONS)} at most")


def measured(
    program: ranks.Program,
    platforms: Path,
    case: tuple[int, str],
    contracted: bool = False,
) -> list[Row]:
    """Run a case of `uneven`, or of a contraction; return its rows."""
    count, way = case
    name, tasks = contraction(count) if contracted else ("", 0)
    where, said = ranks.machine(platforms, "torus", count), words(count, way, name)
    return [row(way, line) for line in ranks.phases(program, where, said, tasks)]


if __name__ == "__main__":
    line = ranks.parser(__doc__)
    line.add_argument("--contraction", action="store_true", help="instead of uneven tasks")
    line.add_argument("--ways", choices=WAYS, nargs="+", default=list(WAYS), help="only these")
    arguments = line.parse_args()
    measure = partial(measured, contracted=arguments.contraction)
    wanted = cases(arguments.ranks, arguments.ways)
    ranks.make(arguments, Row._fields, wanted, measure)
