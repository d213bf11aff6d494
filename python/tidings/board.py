"""The board: the vector of this machine's agent, read from shared memory.

``Board()`` maps the file that the agent writes; nothing is asked of the agent, and nothing it does
waits for a reader. ``live`` is a NumPy array of the file's own bytes, without a copy: an entry
of it may be half written at that moment. ``read()`` copies all entries, each of them whole, by
the sequence locks of docs/reference/board.md. Names and addresses are decoded once a generation.

Order between the passes of a copy is the processor's: exact on x86-64; elsewhere the lock that is
taken between them is the fence.
"""

from __future__ import annotations

import importlib
import ipaddress
import mmap
import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidings.control import default_runtime_dir
from tidings.entries import STATES, UNHEARD, Entries, Entry

LAYOUT = 1
_MAGIC = b"TIDBOARD"
_HEADER_BYTES = 512
_ROW_BYTES = 96
_ATTEMPTS = 2_000
_PAUSE_S = 1e-4

# Offsets and types of the header's fields.
_FIELDS = {
    "version": (8, "<u4"),
    "header_bytes": (12, "<u4"),
    "file_bytes": (16, "<u8"),
    "slots": (24, "<u4"),
    "cells": (28, "<u4"),
    "slot_bytes": (32, "<u4"),
    "payload_bytes": (36, "<u4"),
    "row_bytes": (40, "<u4"),
    "payload_schema": (44, "<u4"),
    "slots_at": (48, "<u8"),
    "rows_at": (56, "<u8"),
    "index_at": (64, "<u8"),
    "unit_ns": (72, "<u8"),
    "writer_pid": (80, "<u8"),
    "cluster": (96, "V64"),
    "observer": (160, "V64"),
    "life": (256, "<u8"),
    "generation": (320, "<u8"),
    "members": (328, "<u8"),
    "used_slots": (336, "<u8"),
    "heartbeat_ns": (384, "<i8"),
}
_HEADER = np.dtype(
    {
        "names": list(_FIELDS),
        "formats": [form for _, form in _FIELDS.values()],
        "offsets": [at for at, _ in _FIELDS.values()],
        "itemsize": _HEADER_BYTES,
    }
)


class BoardError(Exception):
    """A board cannot be read; the message names the file and what to do."""


class UnreadableError(BoardError):
    """The file cannot be opened or mapped."""


class NotABoardError(BoardError):
    """The file is not a board."""


class LayoutError(BoardError):
    """The file has a layout that this reader does not know."""


class TruncatedError(BoardError):
    """The file is shorter than it must be."""


class DamagedError(BoardError):
    """A number in the file is impossible."""


class DeadWriterError(BoardError):
    """The writer has updated its heartbeat longer ago than the limit."""


class LeftError(BoardError):
    """The writer has ended, or stopped writing the board."""


class ReplacedError(BoardError):
    """Another file has taken the name: reopen it."""


class UnfinishedError(BoardError):
    """The writer stopped while writing an entry."""


def default_path() -> Path:
    """Return the path of the board of this user's agent, as in docs/reference/board.md."""
    return default_runtime_dir() / "board"


