"""A test alone: run again in a process of its own, where one of its functions is counted.

callgrind and a wrapped malloc must be present when a process starts, and nothing else that the
process does may be counted. A test's function may be a lambda or use fixtures, so it cannot be
passed to another process. Instead the whole test runs again in a child that pytest starts for this
one test. Up to the expectation in question the child reuses the results of the parent; there it
counts, writes its counts, and is skipped. The two share only a folder that exists as long as the
child, so any number of tests may do this at once, under xdist too.

The cost of an empty call is subtracted, once it has been made a few times: the first costs several
times as much as those that follow. Strings hash alike in every child (PYTHONHASHSEED), so that
counts repeat.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tidings.scaling.counters import library
from tidings.scaling.counters.calls import without_collector
from tidings.scaling.counters.library import CounterError, Counts
from tidings.scaling.counters.timing import text_of

METRICS = ("instructions", "allocations", "heap", "pss")
"""What can be counted in a process of its own."""

_FOLDER = "TIDINGS_SCALING_ALONE"
_EMPTY_CALLS = 5
_REQUEST, _EARLIER, _COUNTS = "request.json", "earlier.pickle", "counts.json"

Call = Callable[[Any], Any]
Setup = Callable[[Any], Any]
"""Of a size, or of a pair in two parameters."""


def counts(
    node: pytest.Item, metric: str, sizes: Sequence[Any], earlier: Sequence[object]
) -> list[float]:
    """Run a test again and return what its next expectation counts at each size.

    `earlier` are the results that the test has got so far.
    """
    if metric == "pss":
        # What a call leaves behind speeds up the next one, so each size has its own process.
        return [_child(node, metric, [size], earlier)[0] for size in sizes]
    return _child(node, metric, sizes, earlier)


def _child(
    node: pytest.Item, metric: str, sizes: Sequence[Any], earlier: Sequence[object]
) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="tidings-scaling-") as name:
        folder = Path(name)
        request = {"metric": metric, "sizes": list(sizes), "index": len(earlier)}
        (folder / _REQUEST).write_text(json.dumps(request), encoding="utf-8")
        (folder / _EARLIER).write_bytes(pickle.dumps(list(earlier)))
        words, surroundings = _around(metric, folder)
        ended = subprocess.run(
            [*words, sys.executable, "-m", "pytest", *_arguments(node)],
            cwd=node.config.invocation_params.dir,
            env={**os.environ, **surroundings, _FOLDER: name},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if not (folder / _COUNTS).exists():
            raise CounterError(f"{node.name} did not count {metric}{_why(ended.stdout)}")
        listed: list[float] = json.loads((folder / _COUNTS).read_text(encoding="utf-8"))
    return listed


def _around(metric: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the words before the child's command, and its variables."""
    seed = {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")}
    if metric != "instructions":
        preload = f"{library.path()} {os.environ.get('LD_PRELOAD', '')}".strip()
        variables = {"LD_PRELOAD": preload, "PYTHONMALLOC": "malloc"}
        return [], {**seed, **variables, **({"TIDINGS_COUNTS_PSS": "1"} if metric == "pss" else {})}
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise CounterError(
            "valgrind is missing, and the processor's counter is not available here: install "
            "valgrind (Debian: valgrind), or use metric=`bytecodes`"
        )
    library.path(callgrind=True)
    out = folder / "callgrind"
    return [
        valgrind,
        "--quiet",
        "--tool=callgrind",
        "--instr-atstart=no",
        f"--callgrind-out-file={out}",
    ], seed


def _arguments(node: pytest.Item) -> list[str]:
    """Return what makes pytest run this test alone, with its configuration."""
    config = node.config
    names = [
        part.name for part in node.listchain() if isinstance(part, (pytest.Class, pytest.Item))
    ]
    arguments = ["::".join([str(node.path), *names]), "--rootdir", str(config.rootpath)]
    if config.inipath:
        arguments += ["-c", str(config.inipath)]
    # The plugin is loaded as it was here: by its entry point, a conftest, or one of these.
    for plugin in (name for name in config.option.plugins if name != "no:terminal"):
        arguments += ["-p", plugin]
    arguments += ["-p", "no:cacheprovider", "--import-mode", config.getoption("importmode")]
    known = config.pluginmanager.hasplugin
    arguments += ["-n0"] if known("xdist") else []
    return arguments + (["--no-cov"] if known("_cov") or known("pytest_cov") else [])


def _why(said: str) -> str:
    """Return a child's error message, in one line."""
    lines = [line.strip() for line in said.splitlines()]
    errors = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    errors = errors or [
        line for line in lines if re.match(r"ERROR|\w*Error:|.*error:|valgrind:", line)
    ]
    return f": {errors[-1]}" if errors else ": run it alone to see why"


class Request:
    """What this process is to count, if it is such a child."""

    def __init__(self, folder: Path) -> None:
        """Read the request in a folder."""
        self.folder = folder
        stated = json.loads((folder / _REQUEST).read_text(encoding="utf-8"))
        self.metric: str = stated["metric"]
        self.sizes: list[Any] = stated["sizes"]
        self.earlier: list[Any] = []
        if stated["index"]:
            self.earlier = pickle.loads((folder / _EARLIER).read_bytes())

    @classmethod
    def here(cls) -> Request | None:
        """Return the request of this process, or None in a process that a user started."""
        name = os.environ.get(_FOLDER)
        return cls(Path(name)) if name else None

    def answer(self, function: Call, setup: Setup | None) -> None:
        """Count at every size, write the counts, and end the test."""
        measure = _Callgrind(self.folder) if self.metric == "instructions" else _Memory(self.metric)
        prepared = setup or (lambda size: size)
        if self.metric != "pss":  # what a first call leaves behind would speed up the second
            function(prepared(self.sizes[0]))
        # A cache of the interpreter or a table of the loader fills once: that is no cost of a call.
        empty = min(measure.count(_nothing, prepared(self.sizes[0])) for _ in range(_EMPTY_CALLS))
        values = [
            self._of_call(size, measure.count(function, prepared(size)) - empty)
            for size in self.sizes
        ]
        (self.folder / _COUNTS).write_text(json.dumps(values), encoding="utf-8")
        pytest.skip("counted")

    def _of_call(self, size: Any, counted: float) -> float:  # noqa: ANN401
        """Return a call's count less that of an empty call; no allocation counts as 1."""
        if counted <= 0 and self.metric == "instructions":
            raise CounterError(
                f"at size {text_of(size)} the function counts no more instructions than an empty "
                "one: make it do more, or omit that size"
            )
        return max(counted, 1.0)


def _nothing(_: object) -> None:
    """Do nothing: the cost of a call itself."""


class _Callgrind:
    """Instructions between the library's marks, from the files that callgrind writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.library = library.load(callgrind=True)
        self.parts = 0

    def count(self, function: Call, argument: Any) -> float:  # noqa: ANN401
        with without_collector():
            self.library.tidings_counts_begin()
            function(argument)
            self.library.tidings_counts_end()
        self.parts += 1
        text = (self.folder / f"callgrind.{self.parts}").read_text(encoding="utf-8")
        found = re.search(r"^totals: ([0-9]+)", text, re.MULTILINE)
        if not found:
            raise CounterError("callgrind wrote no totals")
        return float(found.group(1))


class _Memory:
    """Allocations, heap or PSS, by the preloaded library; the result lives until it is counted."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self.library = library.load()

    def count(self, function: Call, argument: Any) -> float:  # noqa: ANN401
        self.library.tidings_counts_reset()
        with without_collector():
            self.library.tidings_counts_begin()
            kept = function(argument)
            self.library.tidings_counts_end()
        counted: Counts = self.library.tidings_counts_so_far()
        del kept
        return float(getattr(counted, self.metric))
