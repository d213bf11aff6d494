"""Drafts: large blobs that a program fills in place, so that nothing is copied.

``draft`` makes an array in memory that the processes of this host share. The program computes into
it, as with ``out=`` of numpy, and ``put`` makes it a blob with a handle, as that of ``tt.put``. Its
pages are there at once, so that a full memory is an error here and no signal later. They are large
ones (2 MiB) where the file system of that memory has them if they are asked for (``huge=advise``):
to make small ones takes longer than to write them.

Invariant: what is put is not written any more. So ``put`` refuses as long as a view of the draft is
left, and the memory is mapped anew, to be read, where the handle is used.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidings.tasks import connection
from tidings.tasks.handles import Handle, refused

if TYPE_CHECKING:
    from types import TracebackType

    import numpy
    from typing_extensions import Self

    import tidings.tasks._native as _native
    from tidings.tasks.executor import Executor

# Linux's advice to make and map all pages at once, which Python has no name for.
_POPULATE_WRITE = 23

# The bytes of a large page.
_LARGE = 2 << 20


class Draft:
    """Memory for one array, which is filled and then put. Dropped, it leaves nothing."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, place: connection.Connection) -> None:
        import numpy

        self._dtype = numpy.dtype(dtype)
        if self._dtype.hasobject:
            raise TypeError("the bytes of Python's objects mean nothing elsewhere: pickle them")
        self.shape = shape
        self.nbytes = self._dtype.itemsize
        for length in shape:
            self.nbytes *= length
        if self.nbytes <= 0:
            raise ValueError(f"an array of shape {shape} has no bytes: put one that has some")
        self._place = place
        session = place.share()
        own = session.native.draft(session.number)
        self._draft: _native.Draft | None = own
        self._folder = Path(own.path).parent
        self._map: mmap.mmap | None = self._mapped(Path(own.path))

    def _mapped(self, path: Path) -> mmap.mmap:
        try:
            with path.open("r+b") as file:
                os.ftruncate(file.fileno(), self.nbytes)
                mapped = mmap.mmap(file.fileno(), self.nbytes)
                if not _populated(mapped):
                    os.posix_fallocate(file.fileno(), 0, self.nbytes)
        except OSError as error:
            self._draft = None
            raise refused(self.nbytes, self._folder, error) from None
        return mapped

    @property
    def array(self) -> numpy.ndarray:
        """The array, of zeros at first, on the memory itself: compute into it."""
        import numpy

        if self._map is None:
            raise ValueError("the draft was put, or given up")
        return numpy.frombuffer(self._map, self._dtype).reshape(self.shape)

    def put(self, *, hashed: bool = True) -> Handle:
        """Make it a blob, and return its handle. Let go of the arrays on it before.

        Without its hash nothing is read of it, which takes most of the time. Then two of equal
        bytes are not equal, and other hosts get it only if the cluster has a secret key. A
        ValueError says that an array is left; the draft is as it was then.
        """
        self._let_go()
        draft, self._draft = self._draft, None
        assert draft is not None, "as long as there is a map"
        try:
            held = draft.finish(hashed)
        except (OSError, RuntimeError) as error:
            raise refused(self.nbytes, self._folder, error) from None
        form = (self._dtype.char, self._dtype.str, self.shape)
        handle = Handle(held.blob, form, os.fspath(held.path), self._place)
        handle._held = held
        return handle

    def _let_go(self) -> None:
        if self._map is None:
            raise ValueError("the draft was put, or given up")
        try:
            self._map.close()
        except BufferError:
            text = "an array on the draft is left, which could write to what is put: delete it"
            raise ValueError(text) from None
        self._map = None

    def close(self) -> None:
        """Give it up, unless it was put: nothing of it is left once no array is on it."""
        with contextlib.suppress(ValueError):
            self._let_go()
        self._map = self._draft = None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give it up, unless it was put."""
        self.close()

    def __repr__(self) -> str:
        """Return what it is."""
        return f"<Draft of {self.nbytes} bytes>"


def _populated(mapped: mmap.mmap) -> bool:
    """Make all pages of a new file; return whether they are there, as Linux 5.14 and later say."""
    if len(mapped) >= _LARGE:
        with contextlib.suppress(OSError):  # a kernel without large pages
            mapped.madvise(mmap.MADV_HUGEPAGE)
    try:
        mapped.madvise(_POPULATE_WRITE)
    except OSError:
        return False
    return True


def draft(
    shape: int | tuple[int, ...],
    dtype: Any = float,
    *,
    store: str | None = None,
    executor: Executor | None = None,
    keys: str | os.PathLike[str] | None = None,
) -> Draft:
    """Make an array in memory that this host shares, which is filled in place and then put.

    ``store``, ``executor`` and ``keys`` are as of ``Queue``.
    """
    place = connection.connection_of(store, executor, keys)
    return Draft((shape,) if isinstance(shape, int) else tuple(shape), dtype, place)
