/*
 * See networks.h.
 *
 * Invariants: what ranks share is made by rank 0 and known to each by its address, so that it is
 * one also where each rank has static variables of its own; of a broadcast the root's buffer is
 * read before the root goes on.
 */
#include "networks.h"

#include <stddef.h>

#ifdef SMPI_H /* mpi.h is SMPI's */

#include <simgrid/barrier.h>
#include <simgrid/host.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The two ends of a network. */
typedef struct Ends {
    sg_host_t from, to;
} Ends;

struct Networks {
    int ranks;
    sg_bar_t meeting;
    Ends interrupt, collective;
    const void *content; /* of a broadcast, in the root's memory */
};

static Ends ends(const char *from, const char *to)
{
    return (Ends){ sg_host_by_name(from), sg_host_by_name(to) };
}

Networks *networks_open(void)
{
    Ends interrupt = ends("interrupt0", "interrupt1");
    Ends collective = ends("collective0", "collective1");
    Networks *networks = NULL;
    int rank, ranks;
    if (!interrupt.from || !interrupt.to || !collective.from || !collective.to)
        return NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0 && (networks = malloc(sizeof *networks)))
        *networks = (Networks){ .ranks = ranks, .meeting = sg_barrier_init((unsigned)ranks),
                                .interrupt = interrupt, .collective = collective };
    MPI_Bcast(&networks, sizeof networks, MPI_BYTE, 0, MPI_COMM_WORLD);
    return networks;
}

void networks_close(Networks *networks)
{
    int rank;
    if (!networks)
        return;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sg_barrier_wait(networks->meeting);
    if (rank != 0)
        return;
    sg_barrier_destroy(networks->meeting);
    free(networks);
}

/* Whether a communicator has all ranks. */
static bool serves(const Networks *networks, MPI_Comm comm)
{
    int ranks = 0, between = 0;
    if (!networks)
        return false;
    MPI_Comm_test_inter(comm, &between);
    MPI_Comm_size(comm, &ranks);
    return !between && ranks == networks->ranks;
}

/* All ranks meet, one lets a flow pass, and all meet again. */
static void pass(Networks *networks, const Ends *network, bool sends, double bytes)
{
    sg_barrier_wait(networks->meeting);
    if (sends)
        sg_host_sendto(network->from, network->to, bytes);
    sg_barrier_wait(networks->meeting);
}

int networks_barrier(Networks *networks, MPI_Comm comm)
{
    int rank;
    if (!serves(networks, comm))
        return MPI_Barrier(comm);
    MPI_Comm_rank(comm, &rank);
    pass(networks, &networks->interrupt, rank == 0, 1);
    return MPI_SUCCESS;
}

/* Whether values of a type lie in memory one after the other. */
static bool is_dense(MPI_Datatype type, int *bytes)
{
    MPI_Aint least = 0, extent = 0;
    MPI_Type_size(type, bytes);
    MPI_Type_get_extent(type, &least, &extent);
    return least == 0 && extent == *bytes;
}

int networks_bcast(Networks *networks, void *buffer, int count, MPI_Datatype type, int root,
                   MPI_Comm comm)
{
    int rank, bytes = 0;
    if (!serves(networks, comm) || !is_dense(type, &bytes))
        return MPI_Bcast(buffer, count, type, root, comm);
    size_t all = (size_t)count * (size_t)bytes;
    MPI_Comm_rank(comm, &rank);
    if (rank == root)
        networks->content = buffer;
    pass(networks, &networks->collective, rank == root, (double)all);
    if (rank != root && all > 0)
        memcpy(buffer, networks->content, all);
    sg_barrier_wait(networks->meeting);
    return MPI_SUCCESS;
}

#else

Networks *networks_open(void)
{
    return NULL;
}

void networks_close(Networks *networks)
{
    (void)networks;
}

int networks_barrier(Networks *networks, MPI_Comm comm)
{
    (void)networks;
    return MPI_Barrier(comm);
}

int networks_bcast(Networks *networks, void *buffer, int count, MPI_Datatype type, int root,
                   MPI_Comm comm)
{
    (void)networks;
    return MPI_Bcast(buffer, count, type, root, comm);
}

#endif
