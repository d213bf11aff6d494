"""Manifests: where a table in studies comes from, beside it and under its name."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np


def write(table: Path, seed: int | None = None, **versions: str | None) -> None:
    """Write the manifest of a table that the running command has made."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    program = Path(sys.argv[0]).name
    manifest = {
        "command": " ".join(["python", f"studies/growth-engines/{program}", *sys.argv[1:]]),
        "commit": commit,
        "seed": seed,
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "versions": {"python": platform.python_version(), "numpy": np.__version__, **versions},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    table.with_suffix(".manifest.json").write_text(text, encoding="utf-8")
