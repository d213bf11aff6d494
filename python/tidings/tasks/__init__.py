"""Durable tasks for Python: calls of functions that outlive the processes that do them.

``Executor`` is an executor of ``concurrent.futures``. ``task`` makes a function one that knows its
retries, limits and needs. ``map_file`` goes through the lines of a file, and goes on after a death.
``Queue``, ``Semaphore``, ``Space`` and ``Store`` are shared by programs of all languages; ``put``
shares a large array by its ``Handle``, ``draft`` one that is filled in place; ``effect`` writes in
the same commit as the end of a task.
"""

from __future__ import annotations

from tidings.tasks.context import attempt, cancelled, effect, progress, task_id
from tidings.tasks.drafts import Draft, draft
from tidings.tasks.errors import (
    ConflictError,
    LostError,
    NoSpaceError,
    RemoteError,
    RemoteTraceback,
    SealError,
    StoreError,
    TaskError,
    UnfitWarning,
)
from tidings.tasks.executor import Executor
from tidings.tasks.flow import Dependency, Flow
from tidings.tasks.future import Future
from tidings.tasks.gather import as_completed, gather
from tidings.tasks.handles import Handle, put
from tidings.tasks.jobs import Job
from tidings.tasks.keys import Store, Stored
from tidings.tasks.map_file import Mapped, map_file
from tidings.tasks.queues import Queue, QueueState
from tidings.tasks.semaphores import Permits, Semaphore, SemaphoreState
from tidings.tasks.spaces import ANY, Found, Pulled, Space
from tidings.tasks.task import Task, current_executor, task
from tidings.tasks.watch import Change, Changes

__all__ = [
    "ANY",
    "Change",
    "Changes",
    "ConflictError",
    "Dependency",
    "Draft",
    "Executor",
    "Flow",
    "Found",
    "Future",
    "Handle",
    "Job",
    "LostError",
    "Mapped",
    "NoSpaceError",
    "Permits",
    "Pulled",
    "Queue",
    "QueueState",
    "RemoteError",
    "RemoteTraceback",
    "SealError",
    "Semaphore",
    "SemaphoreState",
    "Space",
    "Store",
    "StoreError",
    "Stored",
    "Task",
    "TaskError",
    "UnfitWarning",
    "as_completed",
    "attempt",
    "cancelled",
    "current_executor",
    "draft",
    "effect",
    "gather",
    "map_file",
    "progress",
    "put",
    "task",
    "task_id",
]
