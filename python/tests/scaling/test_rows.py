"""A million rows: what a check of them needs, and that nothing of them is lost.

`summary` compared every row with every other: a file of 17,239 rows took 5 GB.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.measurement import Measurement
from tidings.scaling.readers import read
from tidings.scaling.reports import plot
from tidings.scaling.terms import Term

ROWS = 1_000_000
SIZES = 10
MOST_BYTES = 300 * 2**20
CHECK = """
import resource, sys
from tidings.scaling.cli import main
code = main(["check", "--file", sys.argv[1], sys.argv[2]])
print("peak", 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(code)
"""


def lines(path: Path) -> None:
    """Write rows whose values are all different, with noise."""
    rng = np.random.default_rng(1)
    with path.open("w", encoding="utf-8") as file:
        for size in 2 ** np.arange(6, 6 + SIZES):
            for value in (size * (1 + 0.05 * rng.standard_normal(ROWS // SIZES))).tolist():
                file.write(f'{{"function":"f","metric":"time","size":{size},"value":{value}}}\n')


def test_a_million_rows_take_300_mib_at_most(tmp_path: Path) -> None:
    lines(tmp_path / "m.jsonl")
    (tmp_path / "scaling.toml").write_text('[[expectation]]\nfunction = "f"\ngrowth = "n"\n')
    ended = subprocess.run(
        [sys.executable, "-c", CHECK, tmp_path / "scaling.toml", tmp_path / "m.jsonl"],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    *_, verdict, peak = ended.stdout.splitlines()
    assert verdict.startswith("1 holds")
    assert int(peak.split()[1]) <= MOST_BYTES


def test_rows_are_read_one_at_a_time(tmp_path: Path) -> None:
    """The last of many rows is wrong: the message names its line."""
    path = tmp_path / "m.jsonl"
    good = "".join(f'{{"size": {size}, "value": 1}}\n' for size in range(1, 5000))
    path.write_text("\n" + good + '{"size": 5000, "value": 0}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"m\.jsonl:5001: the value at size 5000 is 0"):
        read([path])


@pytest.mark.parametrize(("power", "log"), [(1, 0), (1, 1), (2, 0), (0, 1), (0, 0)])
def test_sizes_that_are_all_different_are_put_together(power: int, log: int) -> None:
    rng = np.random.default_rng(2)
    sizes = np.unique(np.exp(rng.uniform(np.log(16), np.log(2**20), 20_000)))
    values = (5 + sizes**power * np.log2(sizes) ** log) * np.exp(
        0.1 * rng.standard_normal(len(sizes))
    )
    model = BayesEngine().fit(Measurement.of_values(sizes.tolist(), values.tolist()))
    assert len(model.summary.sizes) <= 128
    assert model.growth == Term.of(power, log)
    assert model.summary.variance == pytest.approx(0.01, rel=0.1)
    assert model.summary.counts.sum() + model.summary.spikes == len(sizes)


def test_a_plot_of_many_rows_has_some_of_them() -> None:
    rng = np.random.default_rng(3)
    values = rng.uniform(1, 2, (5, 10_000))
    measured = Measurement.of_values([1, 2, 4, 8, 16], values.tolist())
    sizes, logs = plot.points(measured)
    assert 1000 <= len(sizes) <= 2000
    assert logs.max() == np.log(values.max())
    assert logs.min() == np.log(values.min())
