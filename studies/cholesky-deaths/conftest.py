"""For tests: this folder and the examples are where modules are found, as for the programs."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))
