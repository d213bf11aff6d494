"""A machine whose characterisation grows too fast fails, by the limits that come with it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.scaling.programs import ROOT, done
from tidings.scaling.cli import main

PROGRAM = '''
import argparse, json, math, random

parser = argparse.ArgumentParser()
parser.add_argument("fault")
parser.add_argument("ranks", type=int)
parser.add_argument("run", type=int)
given = parser.parse_args()
noise = random.Random(f"{given.ranks} {given.run}")
ranks = given.ranks


def row(test, variant, size, count, seconds):
    """Print a row, whose times scatter by 2 %."""
    samples = [seconds * math.exp(noise.gauss(0, 0.02)) for _ in range(20)]
    print(json.dumps({
        "test": test, "variant": variant, "bytes": size, "count": count, "messages": 1,
        "valid": True, "warmups": 0, "wanted": 20, "late": 0, "late_limit_s": 1e-5,
        "start_error_s": 0, "modelled_ranks": ranks, "samples_s": samples,
    }))


def counts(most):
    """Yield 1, 2, 4, ..."""
    return (2**at for at in range(int(math.log2(most)) + 1))


squared = given.fault == "barrier"
row("barrier", "WORLD", 0, ranks, 1e-6 * (ranks**2 if squared else 1 + math.log2(ranks)))
row("alltoall", "WORLD", 4, ranks, 1e-6 * (3 + ranks))
for workers in counts(ranks / 2):
    slow = workers**2 if given.fault == "hotspot" else workers
    row("hotspot", "mean of workers", 1, workers, 1e-6 * (2 + slow))
for hops in range(1, 7):
    row("hops-latency", "idle network", 0, hops, 1e-6 * (2.75 + 0.05 * hops))
for neighbours in range(1, 7):
    row("fan-in", "sum of neighbours", 64, neighbours, 1e-6 * (3 + neighbours))
for together in counts(8):
    row("parallel-bcast", "communicators at once", 4, together, 1e-6 * (5 + together))
for streams in (1, 2):
    row("streams", "all streams", 1, streams, 1e-6 * streams)
for side in counts(1024):
    row("halo", "XYZT, sendrecv", 4 * side, side, 1e-6 * (10 + side / 100))
'''
SERIES = """name = "machine"
limit_s = 60.0

[[machines]]
name = "machine"
backend = {{ kind = "plain" }}

[[programs]]
name = "tests"
machines = ["machine"]
nodes = [1]
command = ["{python}", "{program}", "{fault}", "{{processes}}", "{{session}}"]

[[programs.grids]]
processes = [2, 4, 8, 16, 32, 64]
session = [1, 2, 3]
"""


def characterised(folder: Path, fault: str) -> Path:
    """Characterise a machine with a fault, or with none; return the limits of its growth."""
    program = folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    text = SERIES.format(python=sys.executable, program=program, fault=fault)
    (folder / "machine.toml").write_text(text, encoding="utf-8")
    tidings = Path(os.environ.get("TIDINGS_BIN_DIR", ROOT / "target" / "debug")) / "tidings"
    words: list[str | Path] = [tidings, "lab", "characterize", folder / "machine.toml"]
    done([*words, "--output", folder / "out"], cwd=folder)
    return folder / "out/growth.toml"


def test_what_grows_as_it_should_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = characterised(tmp_path, "none")
    assert main(["check", "--file", str(limits), "--no-record", "--strict"]) == 0
    said = capsys.readouterr().out
    for series in ("barrier-0", "hotspot-1", "hops-latency-0", "fan-in-64", "parallel-bcast-4"):
        assert series in said, said
    page = (limits.parent / "characterize.md").read_text(encoding="utf-8")
    assert "Left out, since growth takes three sizes: streams (streams: 1, 2)." in page


@pytest.mark.parametrize(
    ("fault", "series", "limit"), [("barrier", "barrier-0", "log p"), ("hotspot", "hotspot-1", "w")]
)
def test_a_machine_that_degrades_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str, series: str, limit: str
) -> None:
    limits = characterised(tmp_path, fault)
    assert f'function = "{series}"\ngrowth = "{limit}"\n' in limits.read_text(encoding="utf-8")
    assert main(["check", "--file", str(limits), "--no-record"]) == 1
    said = capsys.readouterr().out
    assert "1 violated" in said, said
    assert any(series in line and "violated" in line for line in said.splitlines()), said
