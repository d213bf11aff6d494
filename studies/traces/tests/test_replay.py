"""A pair is of one schedule: what ran otherwise is an error, and no row."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import replay


def launcher(folder: Path, again: str) -> argparse.Namespace:
    """Return options with a launcher that says what ranks would, with this hash in the replay."""
    script = folder / "mpirun"
    lines = [
        "#!/bin/sh",
        f'case "$*" in *--replay*) order={again} seconds=2.5;; *) order=a seconds=2;; esac',
        """printf '{"seconds":%s,"order":"%s","tasks":9,"steals":1,"pushed":2}' $seconds $order""",
    ]
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o755)
    return argparse.Namespace(mpirun=script, launcher="", program="none")


def test_a_replay_is_timed_beside_what_it_repeats(tmp_path: Path) -> None:
    """Seconds of both, with the steals that were asked for and those that were not."""
    assert replay.pair(launcher(tmp_path, "a"), "fib:9", tmp_path / "trace") == (2, 2.5, 3, 9)


def test_another_order_is_an_error(tmp_path: Path) -> None:
    """The hash is of the order of the tasks."""
    with pytest.raises(replay.ReplayError, match="order a was b again"):
        replay.pair(launcher(tmp_path, "b"), "fib:9", tmp_path / "trace")
