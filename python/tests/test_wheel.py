"""The wheel: what is in it, and that it does what the guide says where nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))

PROGRAM = """
import tidings.tasks as tt

if __name__ == "__main__":
    with tt.Executor(workers=1) as executor:
        print(tt.__file__, executor.submit(lambda: 6 * 7).result())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it as pip does, but unoptimised."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "maturin", "build", "--profile", "dev", "--strip", "--locked"]
    command += ["--target-dir", str(TARGET / "wheel"), "--out", str(folder)]
    subprocess.run(command, cwd=ROOT / "python", check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.foreign
def test_the_wheel_is_for_all_versions_of_python_and_small(wheel: Path) -> None:
    """Nothing of the studies or the tests is in it; without the native part it is tiny."""
    assert wheel.name.startswith("tidings-0.1.0-cp39-abi3-")
    assert wheel.stat().st_size < 15 << 20
    native = "tidings/tasks/_native.abi3.so"
    with zipfile.ZipFile(wheel) as files:
        packed = {file.filename: file.compress_size for file in files.infolist()}
    assert packed.pop(native) > 0
    assert 50 << 10 < sum(packed.values()) < 500 << 10
    assert {name.partition("/")[0].partition("-")[0] for name in packed} == {"tidings"}
    folder = ROOT / "python"
    sources = {str(file.relative_to(folder)) for file in (folder / "tidings").rglob("*.py")}
    assert sources == {name for name in packed if name.endswith(".py")}
    for name in ("tidings/py.typed", "tidings/scaling/native/tidings_counts.c"):
        assert name in packed


@pytest.mark.foreign
def test_the_wheel_does_tasks(wheel: Path, tmp_path: Path) -> None:
    """Unpacked into a folder, with nothing of this repository on the path."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-index", "--target", str(tmp_path / "there"), str(wheel)]
    subprocess.run(command, check=True)
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "there")}
    ended = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == f"{tmp_path / 'there' / 'tidings/tasks/__init__.py'} 42\n"
