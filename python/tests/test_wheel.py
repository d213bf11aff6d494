"""The wheel: what is in it, and that it does what the guide says where nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))

PROGRAMS = Path(os.environ.get("TIDINGS_BIN_DIR", TARGET / "debug"))

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


def cloned(into: Path) -> Path:
    """Clone this repository; copy the guides where its history is not there, as in a tarball."""
    clone = into / "clone"
    if (ROOT / ".git").exists():
        command = ["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(clone)]
        subprocess.run(command, check=True)
    else:
        shutil.copytree(ROOT / "docs", clone / "docs")
    return clone


@pytest.mark.foreign
def test_a_fresh_clone_soon_has_its_first_results(
    wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the clone, without the build, to what the guide's first program and command print."""
    begun = time.monotonic()
    clone = cloned(tmp_path)
    subprocess.run([sys.executable, "-m", "venv", str(clone / "env")], check=True)
    python = str(clone / "env/bin/python")
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    subprocess.run([python, "-m", "pip", "install", *quiet, str(wheel)], check=True)
    guide = (clone / "docs/guides/python.md").read_text(encoding="utf-8")
    program = guide.partition("## An executor\n\n```python\n")[2].partition("```")[0]
    (clone / "first.py").write_text(program, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["TIDINGS_STORE"] = f"file:{tmp_path / 'store'}"

    def printed(*command: str) -> str:
        ended = subprocess.run(
            command, cwd=clone, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return ended.stdout

    assert printed(python, "first.py") == "1024\n[1000, 999, 998]\n"
    in_python_s = time.monotonic() - begun
    tidings = str(PROGRAMS / "tidings")
    words = printed(tidings, "run", "-n", "2", "--", "echo", "{}", ":::", "a", "b")
    assert sorted(words.split()) == ["a", "b"]
    by_command_s = time.monotonic() - begun
    with capsys.disabled():
        print(f"first result in Python after {in_python_s:.1f} s, by command {by_command_s:.1f} s")
