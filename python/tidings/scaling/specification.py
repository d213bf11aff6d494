"""The file scaling.toml: expectations, rules and runs of a repository, each with its line.

Reference: docs/reference/scaling.md. Unknown keys, wrong types and growth that does not parse are
rejected with file and line; nothing is ignored silently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidings.scaling import stated_run
from tidings.scaling.expectation import Expectation, ExpectationError, TwoExpectation
from tidings.scaling.limits import Limits
from tidings.scaling.rules import Rule, RuleError
from tidings.scaling.stated_run import RunTableError, StatedRun

ENGINES = ("bayes", "paper")
_SUITE_KEYS = {
    "alpha": float,
    "engine": str,
    "target": float,
    "measurements": list,
    "recorded": str,
    "expectation": list,
    "rule": list,
    "run": list,
}
_EXPECTATION_KEYS = {
    "function": str,
    "metric": str,
    "growth": str,
    "within": str,
    "sides": str,
    "litmus": str,
    "count": str,
}
_RULE_KEYS = {"rule": str, "metric": str}
_KINDS = {
    str: "text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


class SpecificationError(ValueError):
    """A scaling.toml cannot be used. The message names file, line and remedy."""


@dataclass(frozen=True)
class Stated:
    """An expectation as stated: its function and metric, limits and line.

    `limits` is None where no growth is given: then the growth found is recorded for later checks;
    and where growth or the deviation `within` is in two parameters.
    """

    function: str
    metric: str
    expectation: Expectation | TwoExpectation | None
    within: Expectation | TwoExpectation | None
    limits: Limits | None
    two_sided: bool
    litmus: str
    count: str
    line: int

    @property
    def name(self) -> str:
        """Function and metric."""
        return f"{self.function} ({self.metric})" if self.metric else self.function


@dataclass(frozen=True)
class StatedRule:
    """A rule between functions, of one metric."""

    rule: Rule
    metric: str
    line: int


@dataclass(frozen=True)
class Specification:
    """The content of a scaling.toml."""

    path: Path
    alpha: float | None
    engine: str
    target: float | None
    measurements: tuple[str, ...]
    recorded: str
    expectations: tuple[Stated, ...]
    rules: tuple[StatedRule, ...]
    runs: tuple[StatedRun, ...]

    @classmethod
    def read(cls, path: Path) -> Specification:
        """Read a file, or raise SpecificationError."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise SpecificationError(f"{path}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise SpecificationError(f"{path}: this is not UTF-8 text") from None
        return cls.parse(text, path)

    def names(self, function: str, metric: str) -> bool:
        """Whether an expectation or a rule is about this function and metric."""
        return any(
            one.function == function and one.metric in ("", metric) for one in self.expectations
        ) or any(
            function in one.rule.functions and one.metric in ("", metric) for one in self.rules
        )

    @classmethod
    def parse(cls, text: str, path: Path) -> Specification:
        """Read the text of a file."""
        reader = _Reader(text, path)
        table = reader.table()
        reader.check(table, _SUITE_KEYS, 1, "the file")
        engine = table.get("engine", ENGINES[0])
        if engine not in ENGINES:
            reader.fail(reader.line_of("engine"), f"engine `{engine}`: it must be bayes or paper")
        alpha = table.get("alpha")
        if alpha is not None and not 0 < alpha <= 0.5:
            reader.fail(
                reader.line_of("alpha"), f"alpha is {alpha}: it must be above 0 and at most 0.5"
            )
        target = table.get("target")
        if target is not None and not 0 < target < float("inf"):
            reader.fail(reader.line_of("target"), f"target is {target}: it must be positive")
        return cls(
            path,
            alpha,
            engine,
            target,
            tuple(str(entry) for entry in table.get("measurements", [])),
            table.get("recorded", "scaling.recorded.json"),
            tuple(reader.expectations(table.get("expectation", []))),
            tuple(reader.rules(table.get("rule", []))),
            tuple(reader.runs(table.get("run", []))),
        )


