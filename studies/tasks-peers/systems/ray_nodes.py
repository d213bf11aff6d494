"""Ray: nodes of one machine, each a raylet with its worker processes, and a head that does none."""

from __future__ import annotations

import logging
import os
import time

import calls
import graphs
import ray
from processes import Crew
from ray.cluster_utils import Cluster

from systems.system import Call, System

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# It listens at the address of the machine: that of loopback it replaces in some places only.
NODE = {"object_store_memory": 100 << 20, "include_dashboard": False}


class Local(System):
    """A head whose worker processes do the tasks."""

    replaces_workers = True
    references: tuple[ray.ObjectRef, ...] = ()

    def start(self) -> None:
        """Start it in this process's session."""
        ray.init(
            address="local",
            num_cpus=self.slots,
            **NODE,
            logging_level=logging.ERROR,
            log_to_driver=False,
        )

    def submit(self, call: Call, count: int) -> None:
        """Submit each."""
        function = call.function
        remote = ray.remote(lambda number: function(number))
        self.references = tuple(remote.remote(number) for number in range(count))

    def wait(self, seconds: float) -> int:
        """Wait for each; what has failed counts as ended."""
        end, left, done = time.monotonic() + seconds, list(self.references), 0
        while left and (rest := end - time.monotonic()) > 0:
            ended, left = ray.wait(left, num_returns=len(left), timeout=min(rest, 0.5))
            done += sum(self.came(one) for one in ended)
        return done

    def came(self, reference: ray.ObjectRef) -> bool:
        """Return whether a call has a result."""
        try:
            ray.get(reference)
        except ray.exceptions.RayError:
            return False
        return True

    def all_of(self, call: Call, count: int) -> None:
        """Have them done."""
        self.submit(call, count)
        assert len(ray.get(list(self.references))) == count

    def graph(self, layers: int) -> list[int]:
        """Submit each call with references to what it reads."""
        return list(ray.get(graphs.layered(layers, ray.remote(calls.both).remote)))

    def owner(self, pid: int) -> int:
        """Return the worker process itself: it is replaced."""
        return pid

    def stop(self) -> None:
        """End it."""
        ray.shutdown()


class Nodes(Local):
    """A head without slots, and a node for each slot."""

    replaces_workers = False

    def start(self) -> None:
        """Start head and nodes."""
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **NODE})
        self.nodes = [self.cluster.add_node(num_cpus=1, **NODE) for _ in range(self.slots)]
        self.cluster.wait_for_nodes()
        ray.init(address=self.cluster.address, logging_level=logging.ERROR, log_to_driver=False)

    def owner(self, pid: int) -> int:
        """Return the raylet: what is below it goes with it."""
        crew = Crew(self.folder)
        crew.started = [node.all_processes["raylet"][0].process for node in self.nodes]
        return crew.owner(pid)

    def coordinator(self) -> int:
        """Return the head's global control service."""
        service: int = self.cluster.head_node.all_processes["gcs_server"][0].process.pid
        return service

    def stop(self) -> None:
        """End nothing: it may be broken, and takes its time; all of its processes are killed."""
