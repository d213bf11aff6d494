"""The examples of the guide, each run as a program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "python.md"


def test_the_examples_of_the_guide_run(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\nc,d,e\n")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TIDINGS_STORE": f"file:{tmp_path / 'usual'}",
        "TIDINGS_SHARED": str(tmp_path / "shared"),
    }
    printed = []
    for example in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        (tmp_path / "example.py").write_text(example)
        command = [sys.executable, "example.py"]
        ended = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        printed.append(ended.stdout)
    assert printed[0] == "1024\n[1000, 999, 998]\n"
    assert printed[1] == "[6, 12]\n"
    assert printed[2] == "12 2\n"
    assert printed[3] == "3\n9 0 1\n"
    block = "('block', 3, 0.5)\n"
    assert printed[4] == f"{block}{block}[('left', 1), ('right', 2)]\n[('both', 1)]\n"
    assert re.fullmatch(r"1\.0 \S+\n1000000\.0\n", printed[5])
    assert printed[6].startswith("Mapped(path=PosixPath('rows.csv.run1.out'), lines=2, failed=0)")
