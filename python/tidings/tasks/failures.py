"""Failures: an exception of a task as the text that its record keeps, and back.

A record keeps two kilobytes of a failure. First come words for people, the exception and the end
of its traceback; then a line with the exception itself and the traceback, pickled and compressed.
What does not fit is left out in this order: the beginning of the traceback, all of it but its
end, the exception.
"""

from __future__ import annotations

import base64
import contextlib
import pickle
import traceback
import zlib
from collections.abc import Sequence

from tidings.tasks import pickles
from tidings.tasks.errors import RemoteError, RemoteTraceback

_MAX_BYTES = 2_000
_MAX_WORDS_BYTES = 400
_MAX_UNPACKED_BYTES = 1 << 20
_MARK = "\npickled: "

# Attempt, cause, text, host.
Failure = tuple[int, str, str, str]


def text_of(error: BaseException) -> str:
    """Return the text of a failure, at most two kilobytes."""
    told = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    words = "".join(traceback.format_exception_only(type(error), error)).strip()
    words = _cut(words, _MAX_WORDS_BYTES)
    packed = ""
    for part in _parts(error, told):
        packed = _MARK + base64.b85encode(zlib.compress(part)).decode()
        if len(words.encode()) + len(packed) <= _MAX_BYTES:
            break
        packed = ""
    free = _MAX_BYTES - len(words.encode()) - len(packed) - 1
    tail = _tail(told, min(free, _MAX_WORDS_BYTES))
    return f"{words}\n{tail}{packed}" if tail else words + packed


def error_of(failures: Sequence[Failure]) -> BaseException:
    """Return the exception by which a task has failed, of its failures in order."""
    attempts, cause, text, host = failures[-1] if failures else (0, "lost", "no failure", "?")
    words, mark, packed = text.partition(_MARK)
    if cause != "error" or not mark:
        return RemoteError(words, cause, host, attempts)
    told = words
    try:
        unpacked = zlib.decompressobj().decompress(base64.b85decode(packed), _MAX_UNPACKED_BYTES)
        pickled, told = pickle.loads(unpacked)
        error = None if pickled is None else pickles.loads(pickled)
    except Exception:
        error = None
    if not isinstance(error, BaseException):
        error = RemoteError(words, cause, host, attempts)
    error.__cause__ = RemoteTraceback(told, host, attempts)
    return error


def _parts(error: BaseException, told: str) -> list[bytes]:
    """Return what may be packed, the best first."""
    pickled = None
    with contextlib.suppress(Exception):
        pickled = pickles.dumps(error)
        pickles.loads(pickled)
    kept = [(pickled, told), (pickled, _tail(told, 1_500)), (pickled, _tail(told, 400))]
    kept += [(None, told), (None, _tail(told, 1_000))]
    return [pickle.dumps(one, 5) for one in kept]


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
