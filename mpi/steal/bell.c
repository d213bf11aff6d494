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
    *bell = (Bell){ 0 };
    /* One list for all: a list of its own in each of 4,096 would take 134 MB. */
    if (!rank) bell->all = calloc((size_t)ranks, sizeof *bell->all);
    MPI_Bcast(&bell->all, sizeof bell->all, MPI_BYTE, 0, comm);
    if (!bell->all) return false;
    bell->own = &bell->all[rank];
    bell->own->semaphore = sg_sem_init(0);
    MPI_Barrier(comm);
    return true;
}

void bell_ring(Bell *bell, MailKind kind, int to)
{
    BellRank *other = &bell->all[to];
    other->coming[kind]++;
    if (kind != MAIL_TASKS || !other->is_asleep) return;
    other->is_asleep = false;
    sg_sem_release(other->semaphore);
}

void bell_taken(Bell *bell, MailKind kind)
{
    bell->own->coming[kind]--;
}

bool bell_is_silent(const Bell *bell, MailKind kind)
{
    return !bell->own->coming[kind];
}

bool bell_wait(Bell *bell, double seconds)
{
    BellRank *own = bell->own;
    if (!bell_is_silent(bell, MAIL_TASKS)) return true;
    own->is_asleep = true;
    if (isinf(seconds))
        sg_sem_acquire(own->semaphore);
    else if (sg_sem_acquire_timeout(own->semaphore, seconds) && !own->is_asleep)
        /* It was rung at the very time: the semaphore must not say so at the next wait. */
        sg_sem_acquire(own->semaphore);
    own->is_asleep = false;
    return !bell_is_silent(bell, MAIL_TASKS);
}

void bell_close(Bell *bell, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(comm);
    sg_sem_destroy(bell->own->semaphore);
    MPI_Barrier(comm);
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

void bell_ring(Bell *bell, MailKind kind, int to)
{
    (void)bell;
    (void)kind;
    (void)to;
}

void bell_taken(Bell *bell, MailKind kind)
{
    (void)bell;
    (void)kind;
}

bool bell_is_silent(const Bell *bell, MailKind kind)
{
    (void)bell;
    (void)kind;
    return false;
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