class _Reader:
    """Turns tables into statements; knows the line of each."""

    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        self.lines = text.splitlines()
        self.path = path

    def table(self) -> dict[str, Any]:
        try:
            import tomllib
        except ImportError:  # before Python 3.11
            import tomli as tomllib  # type: ignore[import-not-found,no-redef,unused-ignore]
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise SpecificationError(f"{self.path}: {error}") from None

    def fail(self, line: int, problem: str) -> None:
        raise SpecificationError(f"{self.path}:{line}: {problem}")

    def line_of(self, key: str, begin: int = 0) -> int:
        """Return the line, from 1, of a key's first assignment from a given line on."""
        for number, line in enumerate(self.lines[begin:], begin + 1):
            if re.match(rf"\s*{re.escape(key)}\s*=", line):
                return number
        return begin or 1

    def heads(self, name: str) -> list[int]:
        """Return the lines of the headings ``[[name]]``."""
        head = re.compile(rf"\s*\[\[\s*{name}\s*\]\]")
        return [number for number, line in enumerate(self.lines, 1) if head.match(line)]

    def check(
        self, table: Mapping[str, Any], keys: Mapping[str, type], line: int, place: str
    ) -> None:
        """Reject unknown keys and wrong types."""
        for key, value in table.items():
            if key not in keys:
                known = ", ".join(keys)
                self.fail(self.line_of(key, line - 1), f"{place} has no `{key}`; it has {known}")
            wanted = keys[key]
            right = (
                isinstance(value, (int, float)) if wanted is float else isinstance(value, wanted)
            )
            if not right or isinstance(value, bool) != (wanted is bool):
                self.fail(self.line_of(key, line - 1), f"`{key}` must be {_KINDS[wanted]}")

    def entries(
        self, listed: list[Any], name: str, keys: Mapping[str, type], needed: tuple[str, ...]
    ) -> list[tuple[dict[str, Any], int]]:
        """Return tables of one kind with their lines."""
        heads = self.heads(name)
        found = []
        for index, table in enumerate(listed):
            line = heads[index] if index < len(heads) else 1
            if not isinstance(table, dict):
                self.fail(line, f"`{name}` is a table: begin it with [[{name}]]")
            self.check(table, keys, line, f"[[{name}]]")
            for key in needed:
                if key not in table:
                    self.fail(line, f"[[{name}]] lacks `{key}`")
            found.append((table, line))
        return found

    def expectations(self, listed: list[Any]) -> list[Stated]:
        stated = []
        for table, line in self.entries(listed, "expectation", _EXPECTATION_KEYS, ("function",)):
            growth = self.growth(table, "growth", line)
            sides = table.get("sides", "both" if growth and growth.two_sided else "upper")
            if sides not in ("upper", "both"):
                self.fail(self.line_of("sides", line), f"sides is `{sides}`: upper or both")
            within = self.growth(table, "within", line)
            stated.append(
                Stated(
                    table["function"],
                    table.get("metric", ""),
                    growth,
                    within,
                    self.limits(growth, within, line),
                    sides == "both",
                    table.get("litmus", ""),
                    table.get("count", ""),
                    self.line_of("growth", line) if growth else line,
                )
            )
        return stated

    def limits(
        self,
        growth: Expectation | TwoExpectation | None,
        within: Expectation | TwoExpectation | None,
        line: int,
    ) -> Limits | None:
        if not isinstance(growth, Expectation) or isinstance(within, TwoExpectation):
            return None
        try:
            return Limits.around(growth.term, within.term if within else None)
        except ValueError as error:
            raise SpecificationError(f"{self.path}:{line}: {error}") from None

    def growth(
        self, table: Mapping[str, Any], key: str, line: int
    ) -> Expectation | TwoExpectation | None:
        if key not in table:
            return None
        try:
            return Expectation.read(table[key])
        except ExpectationError as error:
            raise SpecificationError(f"{self.path}:{self.line_of(key, line)}: {error}") from None

    def rules(self, listed: list[Any]) -> list[StatedRule]:
        stated = []
        for table, line in self.entries(listed, "rule", _RULE_KEYS, ("rule",)):
            at = self.line_of("rule", line)
            try:
                stated.append(StatedRule(Rule.parse(table["rule"]), table.get("metric", ""), at))
            except RuleError as error:
                raise SpecificationError(f"{self.path}:{at}: {error}") from None
        return stated

    def runs(self, listed: list[Any]) -> list[StatedRun]:
        stated: list[StatedRun] = []
        for table, line in self.entries(listed, "run", stated_run.KEYS, stated_run.NEEDED):
            try:
                stated += stated_run.of_table(table, line)
            except RunTableError as error:
                self.fail(self.line_of(error.key, line), str(error))
        return stated
