/* See bell.h. */
#include "bell.h"

#ifdef SMPI_H

#include <math.h>
#include <simgrid/semaphore.h>
#include <stdlib.h>

bool bell_is_simulated(void)
{
    return true;
}

bool bell_open(Bell *bell, MPI_Comm comm)
{
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    *bell = (Bell){ .own = sg_sem_init(0) };
    /* One list for all: of 4,096 ranks they would be 134 MB. */
    if (!rank) bell->all = calloc((size_t)ranks, sizeof *bell->all);
    MPI_Bcast(&bell->all, sizeof bell->all, MPI_BYTE, 0, comm);
    if (bell->all) bell->all[rank] = bell->own;
    MPI_Barrier(comm);
    return bell->all;
}

void bell_ring(Bell *bell, int to)
{
    sg_sem_release(bell->all[to]);
}

void bell_taken(Bell *bell)
{
    sg_sem_acquire(bell->own);
}

bool bell_wait(Bell *bell, double seconds)
{
    if (!sg_sem_would_block(bell->own)) return true;
    if (isinf(seconds))
        sg_sem_acquire(bell->own);
    else if (sg_sem_acquire_timeout(bell->own, seconds))
        return false;
    sg_sem_release(bell->own);
    return true;
}

void bell_close(Bell *bell, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(comm);
    sg_sem_destroy(bell->own);
    if (!rank) free(bell->all);
}

#else

bool bell_is_simulated(void)
{
    return false;
}

bool bell_open(Bell *bell, MPI_Comm comm)
{
    (void)comm;
    *bell = (Bell){ 0 };
    return true;
}

void bell_ring(Bell *bell, int to)
{
    (void)bell;
    (void)to;
}

void bell_taken(Bell *bell)
{
    (void)bell;
}

bool bell_wait(Bell *bell, double seconds)
{
    (void)bell;
    (void)seconds;
    return false;
}

void bell_close(Bell *bell, MPI_Comm comm)
{
    (void)bell;
    (void)comm;
}

#endif
