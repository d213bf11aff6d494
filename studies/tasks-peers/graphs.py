"""A graph of calls that do nothing: layers, each call of which reads two of the layer before.

Neighbours meet, so no call is far ahead of the others, and a result is read twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import calls

WIDTH = 64
"""The calls of a layer: more than there are slots, so that none has to wait for one call."""


def layered(layers: int, call: Callable[[Any, Any], Any]) -> list[Any]:
    """Return what the last layer's calls return, if `call` calls, submits or declares one."""
    row: list[Any] = list(range(WIDTH))
    for _ in range(layers):
        row = [call(row[at], row[(at + 1) % WIDTH]) for at in range(WIDTH)]
    return row


def expected(layers: int) -> list[int]:
    """Return what comes out."""
    return layered(layers, calls.both)
