"""What ``python -m tidings.tasks`` says: the commands are another program's."""

from __future__ import annotations

import shutil
import sys


def main() -> int:
    """Say where the commands are."""
    found = shutil.which("tidings")
    where = f"which is {found}" if found else "which is not on PATH: `make install` puts it there"
    print(
        "tidings.tasks is a library for programs in Python, with no commands of its own. Workers, "
        f"queues and runs are commands of the program `tidings`, {where}.",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
