"""CPython's own tests of ``concurrent.futures``, with our executor.

They come with Python, or on Debian in a package of their own (see ``.ci/require``). What of them
does not apply, and why:

| tests | reason |
|---|---|
| ``ThreadPool*``, ``ProcessPool*`` | they look into the threads and processes of those executors |
| ``ExecutorDeadlockTest``, ``test_killed_child`` | a process that dies breaks that executor; here its task is tried again |
| ``FailingInitializerMixin`` | reads the log of processes over a queue of ``multiprocessing``; ``test_executor.py`` has ours |
| ``test_interpreter_shutdown`` and others that run a script | the script names one of its executors; ``test_executor.py`` has ours |
| ``test_max_workers_negative`` | no worker at all is possible here: others may do the tasks |
| ``test_cancel_futures`` | counts how many of a pool's queue had begun; ``test_executor.py`` has ours |
| ``FutureTests`` | make futures without an executor, of the class of the standard library |
"""  # noqa: E501, a table

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tidings.tasks as tt

pytestmark = pytest.mark.foreign

NAME = "test.test_concurrent_futures"


def find_tests() -> None:
    """Let the tests be found: in Python itself, else where Debian has them."""
    if importlib.util.find_spec("test") and importlib.util.find_spec(NAME):
        return
    version = "{}.{}".format(*sys.version_info[:2])
    folder = Path(f"/usr/lib/python{version}/test")
    found = folder.glob("test_concurrent_futures*")
    assert any(found), f"no {NAME}: install libpython{version}-testsuite"
    # The workers' processes find modules where this one does.
    place = tempfile.mkdtemp(prefix="tidings-cpython-")
    (Path(place) / "test").symlink_to(folder)
    sys.path.insert(0, place)
    for known in [name for name in sys.modules if name.partition(".")[0] == "test"]:
        del sys.modules[known]


def modules() -> list[ModuleType]:
    """Return the module of the tests, or those that it has had since Python 3.12."""
    package = importlib.import_module(NAME)
    if not hasattr(package, "__path__"):
        return [package]
    names = ("util", "executor", "test_wait", "test_as_completed", "test_shutdown", "test_init")
    return [importlib.import_module(f"{NAME}.{name}") for name in names]


find_tests()
_found: dict[str, Any] = {}
for module in reversed(modules()):
    _found.update(vars(module))


def set_up_and_start(self: Any) -> None:
    """Set up, and wait until the processes of the workers have started.

    ``test_timeout`` and ``test_map_timeout`` give calls 5 s. On a loaded machine a process may need
    some of them to start.
    """
    _found["ExecutorMixin"].setUp(self)
    calls = [self.executor.submit(time.sleep, 0.1) for _ in range(self.worker_count)]
    for call in calls:
        call.result()


class Pool(tt.Executor):
    """Our executor, made as those of the standard library."""

    def __init__(self, max_workers: int, **others: Any) -> None:
        super().__init__(workers=max_workers, **others)


def ours(mixin: str, *bases: str, **others: Any) -> type:
    """Return the tests of a mixin with our executor, without those of which ``others`` has None."""
    place = {"executor_type": Pool, "worker_count": 3, **others}
    return type(mixin, tuple(_found[name] for name in (*bases, mixin, "BaseTestCase")), place)


TestExecutor = ours(
    "ExecutorTest", "ExecutorMixin", test_max_workers_negative=None, setUp=set_up_and_start
)
TestWait = ours("WaitTests", "ExecutorMixin", setUp=set_up_and_start)
TestAsCompleted = ours("AsCompletedTests", "ExecutorMixin")
TestInitializer = ours("InitializerMixin")
TestShutdown = ours(
    "ExecutorShutdownTest",
    "ExecutorMixin",
    test_cancel_futures=None,
    test_hang_gh83386=None,
    test_hang_gh94440=None,
    test_interpreter_shutdown=None,
    test_submit_after_interpreter_shutdown=None,
)


def test_the_tests_are_those_of_this_python() -> None:
    assert os.path.realpath(_found["__file__"]).startswith(
        ("/usr/lib", sys.prefix, sys.base_prefix)
    )
