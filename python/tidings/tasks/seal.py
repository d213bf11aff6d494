"""The seal: what is unpickled was made by who has the cluster's key.

To unpickle is to run what the writer wanted. Where the key is given, all pickles that go into a
store are sealed with it, and nothing is unpickled that does not open: not in the process that makes
calls, not in the one that takes results. Without a key a store must be this user's alone, as one
in memory or in a file is.

A pickle is sealed for its place: the call, result, failure or data of a task, or the value of a
key. So it cannot be passed off as another.
"""

from __future__ import annotations

import os
from pathlib import Path

import tidings.tasks._native as _native
from tidings.tasks.errors import SealError

CALL = b"call:"
RESULT = b"result:"
FAILURE = b"failure:"
DATA = b"data:"
VALUE = b"value:"

_WHAT = {
    CALL: "the call",
    RESULT: "the result",
    FAILURE: "the exception",
    DATA: "the data",
    VALUE: "the value",
}


def key_file(keys: str | os.PathLike[str] | None) -> str | None:
    """Return the path of the key file: the one that is named, else that of ``TIDINGS_KEYS``."""
    named = os.environ.get("TIDINGS_KEYS") if keys is None else os.fspath(keys)
    return str(Path(named).absolute()) if named else None


class Seal:
    """What seals and opens pickles; without a key file it lets them pass as they are."""

    def __init__(self, keys: str | None) -> None:
        self._seals = None if keys is None else _native.Seals(keys)

    def close(self, kind: bytes, owner: bytes, data: bytes) -> bytes:
        """Return data sealed for its place."""
        return data if self._seals is None else self._seals.seal(kind + owner, data)

    def open(self, kind: bytes, owner: bytes, data: bytes) -> bytes:
        """Return what was sealed for its place, or raise a SealError."""
        if self._seals is None:
            if _native.is_sealed(data):
                raise SealError(
                    f"{_WHAT[kind]} is sealed: give this process the cluster's key file too, "
                    "keys=FILE (of a worker: --keys FILE)"
                )
            return data
        try:
            return self._seals.unseal(kind + owner, data)
        except ValueError as error:
            raise SealError(
                f"{_WHAT[kind]} {error}, so it was not unpickled: give all processes of the store "
                "the same key file"
            ) from None
