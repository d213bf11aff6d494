"""Files that are written whole or not at all: a full disk leaves none that is cut off."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write a temporary file beside the target and move it there.

    A target that is not a regular file, such as a pipe or standard output, is written to directly,
    and so is a file in a folder that accepts no other. Raises OSError with the file's name;
    otherwise an earlier file is still there.
    """
    if not _is_replaceable(path):
        path.write_text(text, encoding="utf-8")
        return
    path = path.resolve()  # the target of a link is replaced, not the link
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        part.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _is_replaceable(path: Path) -> bool:
    """Whether another file may replace this one, or it does not exist."""
    resolved = path.resolve()
    if resolved.is_mount() or path.parts[:2] in (("/", "dev"), ("/", "proc")):
        return False
    free = not path.exists() or path.is_file()
    return free and os.access(resolved.parent, os.W_OK)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
