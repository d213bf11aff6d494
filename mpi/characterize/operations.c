/* See operations.h. */
#include "operations.h"

#include <stdlib.h>

#include "rows.h"

/* The number at a place of what a rank has for another. */
static unsigned content(int rank, int to, int at)
{
    return 7u * (unsigned)rank + 3u * (unsigned)to + (unsigned)at;
}

static void barrier(Collective *c)
{
    networks_barrier(c->networks, c->comm);
}

static void bcast(Collective *c)
{
    networks_bcast(c->networks, c->all, c->words, MPI_UNSIGNED, 0, c->comm);
}

static void reduce(Collective *c)
{
    MPI_Reduce(c->mine, c->all, c->words, MPI_UNSIGNED, MPI_SUM, 0, c->comm);
}

static void allreduce(Collective *c)
{
    MPI_Allreduce(c->mine, c->all, c->words, MPI_UNSIGNED, MPI_SUM, c->comm);
}

static void gather(Collective *c)
{
    MPI_Gather(c->mine, c->words, MPI_UNSIGNED, c->all, c->words, MPI_UNSIGNED, 0, c->comm);
}

static void allgather(Collective *c)
{
    MPI_Allgather(c->mine, c->words, MPI_UNSIGNED, c->all, c->words, MPI_UNSIGNED, c->comm);
}

static void alltoall(Collective *c)
{
    MPI_Alltoall(c->mine, c->words, MPI_UNSIGNED, c->all, c->words, MPI_UNSIGNED, c->comm);
}

static bool nothing(const Collective *c)
{
    (void)c;
    return true;
}

static bool is_of_root(const Collective *c)
{
    for (int at = 0; at < c->words; at++)
        if (c->all[at] != content(0, 0, at))
            return false;
    return true;
}

static bool is_sum(const Collective *c)
{
    unsigned ranks = (unsigned)c->ranks;
    unsigned sum_of_ranks = (unsigned)((long)c->ranks * (c->ranks - 1) / 2);
    for (int at = 0; at < c->words; at++)
        if (c->all[at] != 7u * sum_of_ranks + ranks * (unsigned)at)
            return false;
    return true;
}

static bool is_from_each(const Collective *c, int to)
{
    for (int from = 0; from < c->ranks; from++)
        for (int at = 0; at < c->words; at++)
            if (c->all[(size_t)from * (size_t)c->words + (size_t)at] != content(from, to, at))
                return false;
    return true;
}

static bool is_sum_at_root(const Collective *c)
{
    return c->rank != 0 || is_sum(c);
}

static bool is_gathered(const Collective *c)
{
    return is_from_each(c, 0);
}

static bool is_gathered_at_root(const Collective *c)
{
    return c->rank != 0 || is_gathered(c);
}

static bool is_exchanged(const Collective *c)
{
    return is_from_each(c, c->rank);
}

const CollectiveKind COLLECTIVES[] = {
    { "barrier", "parallel-barrier", barrier, nothing, false, false },
    { "bcast", "parallel-bcast", bcast, is_of_root, true, false },
    { "reduce", "parallel-reduce", reduce, is_sum_at_root, true, false },
    { "allreduce", "parallel-allreduce", allreduce, is_sum, true, false },
    { "gather", "parallel-gather", gather, is_gathered_at_root, true, true },
    { "allgather", "parallel-allgather", allgather, is_gathered, true, true },
    { "alltoall", "parallel-alltoall", alltoall, is_exchanged, true, true },
};
const int COLLECTIVE_COUNT = sizeof COLLECTIVES / sizeof *COLLECTIVES;

double collective_memory(const CollectiveKind *kind, int ranks, double bytes)
{
    return 2 * bytes * (kind->of_all ? ranks : 1);
}

void collective_open(Collective *collective, MPI_Comm comm, Networks *networks,
                     const CollectiveKind *kind, int words)
{
    *collective = (Collective){ .comm = comm, .networks = networks, .words = words };
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comm, &collective->rank);
    MPI_Comm_size(comm, &collective->ranks);
    size_t blocks = kind->of_all ? (size_t)collective->ranks : 1;
    size_t all = blocks * (size_t)words;
    collective->mine = room_for(all * sizeof *collective->mine);
    collective->all = room_for(all * sizeof *collective->all);
    for (size_t at = 0; at < all; at++)
        collective->mine[at] = content(collective->rank, (int)(at / (size_t)(words ? words : 1)),
                                       (int)(at % (size_t)(words ? words : 1)));
    for (int at = 0; collective->rank == 0 && at < words; at++)
        collective->all[at] = content(0, 0, at);
}

void collective_close(Collective *collective)
{
    free(collective->mine);
    free(collective->all);
    *collective = (Collective){ .comm = MPI_COMM_NULL };
}
