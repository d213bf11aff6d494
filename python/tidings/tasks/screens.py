"""Screens: where the line of a meter is shown. A terminal, a cell of a notebook, or a plain stream.

A screen that is gone takes what it is given without a word: no result is lost by it.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import sys
from typing import Any, Protocol, TextIO


class Screen(Protocol):
    """Where a line is shown."""

    is_live: bool
    """Whether a line replaces the one before: then it is shown unless nobody wants it."""

    period_s: float
    """How often it is written, in seconds."""

    def show(self, line: str, share: float | None) -> None:
        """Show a line, and the share of what has ended, if that is known."""

    def clear(self) -> None:
        """Remove the line."""

    def end(self) -> None:
        """Leave the line as it is, and go on below."""


class Stream:
    """A file or a pipe: a line below the other."""

    is_live = False
    period_s = 10.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, line: str, share: float | None) -> None:
        """Write it below."""
        self._say(f"{line}\n")

    def clear(self) -> None:
        """Do nothing: what was written stays."""

    def end(self) -> None:
        """Do nothing: the line ends already."""

    def _say(self, what: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(what)
            self._stream.flush()


class Terminal(Stream):
    """A terminal: the same line again."""

    is_live = True
    period_s = 0.2

    def show(self, line: str, share: float | None) -> None:
        """Write over the line."""
        with contextlib.suppress(OSError, ValueError):
            columns = os.get_terminal_size(self._stream.fileno()).columns
            # Some do not know how wide they are, and say 0.
            line = line[: columns - 1] if columns > 1 else line
        self._say(f"\r{line}\x1b[K")

    def clear(self) -> None:
        """Remove the line."""
        self._say("\r\x1b[K")

    def end(self) -> None:
        """Go to the next line."""
        self._say("\n")


class Notebook:
    """A cell of a notebook: a bar with the line beside it, by the display of IPython's kernel."""

    is_live = True
    period_s = 0.5

    def __init__(self, display: Any) -> None:
        self._display = display
        self._shown: Any = None

    def show(self, line: str, share: float | None) -> None:
        """Show it below the cell, or change what is shown there."""
        value = "" if share is None else f' value="{share:.4f}"'
        content = {
            "text/plain": line,
            "text/html": f"<progress{value}></progress> {html.escape(line)}",
        }
        self._put(content)

    def clear(self) -> None:
        """Show nothing there."""
        self._put({"text/plain": "", "text/html": ""})

    def end(self) -> None:
        """Do nothing: it stays below its cell."""

    def _put(self, content: dict[str, str]) -> None:
        # The kernel's sockets are as mortal as a terminal.
        with contextlib.suppress(Exception):
            if self._shown is None:
                self._shown = self._display(content, raw=True, display_id=True)
            else:
                self._shown.update(content, raw=True)


def of_program() -> Screen:
    """Return the screen of this program."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is not None:
        from IPython.display import display

        return Notebook(display)
    # A program may have none.
    stream: TextIO = sys.stderr or io.StringIO()
    is_terminal = not stream.closed and stream.isatty()
    return Terminal(stream) if is_terminal else Stream(stream)
