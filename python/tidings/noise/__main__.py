"""``python -m tidings.noise``: figures of results, and the peaks of their spectra."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tidings import noise
from tidings.noise import figures
from tidings.noise.samples import Measured, NoiseError


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw; return the exit code: 0, 1 where a file cannot be written, 2 where one is no result."""
    parser = argparse.ArgumentParser(
        prog="python -m tidings.noise",
        description=noise.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="results")
    parser.add_argument("--output", metavar="OUT", type=Path, help="folder [the first DIR]")
    parser.add_argument("--json", action="store_true", help="print the peaks as JSON")
    chosen = parser.parse_args(arguments)
    try:
        measured = [Measured.read(folder) for folder in chosen.folders]
        files = figures.draw(measured, chosen.output or chosen.folders[0])
        found = figures.spectra(measured)
    except NoiseError as error:
        print(f"tidings.noise: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"tidings.noise: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    if chosen.json:
        print(json.dumps({label: [asdict(peak) for peak in own.peaks] for label, own in found}))
        return 0
    for file in files:
        print(file)
    for label, own in found:
        for peak in own.peaks:
            print(f"{label}: {peak.hz:.4g} Hz: {peak.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
