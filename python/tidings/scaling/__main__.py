"""``python -m tidings.scaling``: the command tidings-scaling without an installation."""

import sys

from tidings.scaling.cli import main

if __name__ == "__main__":
    sys.exit(main())
