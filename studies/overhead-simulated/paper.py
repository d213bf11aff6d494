"""Table 1 and Figures 3 and 5 of Levy et al. (ROSS'14): the paper's numbers, here alone.

Source: Overhead of a decentralized gossip algorithm on the performance of HPC applications,
doi 10.1145/2612262.2612271.
"""

from __future__ import annotations

WINDOWS = (10, 20, 40, 80)
# Table 1 of the paper: slowdown of MPI-FFT in per cent, on 1,024 nodes.
TABLE1 = {
    64: (0.2, 0.3, 0.6, 1.5),
    32: (0.3, 0.4, 0.9, 2.6),
    16: (0.3, 0.7, 1.8, 4.5),
    8: (0.7, 1.4, 3.2, 8.7),
    4: (1.1, 2.6, 6.3, 17.2),
    2: (1.8, 4.7),
    1: (3.8,),
}
# Figures 3 and 5 at 1,024 nodes: PTRANS in GB/s, COSMO-SPECS+FD4 in seconds; 0: without gossip.
PTRANS_GB_S = {0: 994, 1024: 990, 256: 993, 64: 980, 16: 990, 8: 984, 4: 971, 2: 973}
COSMO_S = {
    0: 40.6, 1024: 40.6, 256: 40.6, 64: 40.6, 16: 40.6, 8: 40.6, 4: 40.7, 2: 40.8, 1: 41.1,
}  # fmt: skip


def recalled(application: str, interval: int) -> float | None:
    """Return the paper's slowdown at 20 %, in per cent; none if it has no number."""
    if application == "ptrans" and interval in PTRANS_GB_S:
        return 100 * (PTRANS_GB_S[0] / PTRANS_GB_S[interval] - 1)
    if application == "proxy" and interval in COSMO_S:
        return 100 * (COSMO_S[interval] / COSMO_S[0] - 1)
    return None