class Board:
    """A board, open for reading; to iterate over it is to iterate over all its entries.

    When the agent is started again, the board that it then writes is opened by the next call. A
    ``with`` statement closes it at the end; without one that is done when nothing refers to it.

    ``limit_s`` is how old the writer's heartbeat may be, s; by default 5, or 8 units of time if
    these are longer, since it is updated in each.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, limit_s: float | None = None
    ) -> None:
        self.path = Path(path) if path is not None else default_path()
        self._limit_s = limit_s
        self._fence_lock = threading.Lock()
        self._open()
        self._must_live()

    def _open(self) -> None:
        """Map the file, and read what does not change in it."""
        buffer = self._map()
        self._header = np.frombuffer(buffer, _HEADER, 1)[0:1]
        self._check_header(len(buffer))
        head = self._header[0]
        count, payload_bytes = int(head["slots"]), int(head["payload_bytes"])
        slot = np.dtype(
            {
                "names": [
                    "version",
                    "state",
                    "node_id",
                    "incarnation",
                    "sequence",
                    "birth_ns",
                    "payload",
                ],
                "formats": ["<u8", "<u4", "<u4", "<u4", "<u4", "<i8", f"V{payload_bytes}"],
                "offsets": [0, 8, 12, 16, 20, 24, 32],
                "itemsize": int(head["slot_bytes"]),
            }
        )
        self.live: NDArray[np.void] = np.frombuffer(buffer, slot, count, int(head["slots_at"]))
        """The slots of the file itself, read-only, without a copy."""
        self._rows = np.frombuffer(buffer, f"V{_ROW_BYTES}", count, int(head["rows_at"]))
        self.payload_schema = int(head["payload_schema"])
        self.unit_s = int(head["unit_ns"]) / 1e9
        usual_s = max(5.0, 8 * self.unit_s)
        self.limit_s = usual_s if self._limit_s is None else self._limit_s
        self.writer_pid = int(head["writer_pid"])
        self.cluster = self._name(bytes(head["cluster"]))
        self.observer = self._name(bytes(head["observer"]))
        self._closed = False
        self._generation = -1
        self._names: NDArray[np.str_] = np.array([], dtype=np.str_)
        self._addresses: NDArray[np.str_] = np.array([], dtype=np.str_)
        self._places: dict[str, int] = {}

    def __enter__(self) -> Board:
        """Return the board."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the board."""
        self.close()

    def close(self) -> None:
        """Let go of the file; arrays that were taken of ``live`` keep it mapped."""
        nothing = bytes(_HEADER_BYTES)
        self._header = np.frombuffer(nothing, _HEADER, 1)
        self.live, self._rows = self.live[:0].copy(), self._rows[:0].copy()
        self._places, self._generation, self._closed = {}, -1, True

    def __iter__(self) -> Iterator[Entry]:
        """Yield all entries, each of them whole."""
        return iter(self.read())

    def __repr__(self) -> str:
        return f"<Board {self.path}: {len(self)} nodes of {self.cluster}, seen by {self.observer}>"

    def __len__(self) -> int:
        """Count the nodes on it."""
        return min(int(self._header["members"][0]), len(self.live))

    @property
    def generation(self) -> int:
        """Changes whenever a node comes, goes, or changes its name or address."""
        return int(self._header["generation"][0]) & ~1

    def check(self) -> None:
        """Raise the error that says what is wrong with the writer, if anything is.

        Another agent may write the board by now: then that one is read.
        """
        if self._closed:
            raise BoardError(f"the board {self.path} was closed by this program")
        try:
            self._must_live()
        except (LeftError, ReplacedError, DeadWriterError) as error:
            if not self._opens_again():
                raise error from None

    def _opens_again(self) -> bool:
        """Open the file that has the name now; whether its writer lives."""
        before = dict(self.__dict__)
        try:
            self._open()
            self._must_live()
        except BoardError:
            self.__dict__.update(before)
            return False
        return True

    def _must_live(self) -> None:
        life = int(self._header["life"][0])
        silence_s = (time.monotonic_ns() - int(self._header["heartbeat_ns"][0])) / 1e9
        if life == 2:
            raise LeftError(
                f"the board {self.path} is closed: its agent has ended, or stopped writing it; "
                "check that it runs, and reopen the board"
            )
        if life == 3:
            raise ReplacedError(
                f"the board {self.path} has been replaced by another file of that name: reopen it"
            )
        if life != 1 or silence_s < -1.0:
            raise self._damaged("its state or its heartbeat is impossible")
        if silence_s > self.limit_s:
            raise DeadWriterError(
                f"the board {self.path} is old: its writer, process {self.writer_pid}, gave its "
                f"last heartbeat {silence_s:.1f} s ago, with a limit of {self.limit_s:.1f} s; "
                "check that the agent runs, or restart it"
            )

    def read(self) -> Entries:
        """Copy all entries, each of them whole, with names of the same generation."""
        self.check()
        for attempt in range(_ATTEMPTS):
            before = int(self._header["generation"][0])
            self._fence()
            if before % 2 == 0:
                used = min(int(self._header["used_slots"][0]), len(self.live))
                slots = self._copy(np.arange(used))
                if before != self._generation:
                    self._take_rows(used, before)
                self._fence()
                if int(self._header["generation"][0]) == before == self._generation:
                    return self._entries(slots)
            self._wait(attempt)
        raise self._unfinished()

    def entry(self, name: str) -> Entry:
        """Read one node's entry.

        Raises
        ------
        KeyError
            If there is no node of that name.

        """
        self.check()
        for attempt in range(_ATTEMPTS):
            if self._generation != self.generation:
                self.read()
            place = self._places.get(name)
            if place is None:
                raise KeyError(name)
            slots = self._copy(np.array([place]))
            address = str(self._addresses[place])
            self._fence()
            if int(self._header["generation"][0]) == self._generation:
                return self._entry(name, address, slots[0])
            self._wait(attempt)
        raise self._unfinished()

    def to_pandas(self) -> Any:  # noqa: ANN401, pandas is optional
        """Read all nodes as a pandas frame, one row per node, indexed by name."""
        pandas = _optional("pandas")
        return pandas.DataFrame(self.read().columns()).set_index("name")

    def to_polars(self) -> Any:  # noqa: ANN401, Polars is optional
        """Read all nodes as a Polars frame, one row per node."""
        polars = _optional("polars")
        columns = self.read().columns()
        # Polars takes an array of objects as such, and a list of texts as a column of texts.
        texts = {
            name: column.tolist() for name, column in columns.items() if column.dtype == object
        }
        return polars.DataFrame(columns | texts, nan_to_null=False)

    def _map(self) -> mmap.mmap:
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise UnreadableError(
                f"the board {self.path} cannot be read ({error.strerror}): is an agent running "
                "here, with `board` not off, and the same runtime directory?"
            ) from error
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_size < len(_MAGIC):
                raise self._not_a_board()
            with mmap.mmap(file, len(_MAGIC), access=mmap.ACCESS_READ) as start:
                if start[:] != _MAGIC:
                    raise self._not_a_board()
            if found.st_size < _HEADER_BYTES:
                raise self._truncated(found.st_size, _HEADER_BYTES)
            return mmap.mmap(file, found.st_size, access=mmap.ACCESS_READ)
        finally:
            os.close(file)

    def _check_header(self, file_bytes: int) -> None:
        head = {name: self._header[name][0] for name in _FIELDS}
        if head["version"] != LAYOUT:
            raise LayoutError(
                f"the board {self.path} has layout version {head['version']}, this reader knows "
                f"version {LAYOUT}: use the package that came with the agent"
            )
        slots, payload = int(head["slots"]), int(head["payload_bytes"])
        if not 1 <= slots <= 1 << 20 or payload > 1024:
            raise self._damaged("its header states more slots or longer payloads than allowed")
        slot_bytes = (32 + payload + 31) // 32 * 32
        rows_at = _HEADER_BYTES + slots * slot_bytes
        index_at = rows_at + slots * _ROW_BYTES
        cells = 1 << (2 * slots - 1).bit_length()
        wanted = {
            "header_bytes": _HEADER_BYTES,
            "file_bytes": index_at + 8 * cells,
            "cells": cells,
            "slot_bytes": slot_bytes,
            "row_bytes": _ROW_BYTES,
            "slots_at": _HEADER_BYTES,
            "rows_at": rows_at,
            "index_at": index_at,
        }
        if any(int(head[name]) != value for name, value in wanted.items()):
            raise self._damaged("the offsets in its header contradict each other")
        if file_bytes < wanted["file_bytes"]:
            raise self._truncated(file_bytes, wanted["file_bytes"])

    def _copy(self, places: NDArray[np.intp]) -> NDArray[np.void]:
        """Copy the slots at these indices, each of them whole."""
        slots: NDArray[np.void] = np.empty(len(places), self.live.dtype)
        missing = np.arange(len(places))
        versions = self.live["version"]
        for attempt in range(_ATTEMPTS):
            there = places[missing]
            before = versions[there]
            self._fence()
            slots[missing] = self.live[there]
            self._fence()
            whole = (before % 2 == 0) & (versions[there] == before)
            missing = missing[~whole]
            if len(missing) == 0:
                if slots["state"].max(initial=0) >= len(STATES):
                    raise self._damaged("an entry has a state that does not exist")
                return slots
            self._wait(attempt)
        raise self._unfinished()

    def _entries(self, slots: NDArray[np.void]) -> Entries:
        seated = np.flatnonzero(slots["state"])
        slots = slots[seated]
        now_ns = time.monotonic_ns()
        ages_s = np.maximum((now_ns - slots["birth_ns"]) / 1e9, 0.0)
        ages_s[slots["state"] == UNHEARD] = np.nan
        return Entries(
            names=self._names[seated],
            addresses=self._addresses[seated],
            slots=slots,
            ages_s=ages_s,
            taken_ns=now_ns,
            payload_schema=self.payload_schema,
        )

    def _entry(self, name: str, address: str, slot: np.void) -> Entry:
        unheard = slot["state"] == UNHEARD
        age_s = max(time.monotonic_ns() - int(slot["birth_ns"]), 0) / 1e9
        return Entry.of(
            name,
            address,
            slot,
            age_s=float("nan") if unheard else age_s,
            payload_schema=self.payload_schema,
        )

    def _take_rows(self, used: int, generation: int) -> None:
        """Decode the names and addresses of a generation; kept only if it is still the same."""
        rows = [row.tobytes() for row in self._rows[:used].copy()]
        self._fence()
        if int(self._header["generation"][0]) != generation:
            return
        names = [self._name(row[:64]) for row in rows]
        self._names = np.array(names, dtype=np.str_)
        addresses = [_address(self._text(row[64:88])) for row in rows]
        self._addresses = np.array(addresses, dtype=np.str_)
        self._places = {name: place for place, name in enumerate(names) if name}
        self._generation = generation

    def _name(self, raw: bytes) -> str:
        try:
            return self._text(raw).decode()
        except UnicodeDecodeError as error:
            raise self._damaged("a name in it is not valid text") from error

    def _text(self, raw: bytes) -> bytes:
        length = raw[0]
        if length >= len(raw) or any(raw[1 + length :]):
            raise self._damaged("a name or an address in it is not valid text")
        return raw[1 : 1 + length]

    def _fence(self) -> None:
        with self._fence_lock:
            pass

    def _wait(self, attempt: int) -> None:
        if attempt > 10:
            time.sleep(_PAUSE_S)

    def _not_a_board(self) -> NotABoardError:
        return NotABoardError(
            f"{self.path} is not a board: it does not begin with TIDBOARD; name the file that the "
            "agent writes, `board` in its runtime directory"
        )

    def _truncated(self, file_bytes: int, wanted: int) -> TruncatedError:
        return TruncatedError(
            f"the board {self.path} is cut off: {file_bytes} bytes of {wanted}; name the file in "
            "the agent's runtime directory"
        )

    def _damaged(self, what: str) -> DamagedError:
        return DamagedError(
            f"the board {self.path} is damaged: {what}; restart the agent, which rewrites it"
        )

    def _unfinished(self) -> UnfinishedError:
        return UnfinishedError(
            f"the board {self.path}: its writer, process {self.writer_pid}, stopped while "
            "writing an entry; try again, or check whether the agent is stopped"
        )


def _address(raw: bytes) -> str:
    """Write an address as text; empty if it is neither IPv4 nor IPv6."""
    if len(raw) not in (6, 18):
        return ""
    host = ipaddress.ip_address(raw[:-2])
    port = int.from_bytes(raw[-2:], "big")
    return f"[{host}]:{port}" if host.version == 6 else f"{host}:{port}"


def _optional(module: str) -> Any:  # noqa: ANN401, a module
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{module} is not installed: `pip install {module}`, or use Board.read().columns(), "
            "which needs NumPy alone",
            name=module,
        ) from error
