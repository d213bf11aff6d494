"""The package: the example of its page, and what a start imports."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
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


def test_the_specification_of_the_page_is_read() -> None:
    from tidings.scaling.specification import Specification

    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    specification = Specification.parse(block, Path("scaling.toml"))
    assert specification.target == 1048576
    assert [len(specification.expectations), len(specification.rules)] == [1, 1]
    assert specification.runs[0].value == "latency ([0-9.]+)"


def test_all_names_exist() -> None:
    for name in tidings.scaling.__all__:
        assert getattr(tidings.scaling, name) is not None
    assert tidings.scaling.judge is tidings.scaling.evaluate, "its name before the release"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tidings.scaling.__getattr__("nothing")


def test_a_check_imports_neither_plots_nor_the_board() -> None:
    program = (
        "import sys; import tidings.scaling.cli; import tidings.scaling.checking; "
        "heavy = {'matplotlib', 'pandas', 'polars', 'pytest', 'tidings.board', 'ctypes.util', "
        "'unittest', 'tidings.scaling.reports.plot'}; print(sorted(heavy & set(sys.modules)))"
    )
    folder = str(Path(__file__).parents[2])
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.strip() == "[]"


def test_the_wheel_is_small_and_holds_the_package_alone(tmp_path: Path) -> None:
    """The installed wheel: under 400 KiB, and nothing of the studies or the tests.

    A wheel is an archive of the listed packages, made here without the network.
    """
    folder = Path(__file__).parents[2]
    stated = (folder / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^packages = \[(.*?)\]", stated, re.DOTALL | re.MULTILINE)
    packages = re.findall(r'"(.*?)"', listed)
    there = {path.parent for path in (folder / "tidings").rglob("__init__.py")}
    assert {folder / name.replace(".", "/") for name in packages} == there
    wheel = tmp_path / "tidings.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as files:
        for place in [*there, folder / "tidings/scaling/native"]:
            for file in place.iterdir():
                if file.suffix in (".py", ".typed", ".c", ".h"):
                    files.write(file, file.relative_to(folder))
    assert 50 * 1024 < wheel.stat().st_size < 400 * 1024
