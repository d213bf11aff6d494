"""``python -m tidings.plots``: draws one figure.

Exit codes: 0 drawn, 1 the file cannot be written, 2 wrong arguments or a table that is none.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tidings.csv_table import TableError
from tidings.plots import KINDS, draw


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw what the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tidings.plots", description=__doc__)
    parser.add_argument("kind", choices=sorted(KINDS), help="what the table holds")
    parser.add_argument("table", type=Path, help="the CSV file")
    parser.add_argument("--output", type=Path, required=True, help="the .svg or .png to write")
    options = parser.parse_args(arguments)
    try:
        draw(options.kind, options.table, options.output)
    except (TableError, ValueError) as error:
        print(f"tidings.plots: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"tidings.plots: {options.output}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
