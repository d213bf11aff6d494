"""A run as stated in scaling.toml: a command, its sizes, its number of starts, and its launcher.

``{size}`` in the command stands for the size. Further parameters are varied too, in every
combination: their names stand in command and function in the same way, so that each combination is
a function of its own, whose growth with the size is checked by itself.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidings.scaling.counters.commands import COUNTERS, Counter

LAUNCHERS = {"local": "", "mpirun": "mpirun", "slurm": "sbatch"}
"""How a command is started, and the words for it where a run states no others."""

KEYS: dict[str, type] = {
    "function": str,
    "metric": str,
    "parameter": str,
    "command": str,
    "sizes": list,
    "repetitions": int,
    "value": str,
    "counter": str,
    "toggle": str,
    "marked": bool,
    "unit": str,
    "output": str,
    "launcher": str,
    "launch": str,
    "tasks": int,
    "at_once": int,
    "vary": dict,
}
NEEDED = ("function", "command", "sizes", "output")

_AT_ONCE = 8


class RunTableError(ValueError):
    """A table ``[[run]]`` cannot be used because of one of its keys."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(problem)
        self.key = key


@dataclass(frozen=True)
class StatedRun:
    """Runs to make. `tasks` is None where the size is their number."""

    function: str
    metric: str
    parameter: str
    command: str
    sizes: tuple[float, ...]
    repetitions: int
    value: str
    counter: Counter | None
    unit: str
    output: str
    launcher: str
    launch: tuple[str, ...]
    tasks: int | None
    at_once: int
    line: int

    @property
    def template(self) -> str:
        """The command with `{size}` in place of the size, as in rows and messages."""
        tasks = ["-n", str(self.tasks)] if self.launch and self.tasks else []
        return " ".join([*self.launch, *tasks, self.command])

    def words(self, size: float) -> list[str]:
        """Return the words of the command at a size."""
        return shlex.split(self.command.replace("{size}", f"{size:.17g}"))

    def tasks_at(self, size: float) -> int:
        """Return how many processes a size starts."""
        return self.tasks or int(size)


def of_table(table: Mapping[str, Any], line: int) -> Iterator[StatedRun]:
    """Yield the runs of a table whose keys and types have been checked; one per combination."""
    _check_sizes(table)
    _check_numbers(table)
    counter = _counter(table)
    launcher = table.get("launcher", "local")
    if launcher not in LAUNCHERS:
        raise RunTableError("launcher", f"launcher is `{launcher}`: {', '.join(LAUNCHERS)}")
    whole = all(size == int(size) for size in table["sizes"])
    if launcher != "local" and "tasks" not in table and not whole:
        raise RunTableError(
            "sizes", "sizes are numbers of processes: whole numbers, or set `tasks`"
        )
    for chosen in _combinations(table):
        named = {key: _filled(table[key], chosen) for key in ("function", "command")}
        yield StatedRun(
            function=named["function"],
            metric=table.get("metric", counter.metric if counter else "time"),
            parameter=table.get("parameter", "n" if launcher == "local" else "p"),
            command=_split_checked(named["command"]),
            sizes=tuple(float(size) for size in table["sizes"]),
            repetitions=table.get("repetitions", 1 if counter and counter.exact else 5),
            value=_expression(table.get("value", "")),
            counter=counter,
            unit=counter.unit if counter else table.get("unit", "") if "value" in table else "s",
            output=table["output"],
            launcher=launcher,
            launch=tuple(shlex.split(table.get("launch", LAUNCHERS[launcher]))),
            tasks=table.get("tasks"),
            at_once=table.get("at_once", _AT_ONCE),
            line=line,
        )


def _check_sizes(table: Mapping[str, Any]) -> None:
    sizes = table["sizes"]
    usual = all(isinstance(size, (int, float)) and not isinstance(size, bool) for size in sizes)
    if not sizes or not usual or not all(0 < size < float("inf") for size in sizes):
        raise RunTableError("sizes", "sizes must be positive numbers, at least one")
    if "{size}" not in table["command"] and table.get("launcher", "local") == "local":
        raise RunTableError("command", "the command lacks {size}")
    if "{size}" not in table["command"] and "tasks" in table:
        raise RunTableError("command", "neither the command nor the number of tasks has the size")


def _check_numbers(table: Mapping[str, Any]) -> None:
    for key in ("repetitions", "tasks", "at_once"):
        if table.get(key, 1) < 1:
            raise RunTableError(key, f"{key} is {table[key]}: it must be 1 or more")


def _counter(table: Mapping[str, Any]) -> Counter | None:
    name = table.get("counter", "")
    if name and name not in COUNTERS:
        raise RunTableError("counter", f"counter is `{name}`: {', '.join(COUNTERS)}")
    if name and "value" in table:
        raise RunTableError("counter", "a counter gives the value: omit one of the two")
    toggle, marked = table.get("toggle", ""), table.get("marked", False)
    if toggle and name != "callgrind":
        raise RunTableError("toggle", "only the counter callgrind has a `toggle`")
    if marked and (name in ("", "perf") or toggle):
        raise RunTableError("marked", "marks are for callgrind without `toggle`, and for memory")
    return Counter(name, toggle, marked) if name else None


def _expression(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise RunTableError("value", f"`{pattern}` is not a regular expression: {error}") from None
    return pattern


def _split_checked(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise RunTableError("command", f"`{command}`: {error}") from None
    if not words:
        raise RunTableError("command", "the command is empty")
    return command


def _combinations(table: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield every combination of the varied parameters; one, an empty one, if there are none."""
    varied: dict[str, Any] = table.get("vary", {})
    for name, values in varied.items():
        if not isinstance(values, list) or not values:
            raise RunTableError("vary", f"vary: `{name}` must be a list of values")
        if name == "size" or f"{{{name}}}" not in table["function"]:
            raise RunTableError(
                "vary", f"vary: the function lacks {{{name}}}: each value is a function of its own"
            )
    for chosen in itertools.product(*varied.values()):
        yield {name: str(value) for name, value in zip(varied, chosen)}


def _filled(text: str, chosen: Mapping[str, str]) -> str:
    for name, value in chosen.items():
        text = text.replace(f"{{{name}}}", value)
    return text
