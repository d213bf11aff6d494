"""Flows: a computation that is declared by what its tasks read, move on and change.

A *dependency* is a kind of data, each instance under a key of typed fields. A declared task says
for its arguments which instances it reads, which it takes and moves on under another key (as in a
systolic array), and which it changes (as in a reduction). The graph follows from the order of
submissions: a task has of each instance what the last one before it has made.

What is changed is a new version, and whoever was to read the one before has that one, however late
it runs and however often: a task that is tried again finds its inputs as they were. Moving data on
only names it otherwise. Nothing waits in a task, so tasks never wait for each other with all slots
taken.

Source: FOX-tuple (fox_dependency_declare, fox_tuple_task_declare, fox_append_migrate_dependency);
why it stands on futures: docs/decisions/0041.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from tidings.tasks import task as tasks
from tidings.tasks.executor import Executor

Key = tuple[Any, ...]
"""The fields that name an instance."""

KeyOf = Callable[..., Key]
"""What gives the key for the arguments of a task."""


class Dependency:
    """A kind of data. Made by ``Flow.dependency_declare``."""

    def __init__(self, name: str, types: tuple[type, ...]) -> None:
        self.name = name
        self.types = types
        self._instances: dict[Key, Any] = {}

    def put(self, *key: Any, data: Any) -> None:
        """Let an instance be there: data, or a future of it.

        Data goes with each call that has it; what is large comes better from a task, whose future
        is put.
        """
        self._expect_room(self.checked(key))
        self._instances[key] = data

    def get(self, *key: Any) -> Any:
        """Return what is under a key, when all tasks that were submitted have changed it."""
        found = self.version(self.checked(key))
        return found.result() if isinstance(found, Future) else found

    def version(self, key: Key) -> Any:
        """Return what is under a key now: data, or a future of it."""
        try:
            return self._instances[key]
        except KeyError:
            reason = "nothing has put it, or a task has taken it"
            raise LookupError(f"there is no {self.shown(key)}: {reason}") from None

    def checked(self, key: Key) -> Key:
        """Return a key whose fields are as declared, or say what is wrong with it."""
        if not _are(key, self.types):
            declared = _names(self.types)
            raise TypeError(f"{self.name} is declared with fields {declared}, not {key!r}")
        return key

    def shown(self, key: Key) -> str:
        """Return how an instance is named for people."""
        return f"{self.name}({', '.join(map(repr, key))})"

    def _expect_room(self, key: Key) -> None:
        if key in self._instances:
            raise ValueError(f"{self.shown(key)} is there already: take or change it")


class Declared:
    """A task of a flow. Made by ``Flow.task_declare``.

    The function is called with the arguments, then with the instances in the order in which they
    were appended. It returns what becomes of those that it changes: the one, or a tuple of them.
    """

    def __init__(self, flow: Flow, function: Callable[..., Any], types: tuple[type, ...]) -> None:
        self._flow = flow
        self._function = function
        self._types = types
        self._appended: list[_Appended] = []

    def append_read_dependency(self, dependency: Dependency, key: KeyOf) -> None:
        """Let it read an instance, beside others."""
        self._append(_Appended(dependency, key))

    def append_migrate_dependency(
        self, dependency: Dependency, key: KeyOf, to: KeyOf | None = None
    ) -> None:
        """Let it take an instance and move it on ``to`` another key; without one it ends here."""
        self._append(_Appended(dependency, key, is_taken=True, to=to))

    def append_inout_dependency(self, dependency: Dependency, key: KeyOf) -> None:
        """Let it change an instance."""
        self._append(_Appended(dependency, key, is_changed=True))

    def submit(self, *arguments: Any) -> Future[Any]:
        """Submit it for these arguments, and return the future of what the function returns.

        An error leaves all instances as they were.
        """
        if not _are(arguments, self._types):
            declared = _names(self._types)
            raise TypeError(f"{self._name()} is declared with {declared}, not {arguments!r}")
        steps = [one.step(arguments) for one in self._appended]
        _expect_apart(steps)
        executor = self._flow.executor
        future = executor.submit(self._function, *arguments, *(step.has for step in steps))
        changed = [step for step in steps if step.is_changed]
        made = [future]
        if len(changed) > 1:
            parts = map(operator.itemgetter, range(len(changed)))
            made = [executor.submit(part, future) for part in parts]
        for step, version in zip(changed, made):
            step.dependency._instances[step.key] = version
        moved = [step for step in steps if step.is_taken]
        for step in moved:
            del step.dependency._instances[step.key]
        for step in moved:
            if step.to is not None:
                step.dependency._instances[step.to] = step.has
        return future

    def _append(self, one: _Appended) -> None:
        if one.dependency not in self._flow.dependencies.values():
            raise ValueError(f"{one.dependency.name} is declared by another flow")
        self._appended.append(one)

    def _name(self) -> str:
        return getattr(self._function, "__name__", repr(self._function))


class Flow:
    """Declared dependencies and tasks, for one thread of a program.

    ``executor``: where tasks are done; the one whose ``with`` block was entered last, unless it is
    named.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        self.dependencies: dict[str, Dependency] = {}
        self._executor = executor

    @property
    def executor(self) -> Executor:
        """Return where tasks are done."""
        return self._executor or tasks.current_executor()

    def dependency_declare(self, name: str, *types: type) -> Dependency:
        """Declare a kind of data, and the types of the fields of its keys."""
        if name in self.dependencies:
            raise ValueError(f"{name} is declared already")
        self.dependencies[name] = Dependency(name, types)
        return self.dependencies[name]

    def task_declare(self, function: Callable[..., Any], *types: type) -> Declared:
        """Declare a task: a function, or one made by ``@task``, and the types of its arguments."""
        return Declared(self, function, types)


