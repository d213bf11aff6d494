"""Shares of a processor: control groups in which processes run for a part of each period.

As `crates/experiment/src/quota.rs` has them. The period is short beside a rank's step, so that a
rank looks like a slower processor and not like one that stops. Wants root and a writable
controller, of version 1 or 2.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

PERIOD_US = 20_000

REMOVED_S = 10.0
"""The longest wait for a group to be empty whose processes have ended."""

NUMBERS = itertools.count()


class NoSharesError(Exception):
    """No share of a processor can be had here."""


def controller() -> tuple[Path, bool]:
    """Return where groups with a processor's share are made, and whether by version 2."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            return Path(place), False
        if kind == "cgroup2":
            known = Path(place, "cgroup.controllers")
            if known.exists() and "cpu" in known.read_text(encoding="utf-8").split():
                return Path(place), True
    raise NoSharesError("no control group has the processor: mount cgroup2, or cgroup with cpu")


def made(root: Path, is_unified: bool, share: float) -> Path:
    """Make a group with a share of one processor."""
    group = root / f"tidings-matmul-{os.getpid()}-{next(NUMBERS)}"
    quota_us = round(share * PERIOD_US)
    try:
        if is_unified:
            with contextlib.suppress(OSError):  # it is on already, or cpu.max is missing below
                (root / "cgroup.subtree_control").write_text("+cpu", encoding="utf-8")
        group.mkdir()
        if is_unified:
            (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}", encoding="utf-8")
        else:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US), encoding="utf-8")
            (group / "cpu.cfs_quota_us").write_text(str(quota_us), encoding="utf-8")
    except OSError as error:
        raise NoSharesError(f"{group}: {error.strerror}; run this as root") from error
    return group


def remove(group: Path) -> None:
    """Remove a group when its last process has left it."""
    end = time.monotonic() + REMOVED_S
    while group.exists() and time.monotonic() < end:
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.01)


@contextlib.contextmanager
def groups(shares: Sequence[float | None]) -> Iterator[list[Path]]:
    """Make a group for each share, and yield the files by which processes enter them.

    Where the share is None nothing holds a process back.
    """
    files: list[Path] = []
    try:
        for share in shares:
            group = None if share is None else made(*controller(), share)
            files.append(Path("/dev/null") if group is None else group / "cgroup.procs")
        yield files
    finally:
        for file in files:
            if file.name == "cgroup.procs":
                remove(file.parent)


def entering(file: Path, rank: int, ranks: int, *words: str | Path) -> list[str]:
    """Return a command that enters a group and stays on one processor, as another command.

    Ranks are spread over the processors. On several a group would lose some of its share, which
    the kernel gives out in pieces to each processor.
    """
    processors = sorted(os.sched_getaffinity(0))
    own = processors[rank * len(processors) // ranks % len(processors)]
    enter = 'echo $$ >"$0" && exec taskset --cpu-list "$@"'
    return ["sh", "-c", enter, str(file), str(own), *map(str, words)]
