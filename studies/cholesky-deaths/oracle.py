"""What has to be done again when a node dies, by who knows the graph and all that has happened.

A call is done again if the node had it in hand, or if the only copy of its output was there and
something still needs it: a call that reads it and has not begun elsewhere or is done again itself,
or the program, which asks for the tiles of the factor at the end. Nothing else is.

It is told of what was before the death. What happened between that moment and the death can only
make less of it necessary, so this is an upper bound, and off by little.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple


class Known(NamedTuple):
    """A run up to the death of a node. Calls are numbers, and a reader's is above what it reads."""

    readers: Mapping[int, Set[int]]
    """Of all calls, those that read what it makes."""
    begun_there: Set[int]
    """Those that the node has begun."""
    ended_there: Set[int]
    """Those of them that it has ended, whose output has no copy elsewhere."""
    begun_elsewhere: Set[int]
    """Those that other nodes have begun, with their inputs in hand."""
    wanted: Set[int]
    """Those whose result the program asks for, and has not yet."""


def done_again(known: Known) -> set[int]:
    """Return the calls that have to be done again."""
    again: set[int] = set()
    # Readers come first: whether they are done again decides about what they read.
    for call in sorted(known.begun_there, reverse=True):
        is_read = any(
            reader in again or reader not in known.begun_elsewhere | known.begun_there
            for reader in known.readers[call]
        )
        if call not in known.ended_there or is_read or call in known.wanted:
            again.add(call)
    return again
