#!/usr/bin/env python3
"""The rates at which campaigns find an injected slowdown of 0.5 %, and one that is not there.

    studies/injected-slowdown/run rate

Reads campaigns of `injected.toml` that the study's run made, each with a seed of its own: in those
with an odd number the application does 0.5 % more work in one arm, in the others no more. A machine
that does nothing else gives a few campaigns an hour, too few for a rate. So further campaigns are
drawn from the repetitions that were measured, some shorter and some longer: blocks of neighbours,
with replacement (a block bootstrap, which keeps how much a repetition is like the one before), each
evaluated by `tidings lab table`, as a journal of its own. They share repetitions, so they are no
independent repetitions, but the noise in them is the machine's.

Written are a table with a line a campaign, and a manifest with the verdicts of both kinds.

Exit status: 0 done, 1 a campaign is missing or wrong, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "studies"))
from drawing.manifest import ManifestError, Table  # noqa: E402 (the path says where)

SIZES = (200, 400, 800, 1_600)  # repetitions of the campaigns that are drawn
BLOCK = 10  # repetitions; the level of the times drifts over a few
COLUMNS = (
    "campaign", "injected", "steal_share", "pairs", "slowdown", "slowdown_low", "slowdown_high",
    "aa_slowdown_low", "aa_slowdown_high", "floor", "p", "verdict",
)  # fmt: skip


class LabError(Exception):
    """A campaign did not go through, in the words of `tidings lab`."""


def lab(tidings: Path, *words: str) -> str:
    """Return what `tidings lab` printed."""
    done = subprocess.run(
        [tidings, "lab", *words], check=False, capture_output=True, text=True, cwd=ROOT
    )
    if done.returncode != 0:
        raise LabError(f"tidings lab {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def is_injected(number: int) -> bool:
    """Return whether the arm of a campaign is slower."""
    return number % 2 == 1


def line_of(folder: Path, number: int) -> dict[str, object]:
    """Return a campaign's line of the table."""
    with (folder / "results.csv").open(encoding="utf-8", newline="") as lines:
        arms = {line["arm"]: line for line in csv.DictReader(lines)}
    arm, again = arms["gossip"], arms["asleep"]
    _, found = repetitions(folder)
    steal = [run["steal_share"] or 0.0 for repetition in found for run in repetition]
    return {
        "campaign": number,
        "injected": "0.005" if is_injected(number) else "0",
        "steal_share": f"{sum(steal) / len(steal):.4f}",
        "aa_slowdown_low": again["slowdown_low"],
        "aa_slowdown_high": again["slowdown_high"],
        **{name: arm[name] for name in COLUMNS if name in arm},
    }


def repetitions(folder: Path) -> tuple[str, list[list[dict]]]:
    """Return the heading of a campaign's journal and its repetitions, each a list of runs."""
    heading, *runs = (folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    by_repetition: dict[int, list[dict]] = {}
    for run in map(json.loads, runs):
        by_repetition.setdefault(run["lap"], []).append(run)
    return heading, [by_repetition[number] for number in sorted(by_repetition) if number > 0]


def verdict_of(tidings: Path, like: Path, heading: str, drawn: list[list[dict]]) -> str:
    """Return what `tidings lab` says of repetitions, as if a campaign like this one had them."""
    application = json.loads((like / "runs.jsonl").read_text().splitlines()[1])["application"]
    with tempfile.TemporaryDirectory() as name:
        folder, index = Path(name), 0
        (folder / "campaign.toml").write_bytes((like / "campaign.toml").read_bytes())
        with (folder / "runs.jsonl").open("w", encoding="utf-8") as journal:
            journal.write(heading + "\n")
            for repetition, runs in enumerate(drawn, 1):
                for run in runs:
                    changed = {**run, "index": index, "lap": repetition, "application": application}
                    journal.write(json.dumps(changed) + "\n")
                    index += 1
        result = json.loads(lab(tidings, "table", str(folder), "--json"))
    ((effect,),) = (group["effects"] for group in result["groups"])  # one application, one arm
    return str(effect["verdict"])


def draw(pool: list[list[list[dict]]], size: int, chance: random.Random) -> list[list[dict]]:
    """Return so many repetitions: blocks of neighbours, each from any journal of the pool."""
    chosen: list[list[dict]] = []
    while len(chosen) < size:
        journal = chance.choice(pool)
        first = chance.randrange(len(journal) - BLOCK + 1)
        chosen += journal[first : first + BLOCK]
    return chosen[:size]


def drawn_verdicts(options: argparse.Namespace, folders: list[Path], size: int) -> dict[str, int]:
    """Return how often which verdict is given to campaigns of a size, drawn from these."""
    journals = [repetitions(folder) for folder in folders]
    pool = [found for _, found in journals]
    chance, counts = random.Random(options.seed), dict[str, int]()
    for _ in range(options.draws):
        chosen = draw(pool, size, chance)
        verdict = verdict_of(options.tidings, folders[0], journals[0][0], chosen)
        counts[verdict] = counts.get(verdict, 0) + 1
    return dict(sorted(counts.items()))


def study(options: argparse.Namespace) -> None:
    """Evaluate, and write table and manifest."""
    words = f"CAMPAIGNS={options.campaigns} REPETITIONS={options.repetitions}"
    table = Table(
        options.output / "rate.csv",
        command=f"{words} studies/injected-slowdown/run rate",
        seed=options.seed,
    )
    folders = {number: options.folder / str(number) for number in range(1, options.campaigns + 1)}
    for folder in folders.values():
        campaign = json.loads((folder / "results.manifest.json").read_text(encoding="utf-8"))
        if campaign["runs"][0]["commit"] != table.run["commit"]:
            raise LabError(f"{folder}: it was measured at another commit: move the folder away")
    lines = [line_of(folder, number) for number, folder in folders.items()]
    drawn = []
    for injected in (True, False):
        kind = [folder for number, folder in folders.items() if is_injected(number) == injected]
        for size in SIZES if kind else ():
            verdicts = drawn_verdicts(options, kind, size)
            drawn.append({"injected": injected, "repetitions": size, "verdicts": verdicts})
    facts = {"draws": options.draws, "repetitions_of_a_block": BLOCK, "drawn": drawn}
    table.write_rows(COLUMNS, [[line[name] for name in COLUMNS] for line in lines], facts=facts)
    print(json.dumps(facts, indent=2))


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--campaigns", type=int, default=4, help="how many, both kinds in turn")
    parser.add_argument(
        "--draws", type=int, default=200, help="campaigns drawn of each kind and size"
    )
    parser.add_argument("--repetitions", "--laps", type=int, default=400, help="of a campaign")
    parser.add_argument("--seed", type=int, default=1, help="of the draws")
    parser.add_argument("--folder", type=Path, required=True, help="of the campaigns' folders")
    parser.add_argument("--tidings", type=Path, required=True, help="the program")
    parser.add_argument("--output", type=Path, required=True, help="a folder for the table")
    return parser.parse_args()


def main() -> int:
    """Run the study."""
    try:
        study(arguments())
    except (LabError, ManifestError, OSError) as error:
        print(f"rate.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
