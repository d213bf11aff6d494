"""Raw samples of ``tidings lab noise``: files of records of 32 bytes behind a head of 32.

The layout is that of docs/reference/noise.md. A file that was cut off, as on a full disk, is read
up to its last whole record.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HEAD = struct.Struct("<8sIIII8x")
_MAGIC = b"tdgnoise"
_VERSION, _QUANTA, _GAPS = 1, 1, 2

QUANTUM = np.dtype(
    [("begin_ns", "<u8"), ("length_ns", "<u8"), ("units", "<u8"), ("lost_ns", "<u8")]
)
GAP = np.dtype([("begin_ns", "<u8"), ("lost_ns", "<u8"), ("named_ns", "<u8"), ("source", "<u8")])

SCHEMA = "tidings-lab-noise-1"


class NoiseError(ValueError):
    """A file is not what was asked for. The message names it."""


@dataclass(frozen=True)
class Measured:
    """A result of ``tidings lab noise``."""

    folder: Path
    result: dict[str, Any]

    @property
    def name(self) -> str:
        """Return the name of its folder."""
        return self.folder.resolve().name

    @classmethod
    def read(cls, folder: Path) -> Measured:
        """Read the result in a folder."""
        file = folder / "noise.json"
        try:
            result = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise NoiseError(f"{file}: {error}") from error
        if not isinstance(result, dict) or result.get("schema") != SCHEMA:
            raise NoiseError(f"{file}: not a result of `tidings lab noise` ({SCHEMA})")
        return cls(folder, result)

    def quanta(self, probe: dict[str, Any]) -> NDArray[np.void]:
        """Return the quanta of a probe."""
        return read_quanta(self.folder / probe["files"][0])

    def gaps(self, probe: dict[str, Any]) -> NDArray[np.void]:
        """Return the gaps of a probe."""
        return read_gaps(self.folder / probe["files"][1])


def read_quanta(file: Path) -> NDArray[np.void]:
    """Read a file of quanta: ``begin_ns``, ``length_ns``, ``units``, ``lost_ns``."""
    return _read(file, _QUANTA, QUANTUM)


def read_gaps(file: Path) -> NDArray[np.void]:
    """Read a file of gaps: ``begin_ns``, ``lost_ns``, ``named_ns``, ``source``."""
    return _read(file, _GAPS, GAP)


def _read(file: Path, contents: int, record: np.dtype[np.void]) -> NDArray[np.void]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise NoiseError(f"{file}: {error.strerror}") from error
    if len(data) < _HEAD.size:
        raise NoiseError(f"{file}: {len(data)} bytes are no head")
    magic, version, found, _core, size = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != _VERSION or size != record.itemsize:
        raise NoiseError(f"{file}: not samples of version {_VERSION}")
    if found != contents:
        raise NoiseError(f"{file}: holds {'gaps' if found == _GAPS else 'quanta'}")
    count = (len(data) - _HEAD.size) // record.itemsize
    return np.frombuffer(data, record, count, _HEAD.size)
