"""The machines of the MPI study: two MPIs on this computer, and three that are simulated.

The simulated ones stand for those of Shudler et al. (ICS 2015, table 1): Juqueen, a BlueGene/Q with
a 5-D torus; Juropa, a fat tree of InfiniBand; Piz Daint, a Cray with a dragonfly. mpi/platforms
makes their networks; SimGrid's SMPI runs the same C program on them, in virtual time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NODES = 1024
ENDPOINT_S = 0.5e-6
"""What it takes a processor to send a message, and to receive one, on a simulated machine."""

MPICH_SHORT = {
    "barrier": "ompi_bruck",
    "bcast": "binomial_tree",
    "reduce": "binomial",
    "allreduce": "rdb",
    "gather": "ompi_binomial",
    "allgather": "rdb",
    "alltoall": "bruck",
}
"""What SMPI's selector `mpich` takes for messages of 128 bytes and a power of two of ranks.

They are named one by one because the selector first lets the ranks of each communicator find out
who shares a node, by p² messages: more than all that is measured.
"""

LARGE_BCAST_BYTES = 12_288
LARGE_BCAST = "scatter_rdb_allgather"
"""From so many bytes on MPICH broadcasts in another way."""


class RunError(Exception):
    """A program of the study failed; the message has its last words."""


@dataclass(frozen=True)
class Simulated:
    """A simulated machine, how ranks are placed on it, and which algorithms its MPI has."""

    name: str
    topology: str
    ranks_a_node: int
    algorithms: str

    @property
    def label(self) -> str:
        """The name in files and tables."""
        return f"{self.name}-{self.algorithms}-{self.ranks_a_node}".replace(" ", "-")

    def settings(self, function: str, message_bytes: int) -> list[str]:
        """Return the choice of algorithms as options of smpirun."""
        if self.algorithms != "mpich":
            return [f"--cfg=smpi/coll-selector:{self.algorithms}"]
        chosen = dict(MPICH_SHORT)
        if function == "bcast_all" and message_bytes >= LARGE_BCAST_BYTES:
            chosen["bcast"] = LARGE_BCAST
        return [f"--cfg=smpi/{name}:{algorithm}" for name, algorithm in chosen.items()]

    def command(
        self, programs: Path, ranks: int, function: str, message_bytes: int, place: Path
    ) -> list[str]:
        """Return the command that measures a function; makes its platform if it is not there."""
        platform, hosts = place / f"{self.topology}.xml", place / f"{self.label}.hosts"
        if not hosts.exists():
            make = ["python3", str(ROOT / "mpi/platforms/make.py"), self.topology]
            make += ["--nodes", str(NODES), "--output", str(platform), "--hosts", str(hosts)]
            checked([*make, "--ranks-per-node", str(self.ranks_a_node)])
        costs = [f"--cfg=smpi/{end}:0:{ENDPOINT_S}:0" for end in ("os", "or")]
        exact = ["--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0"]
        command = ["smpirun", "-no-privatize", "-n", str(ranks), "-platform", str(platform)]
        command += ["-hostfile", str(hosts), "--log=root.thres:critical", *exact, *costs]
        command += self.settings(function, message_bytes * ranks)
        return [*command, str(programs / "tidings-mpi-collectives.smpi"), "--virtual"]


def packed(machine: Simulated, ranks_a_node: int) -> Simulated:
    """Return the machine with a rank for each processor, as the paper had it."""
    return Simulated(machine.name, machine.topology, ranks_a_node, machine.algorithms)


JUQUEEN = Simulated("Juqueen", "torus", 1, "mpich")
JUROPA = Simulated("Juropa", "fat-tree", 1, "mpich")
PIZ_DAINT = Simulated("Piz Daint", "dragonfly", 1, "mpich")
SPREAD = (JUQUEEN, JUROPA, PIZ_DAINT)
PACKED = (packed(JUQUEEN, 16), packed(JUROPA, 8), packed(PIZ_DAINT, 8))
NAIVE = Simulated("Juqueen", "torus", 1, "default")


@dataclass(frozen=True)
class Real:
    """An MPI on this computer."""

    name: str
    flavour: str

    @property
    def label(self) -> str:
        """The name in files and tables."""
        return self.name.replace(" ", "-")

    def launcher(self, ranks: int, programs: Path) -> list[str]:
        """Return the command that starts ranks, however few the processors are.

        Ranks that wait leave the processor to others: by mpi/yield, or Open MPI's own way.
        """
        if self.flavour == "mpich":
            library = str((programs / "libtidings-yield.so").resolve())
            return ["mpirun.mpich", "-genv", "LD_PRELOAD", library, "-n", str(ranks)]
        yielding = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        return ["mpirun.openmpi", *yielding, "-n", str(ranks)]


OPEN_MPI = Real("Open MPI", "openmpi")
MPICH = Real("MPICH", "mpich")
REAL = (OPEN_MPI, MPICH)


def checked(command: list[str], limit_s: float = 600) -> str:
    """Run a command that must succeed within a time; return what it printed."""
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit_s,
            env={**os.environ, **allowed},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"{' '.join(command)}: not done in {limit_s:g} s") from None
    if done.returncode:
        words = (done.stdout + done.stderr)[-600:]
        raise RunError(f"{' '.join(command)}: exit status {done.returncode}: {words}")
    return done.stdout


def say(text: str) -> None:
    """Tell how far the study is."""
    print(text, file=sys.stderr, flush=True)
