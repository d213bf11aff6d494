"""The guide's test runs as it is written, and what it says of breaking it is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "scaling.md"


def test_the_guide_s_test_runs(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    text = GUIDE.read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    shown = re.findall(r"^<lambda> .*$", text, re.MULTILINE)
    pytester.makepyfile(
        test_growth=example, test_broken=example.replace("set(right)", "list(right)")
    )
    result = pytester.runpytest_subprocess("-p", "tidings.scaling.pytest_plugin")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([line.replace("[", "[[]") for line in shown])


def test_the_guide_s_specification_is_read() -> None:
    from tidings.scaling.specification import Specification

    (block,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    sort, load = Specification.parse(block, Path("scaling.toml")).expectations
    assert str(sort.expectation) == "O(n log n)"
    assert load.expectation is None
