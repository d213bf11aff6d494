"""Durable tasks for Python: calls of functions that outlive the processes that do them.

``Executor`` is an executor of ``concurrent.futures``. ``task`` makes a function one that knows its
retries, limits and needs. ``map_file`` goes through the lines of a file, and goes on after a death.
"""

from __future__ import annotations

from tidings.tasks.context import attempt, cancelled, progress, task_id
from tidings.tasks.errors import RemoteError, RemoteTraceback, StoreError, TaskError
from tidings.tasks.executor import Executor
from tidings.tasks.future import Future
from tidings.tasks.gather import as_completed, gather
from tidings.tasks.map_file import Mapped, map_file
from tidings.tasks.task import Task, current_executor, task

__all__ = [
    "Executor",
    "Future",
    "Mapped",
    "RemoteError",
    "RemoteTraceback",
    "StoreError",
    "Task",
    "TaskError",
    "as_completed",
    "attempt",
    "cancelled",
    "current_executor",
    "gather",
    "map_file",
    "progress",
    "task",
    "task_id",
]
