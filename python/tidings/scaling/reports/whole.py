"""Files that are there whole or not at all, so that a full disk leaves none that is cut off."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write a file beside its place and move it there; what is no file, as a pipe, is written to.

    Raises OSError with the file's name; then what was there before is there still.
    """
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    path = path.resolve()  # what a link names is replaced, not the link
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        part.chmod(path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        part.replace(path)
    except OSError as error:
        part.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
