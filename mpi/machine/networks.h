/*
 * Networks that serve collectives of all ranks alone, as BlueGene/P has: one of interrupts for
 * barriers, and a tree for broadcasts. Messages between ranks never use them.
 *
 * A simulated machine has them if its platform has the hosts interrupt0, interrupt1, collective0
 * and collective1 (mpi/platforms/make.py bluegene-p): what crosses the network is a flow from the
 * first to the second. All ranks meet, the flow passes, all go on; the ranks spend nothing
 * themselves, since hardware does it. Elsewhere, and on communicators without some rank, an
 * operation is MPI's own.
 *
 * Source: Balaji et al., Toward Message Passing for a Million Processes (2009), section 2.1.
 */
#ifndef TIDINGS_MPI_NETWORKS_H
#define TIDINGS_MPI_NETWORKS_H

#include <mpi.h>

typedef struct Networks Networks;

/* The networks of this machine; null if it has none. Collective over WORLD. */
Networks *networks_open(void);

/* Null is allowed. Collective over WORLD. */
void networks_close(Networks *networks);

/* MPI_Barrier, over the network of interrupts if it serves this communicator. */
int networks_barrier(Networks *networks, MPI_Comm comm);

/* MPI_Bcast, over the tree if it serves this communicator and type. */
int networks_bcast(Networks *networks, void *buffer, int count, MPI_Datatype type, int root,
                   MPI_Comm comm);

#endif