@dataclass(frozen=True)
class _Step:
    """What one submission does with one instance."""

    dependency: Dependency
    key: Key
    has: Any
    is_changed: bool
    is_taken: bool
    to: Key | None


@dataclass(frozen=True)
class _Appended:
    """A dependency of a declared task: an instance is read, changed, or taken and moved on."""

    dependency: Dependency
    key: KeyOf
    is_changed: bool = False
    is_taken: bool = False
    to: KeyOf | None = None

    def step(self, arguments: tuple[Any, ...]) -> _Step:
        """Return what is done for these arguments."""
        dependency = self.dependency
        key = dependency.checked(self.key(*arguments))
        has = dependency.version(key)
        to = None if self.to is None else dependency.checked(self.to(*arguments))
        return _Step(dependency, key, has, self.is_changed, self.is_taken, to)


def _expect_apart(steps: list[_Step]) -> None:
    """Say if two of a submission would take or change one instance, or come to one key."""
    own = [step for step in steps if step.is_taken or step.is_changed]
    keys = [(step.dependency.name, step.key) for step in own]
    for step, key in zip(own, keys):
        if keys.count(key) > 1:
            raise ValueError(f"{step.dependency.shown(step.key)} is taken or changed twice at once")
    leaving = {(step.dependency.name, step.key) for step in own if step.is_taken}
    coming = [(step.dependency.name, step.to) for step in own if step.to is not None]
    for step in own:
        if step.to is None:
            continue
        place = (step.dependency.name, step.to)
        if place not in leaving:
            step.dependency._expect_room(step.to)
        if coming.count(place) > 1:
            raise ValueError(f"two come to {step.dependency.shown(step.to)} at once")


def _are(values: tuple[Any, ...], types: tuple[type, ...]) -> bool:
    return len(values) == len(types) and all(map(_is_a, values, types))


def _names(types: tuple[type, ...]) -> str:
    return f"({', '.join(one.__name__ for one in types)})"


def _is_a(value: Any, declared: type) -> bool:
    # True is an int for Python, and none for whoever declares one.
    return isinstance(value, declared) and (declared is bool or not isinstance(value, bool))
