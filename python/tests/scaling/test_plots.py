"""Plots: limits with the constant, nothing over the title, ticks, and a page of all."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from tests.scaling.series import SIZES, measurement, write_lines
from tidings.scaling.checking import Checked, check
from tidings.scaling.cli import main
from tidings.scaling.measurement import Measurement
from tidings.scaling.reports import plot
from tidings.scaling.specification import Specification

STATED = """
[[expectation]]
function = "f"
growth = "n"
within = "n^(1/2)"
"""


def checked(values: np.ndarray) -> Checked:
    """Check values against O(n)."""
    measured = Measurement.of_values(SIZES.tolist(), values.tolist(), function="f", parameter="n")
    specification = Specification.parse(STATED, Path("scaling.toml"))
    return check(specification, [measured], record=False).checked[0]


def test_limits_include_the_constant() -> None:
    """Of 10^6 + n the upper limit rose as n^1.5 from the first value: by 500, not by a hair."""
    one = checked(1e6 + SIZES)
    drawn = plot.curves(one)
    lower, upper = drawn.limits
    end = int(np.searchsorted(drawn.grid, math.log(SIZES[-1])))
    size = math.exp(drawn.grid[end])
    assert math.exp(upper[end]) == pytest.approx(
        1e6 + SIZES[0] * (size / SIZES[0]) ** 1.5, rel=0.01
    )
    assert lower[end] < drawn.bands[end, 1] < upper[end]


def test_nothing_is_drawn_over_the_title() -> None:
    picture = ElementTree.fromstring(plot.svg(checked(np.exp2(np.arange(7.0)) ** 3)))
    space = "{http://www.w3.org/2000/svg}"
    clipped = picture.find(f"{space}g")
    assert clipped is not None
    assert clipped.get("clip-path") == "url(#plot)"
    assert len(clipped.findall(f"{space}polyline")) == 3
    assert not picture.findall(f"{space}polyline"), "all lines are clipped"
    texts = [text.text for text in picture.findall(f"{space}text")]
    assert "✗ violated" in texts


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (60, 4100, ["100", "200", "500", "1k", "2k"]),
        (60, 262144, ["100", "300", "1k", "3k", "10k"]),
        (2e-6, 3e-3, ["3µ", "10µ", "30µ", "100µ", "300µ", "1m", "3m"]),
        (110, 120, ["110", "115", "120"]),
        (1e-3, 1e30, None),
    ],
)
def test_ticks_are_few_and_round(low: float, high: float, expected: list[str] | None) -> None:
    found = plot.ticks(math.log(low), math.log(high))
    assert 2 <= len(found) <= 7
    labels = [plot.label(value) for value in found]
    assert all(len(label) <= 5 for label in labels)
    if expected:
        assert labels[:5] == expected[:5]


def test_a_page_has_every_expectation(tmp_path: Path) -> None:
    write_lines(tmp_path / "m.jsonl", [measurement("f", "n", 2, 1), measurement("g", "n^3", 2, 2)])
    text = STATED + STATED.replace('"f"', '"g"')
    (tmp_path / "scaling.toml").write_text(text, encoding="utf-8")
    words = ["check", "--file", str(tmp_path / "scaling.toml"), str(tmp_path / "m.jsonl")]
    assert main([*words, "--html", str(tmp_path / "page.html")]) == 1
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>1 holds, 1 violated</h1>" in page
    assert page.count("<svg") == 2
    assert len(set(re.findall(r'clipPath id="([^"]+)"', page))) == 2
    assert "<script" not in page
