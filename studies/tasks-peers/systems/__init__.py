"""The systems that are compared, each behind one interface.

A module is imported when its system is measured, so that only its own packages have to be there.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from systems.system import Call, System

__all__ = ["PLACES", "Call", "System", "make"]

# Of each system, the module and class.
PLACES = {
    "ProcessPoolExecutor": ("futures", "Pool"),
    "Tidings, memory": ("executors", "Memory"),
    "Tidings, file": ("executors", "File"),
    "Tidings, workers": ("workers", "Workers"),
    "Tidings, commands": ("commands", "Commands"),
    "Ray": ("ray_nodes", "Local"),
    "Ray, node": ("ray_nodes", "Nodes"),
    "Dask": ("dask_workers", "Workers"),
    "NATS": ("jetstream", "Usual"),
    "NATS, synced": ("jetstream", "Synced"),
    "NATS, lease of 1 s": ("jetstream", "Lease"),
    "NATS, lease of 30 s": ("jetstream", "LongLease"),
    "HyperQueue": ("hyperqueue_commands", "Usual"),
    "HyperQueue, journal": ("hyperqueue_commands", "Journal"),
}


def make(name: str, folder: Path, slots: int) -> System:
    """Return a system that is not started yet."""
    module, kind = PLACES[name]
    made: System = getattr(importlib.import_module(f"systems.{module}"), kind)(folder, slots)
    return made
