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
    int has_room, have_room;
    *bell = (Bell){ 0 };
    MPI_Comm_rank(comm, &bell->rank);
    MPI_Comm_size(comm, &bell->ranks);
    size_t ranks = (size_t)bell->ranks;
    /* One list for all: a list of its own in each of 4,096 would take 134 MB. */
    if (!bell->rank) bell->all = calloc(ranks, sizeof *bell->all);
    MPI_Bcast(&bell->all, sizeof bell->all, MPI_BYTE, 0, comm);
    if (!bell->all) return false;
    bell->own = &bell->all[bell->rank];
    bell->own->semaphore = sg_sem_init(0);
    bell->own->rung = calloc(2 * ranks, sizeof *bell->own->rung);
    bell->own->taken = calloc(2 * ranks, sizeof *bell->own->taken);
    has_room = bell->own->rung && bell->own->taken;
    MPI_Allreduce(&has_room, &have_room, 1, MPI_INT, MPI_MIN, comm);
    return have_room;
}

/* Where a count by kind and rank is. */
static size_t place(const Bell *bell, MailKind kind, int rank)
{
    return (size_t)(kind == MAIL_TASKS ? 0 : bell->ranks) + (size_t)rank;
}

BellRung bell_ring(Bell *bell, MailKind kind, int to)
{
    BellRank *other = &bell->all[to];
    other->coming[kind]++;
    if (kind == MAIL_TASKS && other->is_asleep) {
        other->is_asleep = false;
        sg_sem_release(other->semaphore);
    }
    return (BellRung){ kind, to, ++bell->own->rung[place(bell, kind, to)] };
}

void bell_taken(Bell *bell, MailKind kind, int from)
{
    bell->own->coming[kind]--;
    bell->own->taken[place(bell, kind, from)]++;
}

bool bell_was_taken(const Bell *bell, const BellRung *rung)
{
    return bell->all[rung->to].taken[place(bell, rung->kind, bell->rank)] >= rung->number;
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
    MPI_Barrier(comm);
    sg_sem_destroy(bell->own->semaphore);
    free(bell->own->rung);
    free(bell->own->taken);
    MPI_Barrier(comm);
    if (!bell->rank) free(bell->all);
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

BellRung bell_ring(Bell *bell, MailKind kind, int to)
{
    (void)bell;
    return (BellRung){ .kind = kind, .to = to };
}

void bell_taken(Bell *bell, MailKind kind, int from)
{
    (void)bell;
    (void)kind;
    (void)from;
}

bool bell_was_taken(const Bell *bell, const BellRung *rung)
{
    (void)bell;
    (void)rung;
    return false;
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
