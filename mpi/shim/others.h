/*
 * What nodes do besides a run: the share of their processors' time that went to others, and that
 * which the hypervisor took. On each node one rank of the application looks for all of them.
 */
#ifndef TIDINGS_SHIM_OTHERS_H
#define TIDINGS_SHIM_OTHERS_H

#include <mpi.h>
#include <stdbool.h>

/* Looks for the first time. Of all ranks of the job, before hidden ones leave. */
void others_begin(bool hidden);

/* The shares of the node that has most, others' and the hypervisor's. */
typedef struct Others {
    double share, stolen;
    bool known; /* of every node */
} Others;

/* Looks again. Of the application's ranks; rank 0 gets the answer. */
Others others_end(MPI_Comm application);

#endif
