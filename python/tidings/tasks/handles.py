"""Handles: large blobs that stay in the memory of the node that puts them.

``put`` copies an array, or any other buffer, into shared memory once and returns its handle, which
is small: in a tuple, in the arguments of a task or in its result. Whoever has the handle gets the
bytes: on the same host the same memory is mapped, without a copy; on another host they are fetched
once, from a node that has them.
"""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import tidings.tasks._native as _native
from tidings.tasks import connection, context, inputs
from tidings.tasks.connection import Connection
from tidings.tasks.errors import NoSpaceError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy

    from tidings.tasks.executor import Executor

# What items there are, as a memoryview says and as numpy does, and the shape.
Form = Optional["tuple[str, str, tuple[int, ...]]"]

# The items of which a view of bytes can be made one.
_NATIVE = frozenset("bBhHiIlLqQnNfd?")

# What is written at once: the lock of the interpreter is given back in between.
_PIECE_BYTES = 64 << 20


class Handle:
    """A large blob of a node.

    It is there as long as somebody holds it, which this object does from ``put`` or ``get`` on; as
    long as a tuple names it; and as long as a task has a record whose arguments or result have its
    handle. Of a blob that nobody needs any more ``get`` raises a StoreError.
    """

    def __init__(
        self,
        blob: _native.SharedBlob,
        form: Form = None,
        path: str | None = None,
        place: Connection | None = None,
    ) -> None:
        self._blob = blob
        # What the items are, if that is known: a tuple has only the bytes.
        self._form = form
        # Where the bytes lie on the host that has put them.
        self._path = path
        self._connection = place
        self._held: _native.Held | None = None
        self._view: memoryview | None = None

    @property
    def where(self) -> str:
        """The host that has put it."""
        return self._blob.host

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        return self._blob.nbytes

    def get(self) -> memoryview:
        """Return the bytes, which cannot be written; as an array where ``put`` was given one.

        On the host that has put them they are mapped, on another one they are fetched first. A view
        stays readable whatever becomes of the blob.
        """
        view = self._bytes()
        if self._form is None or self._form[0] not in _NATIVE or not self.nbytes:
            return view
        code, _, shape = self._form
        return view.cast(code, shape)  # type: ignore[call-overload,no-any-return]

    def array(self, dtype: Any = None, shape: tuple[int, ...] | None = None) -> numpy.ndarray:
        """Return them as an array of numpy that cannot be written, and that copies nothing.

        Name type and shape where the handle comes out of a tuple, which has only the bytes.
        """
        import numpy

        if dtype is None:
            _, dtype, known = self._form or ("B", "|u1", (self.nbytes,))
            shape = known if shape is None else shape
        found = numpy.frombuffer(self._bytes(), dtype)
        return found if shape is None else found.reshape(shape)

    def __eq__(self, other: object) -> bool:
        """Return whether both name the same bytes of the same node."""
        return isinstance(other, Handle) and self._blob == other._blob

    def __hash__(self) -> int:
        """Return the hash of the name."""
        return hash(self._blob)

    def __repr__(self) -> str:
        """Return what it is."""
        return f"<Handle of {self.nbytes} bytes on {self.where}>"

    def __reduce__(self) -> tuple[Callable[..., Handle], tuple[Any, ...]]:
        """Return how it is pickled: as what names the bytes, which stay where they are."""
        if not inputs.meet_handle(self) and context.task_id() is not None:
            # In what a task returns: it stays as long as the task has a record.
            self.pin(bytes.fromhex(context.task_id() or ""))
        blob = self._blob
        named = blob.hash, blob.nbytes, blob.depot, blob.host
        return _restored, (named, self._form, self._path)

    def pin(self, task: bytes) -> None:
        """Keep it as long as a task has a record."""
        if not context.is_in_memory():
            session = self._place().share()
            session.ask(session.native.pin, self._blob, [task])

    def _bytes(self) -> memoryview:
        if self._view is None:
            self._view = self._mapped()
        return self._view

    def _mapped(self) -> memoryview:
        view = None if self._path is None else _map(self._path, self.nbytes)
        if view is not None and (self._held is not None or context.is_in_memory()):
            return view
        try:
            session = self._place().share()
            self._held = session.ask(session.native.get, self._blob)
        except StoreError:
            # What is mapped can be read, also if nobody holds it.
            if view is None:
                raise
            return view
        self._path = os.fspath(self._held.path)
        view = view or _map(self._path, self.nbytes)
        if view is None:
            raise StoreError(f"{self!r} was freed while it was mapped: get it again")
        return view

    def _place(self) -> Connection:
        if self._connection is None:
            self._connection = connection.connection_of(None, None, None)
        return self._connection


def put(
    data: Any,
    *,
    store: str | None = None,
    executor: Executor | None = None,
    keys: str | os.PathLike[str] | None = None,
) -> Handle:
    """Put a large blob into the memory of this host, and return its handle.

    ``data`` is bytes, an array of numpy or any other buffer; one that is not contiguous is copied
    twice. ``store``, ``executor`` and ``keys`` are as of ``Queue``. Put the handle into a tuple, or
    pass it to a task, before you let go of it.
    """
    view = memoryview(data)
    form = None if (view.format, view.ndim) == ("B", 1) else _form(data, view)
    is_flat = view.c_contiguous and view.nbytes > 0
    flat = view.cast("B") if is_flat else memoryview(view.tobytes())
    place = connection.connection_of(store, executor, keys)
    session = place.share()
    draft = session.native.draft(session.number)
    path = draft.path
    try:
        with Path(path).open("r+b", buffering=0) as file:
            for start in range(0, flat.nbytes, _PIECE_BYTES):
                _write(file.fileno(), flat[start : start + _PIECE_BYTES])
        held = draft.finish()
    except (OSError, RuntimeError) as error:
        raise refused(flat.nbytes, Path(path).parent, error) from None
    handle = Handle(held.blob, form, os.fspath(held.path), place)
    handle._held = held
    return handle


def of_field(field: Any, place: Connection) -> Any:
    """Return a field of a tuple that was found, as programs have it."""
    return Handle(field, place=place) if isinstance(field, _native.SharedBlob) else field


def _form(data: Any, view: memoryview) -> Form:
    """Return what items there are; or say that they are not to be had by their bytes."""
    if "O" in view.format:
        raise TypeError("the bytes of Python's objects mean nothing elsewhere: pickle them")
    code = view.format.lstrip("@")
    return code, getattr(getattr(data, "dtype", None), "str", code), view.shape or ()


def refused(length: int, folder: Path, error: Exception) -> StoreError:
    """Return why a blob is not put, and where memory is full what helps."""
    why = f"a blob of {length} bytes cannot be put: {error}"
    if getattr(error, "errno", None) not in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(why)
    text = (
        f"{why} in {folder}: nothing was left behind; make space there, free what is shared and "
        "not needed, or name another folder with TIDINGS_SHARED"
    )
    return NoSpaceError(text, os.fspath(folder), length)


def _write(file: int, view: memoryview) -> None:
    while view:
        view = view[os.write(file, view) :]


def _map(path: str, length: int) -> memoryview | None:
    """Return the bytes of a file; None if it is not there."""
    try:
        with Path(path).open("rb") as file:
            if os.fstat(file.fileno()).st_size != length:
                return None
            if length == 0:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ))
    except OSError:
        return None


def _restored(named: tuple[bytes, int, int, str], form: Form, path: str | None) -> Handle:
    return Handle(_native.SharedBlob(*named), form, path)
