"""The setup: as whom, and where, this process takes part in a store."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tidings.tasks._native as _native
from tidings.tasks.errors import StoreError
from tidings.tasks.options import QUEUE
from tidings.tasks.seal import Seal


def address(store: str | None) -> str:
    """Return the address of a store: ``usual`` is the one of the commands."""
    if store is not None and not isinstance(store, str):
        raise TypeError(
            f"the store is a text such as 'file:PATH', not {store!r}: for so many workers write "
            "workers="
        )
    if store == "usual":
        try:
            return _native.usual_store()
        except RuntimeError as error:
            raise StoreError(str(error)) from None
    return store or "memory:"


_QUEUE = "queue://"


def place(store: str | None, queue: str | None, workers: int | None) -> tuple[str, str, int]:
    """Return the address of a store, the queue and how many processes do its tasks.

    ``queue://NAME`` is a queue of the usual store whose tasks others do.
    """
    if isinstance(store, str) and store.startswith(_QUEUE):
        named = store[len(_QUEUE) :]
        if not named or queue not in (None, named):
            raise ValueError(f"{store} names the queue: write queue://NAME, and no queue=")
        store, queue, workers = "usual", named, workers or 0
    if workers is None:
        workers = len(os.sched_getaffinity(0))
    if workers < 0:
        raise ValueError("workers must be 0 (others do the tasks) or more")
    return address(store), QUEUE if queue is None else queue, workers


def scratch(store: str, workers: int) -> str:
    """Make the folder of an executor, if it needs one: for blobs in memory, and for workers.

    A process that does tasks may be killed at any time. It has none, so it leaves none.
    """
    return tempfile.mkdtemp(prefix="tidings-") if store == "memory:" or workers else ""


def remove(scratch: str) -> None:
    """Remove the folder of an executor, if it has one."""
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)


def setup(
    store: str,
    scratch: str,
    *,
    keys: str | None,
    listen: str | None = None,
    blobs: str | None = None,
    detector: str = "session",
    cluster: str = "tidings",
    queue: str = "",
    workers: int = 0,
    command: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what the native module is told of this process, or say what is wrong."""
    _check_owner(store)
    return {
        "store": store,
        "cluster": cluster,
        "keys": keys,
        "listen": listen,
        "blobs": blob_folder(blobs),
        "detector": detector,
        "name": name(),
        "host": platform.node() or "localhost",
        "queue": queue,
        "workers": workers,
        "command": list(command),
        "scratch": scratch,
    }


def blob_folder(blobs: str | os.PathLike[str] | None) -> str | None:
    """Return the folder that is named, else that of ``TIDINGS_BLOBS``."""
    named = os.environ.get("TIDINGS_BLOBS") if blobs is None else os.fspath(blobs)
    return str(Path(named).absolute()) if named else None


def seal(keys: str | None) -> Seal:
    """Return what seals with the keys of a file, or say what is wrong with it."""
    try:
        return Seal(keys)
    except ValueError as error:
        raise StoreError(str(error)) from None


def name() -> str:
    """Return a name that no other session has, nor had."""
    return f"python-{os.getpid()}-{uuid.uuid4().hex[:12]}"


def _check_owner(store: str) -> None:
    """Refuse a file that others can write: to unpickle what lies there is to run it."""
    scheme, _, path = store.partition(":")
    if scheme != "file":
        return
    try:
        found = Path(path).stat()
    except OSError:
        return
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise StoreError(f"{store}: others can write it; make it yours alone: chmod 600")
