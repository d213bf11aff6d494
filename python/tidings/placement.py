"""Nodes for work, from this machine's agent: what ``tidings pick`` prints, as a list.

``pick`` is one connection to the agent's control socket, one request, one reply
(docs/reference/control.md). It asks the agent and does not compute from the board, because the
agent remembers what it handed out: concurrent callers do not all get the same idle node. It needs
the standard library alone.

Invariants: a call takes no longer than ``timeout_s`` and reads no more than 256 MiB, whatever
the agent does; an error says what was wrong, where, and what to do, as the command does.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidings.control import (
    REQUEST_BYTES_MAX,
    RefusedError,
    ask,
    default_runtime_dir,
    refusal,
    result,
    socket_of,
)

_UNITS = {"": 1, "B": 1, "KB": 1000, "kB": 1000, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"PB": 10**15, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_UNITS |= {"PiB": 1 << 50}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]*)\s*")


@dataclass(frozen=True)
class Picked:
    """A node that was picked, as it was known before the pick."""

    name: str
    age_s: float
    """The age of its entry, s."""
    cpus: float
    """Its processors."""
    free_cpus: float
    """Those that were free, earlier picks taken off."""
    mem_free_bytes: int
    """Memory that was free, earlier picks taken off, bytes."""


@dataclass(frozen=True)
class Lack:
    """A need that some nodes do not meet. A node may lack several."""

    need: str
    """``cpus`` or ``mem_bytes``."""
    asked: float
    """What was asked of each node: processors, or bytes."""
    best: float
    """The most that any of the nodes with less has free."""
    short: float
    """By how much that node falls short."""
    nodes: int
    """Nodes that have less than asked."""


class UnsatisfiedError(RefusedError):
    """Too few nodes have what is needed."""

    def __init__(self, message: str, kind: str, shortfall: Mapping[str, Any]) -> None:
        super().__init__(message, kind)
        self.wanted = int(shortfall.get("wanted", 0))
        """Nodes that were wanted."""
        self.found = int(shortfall.get("found", 0))
        """Nodes that have what is needed."""
        self.considered = int(shortfall.get("considered", 0))
        """Nodes that were considered."""
        self.lacks = [_lack(lack) for lack in shortfall.get("lacks", [])]
        """The needs that fail, by how much; none if there are simply too few nodes."""


def pick(
    n: int = 1,
    *,
    need: Mapping[str, float | str] | None = None,
    avoid: Iterable[str] = (),
    policy: str = "two-choices",
    runtime_dir: str | os.PathLike[str] | None = None,
    timeout_s: float = 5.0,
) -> list[Picked]:
    """Pick ``n`` nodes for work, all different, the best first.

    Parameters
    ----------
    n
        How many.
    need
        What each must have free: ``cpus``, a number, and ``mem``, bytes or a text such as "16GiB".
    avoid
        Names of nodes that are not to be picked.
    policy
        "two-choices", "least-loaded", "spread" or "pack".
    runtime_dir
        The agent's; the usual one by default.
    timeout_s
        The longest that the call takes, s.

    Raises
    ------
    UnsatisfiedError
        If too few nodes have what is needed; ``lacks`` has which need failed, and by how much.
    RefusedError
        If the agent refuses otherwise, such as a policy that does not exist.
    AgentError
        If no agent can be asked; AgentTimeoutError if it does not answer in time.
    ValueError
        If ``n`` or a need cannot be read.

    """
    cpus, mem_bytes = _read_need(need or {})
    if isinstance(avoid, str):
        avoid = [avoid]
    request = {
        "op": "pick",
        "count": _count(n),
        "cpus": cpus,
        "mem_bytes": mem_bytes,
        "avoid": list(avoid),
        "policy": policy,
    }
    line = json.dumps(request).encode() + b"\n"
    if len(line) > REQUEST_BYTES_MAX:
        raise ValueError(f"avoid: a request has at most {REQUEST_BYTES_MAX} bytes; name fewer")
    directory = Path(runtime_dir) if runtime_dir is not None else default_runtime_dir()
    path = socket_of(directory)
    return _nodes(ask(path, line, timeout_s), path)


def _count(n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= 1 << 20:
        raise ValueError(f"n={n!r}: name a whole number of nodes, 1 to {1 << 20}")
    return n


def _read_need(need: Mapping[str, float | str]) -> tuple[float, int]:
    if not isinstance(need, Mapping):
        raise ValueError(f"need={need!r}: write need={{'cpus': 8, 'mem': '16GiB'}}")
    for key in need:
        if key not in ("cpus", "mem"):
            raise ValueError(
                f"need: no need {key!r}; there are 'cpus' and 'mem', "
                "as in need={'cpus': 8, 'mem': '16GiB'}"
            )
    try:
        cpus = float(need.get("cpus", 0))
    except (TypeError, ValueError):
        cpus = math.nan
    if not 0 <= cpus <= 1e6:
        raise ValueError(f"need: cpus={need['cpus']!r} is not a number of processors, 0 to 1e6")
    return cpus, _size_bytes(need.get("mem", 0))


def _size_bytes(size: float | str) -> int:
    bytes_ = math.nan
    if isinstance(size, str):
        found = _SIZE.fullmatch(size)
        if found and found[2] in _UNITS:
            bytes_ = float(found[1]) * _UNITS[found[2]]
    elif isinstance(size, (int, float)):
        bytes_ = size
    if not 0 <= bytes_ <= 1e18:
        raise ValueError(f"need: mem={size!r} is not a size; write bytes, or text such as '16GiB'")
    return math.ceil(bytes_)


def _nodes(reply: bytes, path: Path) -> list[Picked]:
    """Read the nodes of a reply, or raise the error in it."""
    return result(reply, path, lambda found: [_picked(node) for node in found["nodes"]], _refusal)


def _refusal(error: Mapping[str, Any]) -> RefusedError:
    kind, shortfall = str(error["kind"]), error.get("shortfall", {})
    if kind == "unsatisfied":
        return UnsatisfiedError(str(error["message"]), kind, shortfall)
    return refusal(error)


def _picked(node: Mapping[str, Any]) -> Picked:
    return Picked(
        name=str(node["name"]),
        age_s=float(node["age_ms"]) / 1e3,
        cpus=float(node["cpus"]),
        free_cpus=float(node["free_cpus"]),
        mem_free_bytes=int(node["mem_free_bytes"]),
    )


def _lack(lack: Mapping[str, Any]) -> Lack:
    return Lack(
        need=str(lack["need"]),
        asked=float(lack["asked"]),
        best=float(lack["best"]),
        short=float(lack["short"]),
        nodes=int(lack["nodes"]),
    )
