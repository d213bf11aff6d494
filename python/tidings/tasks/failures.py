"""Failures: an exception of a task as the text and detail that its record keeps, and back.

The text is for people: the exception and the end of its traceback, two kilobytes. The detail is for
Python: the exception itself and the traceback, pickled and compressed, eight kilobytes. What does
not fit there is left out in this order: the beginning of the traceback, all of it but its end, the
exception.
"""

from __future__ import annotations

import contextlib
import pickle
import traceback
import zlib
from collections.abc import Callable, Sequence

from tidings.tasks import pickles
from tidings.tasks.errors import RemoteError, RemoteTraceback

# What a record keeps is a little more: crates/tasks-core/src/record.rs.
_MAX_TEXT_BYTES = 2_000
_MAX_WORDS_BYTES = 500
_MAX_DETAIL_BYTES = 8_000
_MAX_UNPACKED_BYTES = 1 << 20

# Attempt, cause, text, host, detail.
Failure = tuple[int, str, str, str, bytes]


def text_of(error: BaseException) -> str:
    """Return the text of a failure, at most two kilobytes."""
    words = "".join(traceback.format_exception_only(type(error), error)).strip()
    words = _cut(words, _MAX_WORDS_BYTES)
    tail = _tail(_told(error), _MAX_TEXT_BYTES - len(words.encode()) - 1)
    return f"{words}\n{tail}" if tail else words


def detail_of(error: BaseException) -> bytes:
    """Return the detail of a failure, at most eight kilobytes."""
    for part in _parts(error, _told(error)):
        packed = zlib.compress(part)
        if len(packed) <= _MAX_DETAIL_BYTES:
            return packed
    return b""


def error_of(
    failures: Sequence[Failure], opened: Callable[[bytes], bytes] = bytes
) -> BaseException:
    """Return the exception by which a task has failed, of its failures in order.

    ``opened`` opens the seal of a detail; one that does not open is not unpickled.
    """
    nothing: Failure = (0, "lost", "no failure", "?", b"")
    attempts, cause, text, host, detail = failures[-1] if failures else nothing
    # What a process has said of a call; of most losses nobody could.
    if cause not in ("error", "lost") or not detail:
        return RemoteError(text, cause, host, attempts)
    told = text
    try:
        unpacked = zlib.decompressobj().decompress(opened(detail), _MAX_UNPACKED_BYTES)
        pickled, told = pickle.loads(unpacked)
        error = None if pickled is None else pickles.loads(pickled)
    except Exception:
        error = None
    if not isinstance(error, BaseException):
        error = RemoteError(text, cause, host, attempts)
    error.__cause__ = RemoteTraceback(told, host, attempts)
    return error


def _parts(error: BaseException, told: str) -> list[bytes]:
    """Return what may be packed, the best first."""
    pickled = None
    with contextlib.suppress(Exception):
        pickled = pickles.dumps(error)
        pickles.loads(pickled)
    lengths = [40_000, 10_000, 2_000]
    kept = [(pickled, _tail(told, length)) for length in lengths]
    kept += [(None, _tail(told, length)) for length in lengths]
    return [pickle.dumps(one, 5) for one in kept]


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def _cut(text: str, most_bytes: int) -> str:
    return text.encode(errors="replace")[:most_bytes].decode(errors="ignore")


def _tail(text: str, most_bytes: int) -> str:
    """Return the last whole lines of a text."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= most_bytes:
        return text
    if most_bytes <= 0:
        return ""
    tail = encoded[-most_bytes:].decode(errors="ignore")
    return tail.partition("\n")[2]
