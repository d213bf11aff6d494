"""Calls that no worker fits: they wait until one comes, which is said once for each kind of need.

The native module tells which kinds of calls wait so, and which do not any more. Each is a warning
when it is told, and stands on the line of a meter as long as it holds.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Sequence
from typing import Any

from tidings.tasks.errors import UnfitWarning

# Beside what workers offer by themselves.
_OWN = ("cpus", "mem")
_PYTHON = "python"
_UNITS = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}

# A resource, how much of it is needed, and the most that a worker has: thousandths, or bytes.
Lack = tuple[str, int, int]

# How many workers take calls of the queue, what they lack, whether none is on a node that the
# condition accepts, and whether a board shows nodes.
Lacks = tuple[int, Sequence[Lack], bool, bool]

# Hosts whose workers wait for space, and what they say of it.
Full = Sequence[tuple[str, str]]

_lock = threading.Lock()
_waiting: dict[tuple[int, int], str] = {}


def note() -> str:
    """Return why some calls of this program wait, for a line; nothing, if none does."""
    with _lock:
        return next(iter(_waiting.values()), "")


class Unfit:
    """The kinds of calls of an executor that no worker fits."""

    def __init__(self, store: str) -> None:
        self._store = store

    def begin(
        self, kind: int, queue: str, where: str, lacks: Lacks | None, full: Full = ()
    ) -> None:
        """Say that no worker could take the calls of a kind."""
        why = reason(queue, where, lacks, full)
        with _lock:
            _waiting[id(self), kind] = why
        # It may be made an error, which nobody here could catch.
        with contextlib.suppress(UnfitWarning):
            text = f"calls wait, since {why}{remedy(self._store, queue, lacks, full)}"
            # It is of no line of a program. That it is said once is seen to by the kinds.
            warnings.warn_explicit(text, UnfitWarning, "tidings.tasks", 0)

    def end(self, kind: int) -> None:
        """Note that a worker has come for a kind, or that no call of it is left."""
        with _lock:
            _waiting.pop((id(self), kind), None)

    def close(self) -> None:
        """Forget all."""
        with _lock:
            for key in [key for key in _waiting if key[0] == id(self)]:
                del _waiting[key]


def reason(queue: str, where: str, lacks: Lacks | None, full: Full = ()) -> str:
    """Return what keeps calls from every worker that is there."""
    if full:
        hosts = "; ".join(f"on {host}: {why}" for host, why in full)
        return f"the workers that could take them wait for space; {hosts}"
    if lacks is None:
        return f"no worker takes calls of queue {queue}"
    workers, lacking, is_filtered, has_board = lacks
    none = f"none of {workers} workers of queue {queue}" if workers > 1 else "the only worker"
    isnt = "is" if workers > 1 else "is not"
    has = "has" if workers > 1 else "has not"
    if is_filtered:
        board = "" if has_board else ": no agent runs whose board shows nodes"
        return f"{none} {isnt} on a node where {where}{board}"
    if any(name == _PYTHON for name, _, _ in lacking):
        return f"{none} {'calls' if workers > 1 else 'does not call'} functions of Python"
    parts = [
        f"{name}={_amount(name, needed)} (the most is {_amount(name, most)})"
        for name, needed, most in lacking
    ]
    return f"{none} {has} {' and '.join(parts) or 'all that they need at once'}"


def remedy(store: str, queue: str, lacks: Lacks | None, full: Full = ()) -> str:
    """Return what to do about it, unless those who wait for space have said it."""
    if full:
        return ""
    if lacks is not None and lacks[2] and not lacks[3]:
        return ": start `tidings agent` on the hosts of the workers, and of the store"
    if store == "memory:":
        return ": change what they need, or use an executor with a store that others share"
    command = f"tidings worker --store {store} --queue {queue} --python python3"
    if lacks is None:
        return f": start `{command}`"
    _, lacking, is_filtered, _ = lacks
    if is_filtered:
        return f": start `{command}` on such a node"
    command += "".join(
        f" --resource {name}={_amount(name, needed)}"
        for name, needed, _ in lacking
        if name not in (*_OWN, _PYTHON)
    )
    larger = any(name in _OWN for name, _, _ in lacking)
    return f": start `{command}`{' on a larger host' if larger else ''}"


def _amount(name: str, amount: int) -> str:
    if name != "mem":
        return f"{amount / 1_000:g}"
    for unit, size in _UNITS.items():
        if amount >= size:
            return f"{amount / size:.4g}{unit}"
    return str(amount)


def told(unfit: Unfit, kind: str, what: Any) -> None:
    """Take what the native module tells of a kind of calls."""
    if kind == "unfit":
        unfit.begin(*what)
    else:
        unfit.end(what)
