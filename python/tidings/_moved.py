"""What has left the package: importing it says where it went."""

from __future__ import annotations

import sys
from typing import NoReturn


def refuse(name: str, run_as: str) -> NoReturn:
    """Refuse to import a module, or to run it with ``python -m``, where exit code 2 says so."""
    said = (
        f"{name} is no longer part of the package: the studies of the repository draw their own "
        "figures and tables, by studies/QUESTION/run --draw; studies/drawing has what they share"
    )
    if run_as == "__main__":
        print(said, file=sys.stderr)
        sys.exit(2)
    raise ImportError(said, name=name)
