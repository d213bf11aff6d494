"""Entries of a board, as they were at one moment: one of them, or all as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidings import readings

STATES = ("", "unheard", "alive", "suspected", "dead", "left")
UNHEARD = 1


@dataclass(frozen=True)
class Entry:
    """One node's entry, whole, as it was at one moment."""

    name: str
    address: str
    state: str
    incarnation: int
    sequence: int
    age_s: float
    """How old it was when it was read, s; not a number if unheard."""
    payload: bytes
    payload_schema: int = readings.SCHEMA

    @classmethod
    def of(
        cls, name: str, address: str, slot: np.void, *, age_s: float, payload_schema: int
    ) -> Entry:
        """Read the slot of a node."""
        return cls(
            name=name,
            address=address,
            state=STATES[slot["state"]],
            incarnation=int(slot["incarnation"]),
            sequence=int(slot["sequence"]),
            age_s=age_s,
            payload=bytes(slot["payload"]),
            payload_schema=payload_schema,
        )

    @property
    def readings(self) -> dict[str, Any]:
        """What the node measured, by name, with ``user.KEY`` as published; empty if unheard."""
        if self.payload_schema != readings.SCHEMA or self.state == STATES[UNHEARD]:
            return {}
        payload = np.frombuffer(self.payload, f"V{len(self.payload)}")
        heard = np.array([True])
        decoded = readings.decode(payload, heard) | readings.decode_user(payload, heard)
        return {name: column[0] for name, column in decoded.items()}


@dataclass(frozen=True)
class Entries:
    """All entries of a board; arrays of the same length, one element per node."""

    names: NDArray[np.str_]
    addresses: NDArray[np.str_]
    slots: NDArray[np.void]
    """The slots as they lie in the file: stamp, birth_ns and payload of each."""
    ages_s: NDArray[np.float64]
    """Ages at ``taken_ns``, s; not a number if unheard."""
    taken_ns: int
    payload_schema: int

    def __len__(self) -> int:
        """Count the entries."""
        return len(self.slots)

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries, in no order."""
        for at, slot in enumerate(self.slots):
            yield Entry.of(
                str(self.names[at]),
                str(self.addresses[at]),
                slot,
                age_s=float(self.ages_s[at]),
                payload_schema=self.payload_schema,
            )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Everything by column: names, states, ages, readings, and ``user.KEY`` as published."""
        columns: dict[str, NDArray[Any]] = {
            "name": self.names,
            "state": np.array(STATES)[self.slots["state"]],
            "age_s": self.ages_s,
            "address": self.addresses,
            "incarnation": self.slots["incarnation"].copy(),
            "sequence": self.slots["sequence"].copy(),
        }
        if self.payload_schema == readings.SCHEMA:
            heard = self.slots["state"] != UNHEARD
            columns.update(readings.decode(self.slots["payload"], heard))
            columns.update(readings.decode_user(self.slots["payload"], heard))
        return columns
