"""The package: the example of its page, and what a start imports."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tidings.scaling

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "scaling.md"


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = [block for block in blocks if "fit(measured)" in block]
    exec(compile(example, str(PAGE), "exec"), {})
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("O(log p) (")
    assert out[1] == "Outcome.HOLDS"


def test_the_specifications_of_the_page_are_read() -> None:
    from tidings.scaling.expectation import TwoExpectation
    from tidings.scaling.specification import Specification

    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    whole, of_two = blocks
    (expected,) = Specification.parse(of_two, Path("scaling.toml")).expectations
    assert isinstance(expected.expectation, TwoExpectation)
    specification = Specification.parse(whole, Path("scaling.toml"))
    assert specification.target == 1048576
    assert [len(specification.expectations), len(specification.rules)] == [1, 1]
    assert specification.runs[0].value == "latency ([0-9.]+)"


def test_all_names_exist() -> None:
    for name in tidings.scaling.__all__:
        assert getattr(tidings.scaling, name) is not None
    assert tidings.scaling.judge is tidings.scaling.evaluate, "its name before the release"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tidings.scaling.__getattr__("nothing")


def test_a_check_imports_what_it_needs_alone(tmp_path: Path) -> None:
    """Each import delays every start: a check does no more than NumPy and what it calls."""
    values = {2**k: k * 2**k * (1 + k % 3 / 99) for k in range(3, 10)}
    rows = [
        f'{{"function": "sort", "metric": "work", "size": {size}, "value": {value}}}'
        for size, value in values.items()
    ]
    (tmp_path / "work.jsonl").write_text("\n".join(rows))
    (tmp_path / "scaling.toml").write_text(
        'measurements = ["work.jsonl"]\n'
        '[[expectation]]\nfunction = "sort"\nmetric = "work"\ngrowth = "n log n"\n'
    )
    program = (
        "import sys; from tidings.scaling.cli import main; ended = main(['check']); "
        "heavy = {'matplotlib', 'pandas', 'polars', 'scipy', 'pytest', 'unittest', "
        "'hashlib', 'subprocess', 'ctypes.util', 'tidings.board', "
        "'tidings.scaling.reports.plot'}; print(ended, sorted(heavy & set(sys.modules)))"
    )
    folder = str(Path(__file__).parents[2])
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.splitlines()[-1] == "0 []", ended.stdout
