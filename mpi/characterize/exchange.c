/* See exchange.h. Directions 2 i and 2 i + 1 are opposite. */
#include "exchange.h"

#include <stdlib.h>

#include "rows.h"

static int *part(int *words, const Halo *halo, int direction)
{
    return words + (size_t)direction * (size_t)halo->words;
}

static int content(int rank, int direction, int at)
{
    return (int)((unsigned)rank * 4096u + (unsigned)direction * 1024u + (unsigned)at % 1024u);
}

/* Whether a word is the one that the neighbour sent; where one rank is the neighbour on several
 * sides, which of them a neighbourhood collective means is left to the library. */
static bool is_sent(const Halo *halo, int direction, int at)
{
    int word = halo->in[direction * halo->words + at], from = halo->neighbour[direction];
    bool sent = word == content(from, direction ^ 1, at);
    for (int side = 0; side < DIRECTIONS && !sent; side++)
        sent = halo->neighbour[side] == from && word == content(from, side, at);
    return sent;
}

void halo_open(Halo *halo, MPI_Comm comm, int words)
{
    int ranks, sides[2] = { 0, 0 }, around[2] = { 1, 1 };
    *halo = (Halo){ .words = words };
    MPI_Comm_size(comm, &ranks);
    MPI_Dims_create(ranks, 2, sides);
    MPI_Cart_create(comm, 2, sides, around, 0, &halo->comm);
    MPI_Comm_rank(halo->comm, &halo->rank);
    for (int side = 0; side < 2; side++)
        MPI_Cart_shift(halo->comm, side, 1, &halo->neighbour[2 * side],
                       &halo->neighbour[2 * side + 1]);
    halo->out = room_for(DIRECTIONS * (size_t)words * sizeof(int));
    halo->in = room_for(DIRECTIONS * (size_t)words * sizeof(int));
    for (int direction = 0; direction < DIRECTIONS; direction++)
        for (int at = 0; at < words; at++)
            part(halo->out, halo, direction)[at] = content(halo->rank, direction, at);
}

void halo_close(Halo *halo)
{
    free(halo->out);
    free(halo->in);
    MPI_Comm_free(&halo->comm);
    *halo = (Halo){ 0 };
}

void halo_exchange(Halo *halo, const Protocol *protocol)
{
    for (int direction = 0; direction < DIRECTIONS; direction++)
        part(halo->in, halo, direction)[0] = -1;
    protocol->run(halo);
    for (int direction = 0; direction < DIRECTIONS; direction++)
        halo->wrong |= !is_sent(halo, direction, 0);
}

bool halo_is_right(const Halo *halo)
{
    for (int direction = 0; direction < DIRECTIONS; direction++)
        for (int at = 0; at < halo->words; at++)
            if (!is_sent(halo, direction, at))
                return false;
    return !halo->wrong;
}

static bool nothing(Halo *halo)
{
    (void)halo;
    return true;
}

static void done(Halo *halo)
{
    (void)halo;
}

/* What comes from the north was sent southwards, which its tag says. */
static void nonblocking(Halo *halo)
{
    int count = 0;
    for (int at = 0; at < DIRECTIONS; at++)
        MPI_Irecv(part(halo->in, halo, at), halo->words, MPI_INT, halo->neighbour[at], at ^ 1,
                  halo->comm, &halo->requests[count++]);
    for (int at = 0; at < DIRECTIONS; at++)
        MPI_Isend(part(halo->out, halo, at), halo->words, MPI_INT, halo->neighbour[at], at,
                  halo->comm, &halo->requests[count++]);
    MPI_Waitall(count, halo->requests, MPI_STATUSES_IGNORE);
}

static void sendrecv(Halo *halo)
{
    for (int at = 0; at < DIRECTIONS; at++)
        MPI_Sendrecv(part(halo->out, halo, at), halo->words, MPI_INT, halo->neighbour[at], at,
                     part(halo->in, halo, at ^ 1), halo->words, MPI_INT,
                     halo->neighbour[at ^ 1], at, halo->comm, MPI_STATUS_IGNORE);
}

static bool persistent_begin(Halo *halo)
{
    for (int at = 0; at < DIRECTIONS; at++) {
        MPI_Recv_init(part(halo->in, halo, at), halo->words, MPI_INT, halo->neighbour[at], at ^ 1,
                      halo->comm, &halo->requests[at]);
        MPI_Send_init(part(halo->out, halo, at), halo->words, MPI_INT, halo->neighbour[at], at,
                      halo->comm, &halo->requests[DIRECTIONS + at]);
    }
    return true;
}

static void persistent(Halo *halo)
{
    MPI_Startall(2 * DIRECTIONS, halo->requests);
    MPI_Waitall(2 * DIRECTIONS, halo->requests, MPI_STATUSES_IGNORE);
}

static void persistent_end(Halo *halo)
{
    for (int at = 0; at < 2 * DIRECTIONS; at++)
        MPI_Request_free(&halo->requests[at]);
}

#ifdef SMPI_H /* mpi.h is SMPI's, which has no neighbourhood collectives */
static bool neighbourhood_begin(Halo *halo)
{
    (void)halo;
    return false;
}

static void neighbourhood(Halo *halo)
{
    (void)halo;
}
#else
static bool neighbourhood_begin(Halo *halo)
{
    return nothing(halo);
}

static void neighbourhood(Halo *halo)
{
    MPI_Neighbor_alltoall(halo->out, halo->words, MPI_INT, halo->in, halo->words, MPI_INT,
                          halo->comm);
}
#endif

static bool one_sided_begin(Halo *halo)
{
    MPI_Aint bytes = (MPI_Aint)(DIRECTIONS * (size_t)halo->words * sizeof(int));
    MPI_Comm_set_errhandler(halo->comm, MPI_ERRORS_RETURN);
    int status = MPI_Win_create(halo->in, bytes, sizeof(int), MPI_INFO_NULL, halo->comm,
                                &halo->window);
    MPI_Comm_set_errhandler(halo->comm, MPI_ERRORS_ARE_FATAL);
    return status == MPI_SUCCESS;
}

static void one_sided(Halo *halo)
{
    MPI_Win_fence(0, halo->window);
    for (int at = 0; at < DIRECTIONS; at++)
        MPI_Put(part(halo->out, halo, at), halo->words, MPI_INT, halo->neighbour[at],
                (MPI_Aint)(at ^ 1) * halo->words, halo->words, MPI_INT, halo->window);
    MPI_Win_fence(0, halo->window);
}

static void one_sided_end(Halo *halo)
{
    MPI_Win_free(&halo->window);
}

const Protocol PROTOCOLS[] = {
    { "isend and irecv", nothing, nonblocking, done },
    { "sendrecv", nothing, sendrecv, done },
    { "persistent", persistent_begin, persistent, persistent_end },
    { "neighbourhood collective", neighbourhood_begin, neighbourhood, done },
    { "one-sided", one_sided_begin, one_sided, one_sided_end },
};
const int PROTOCOL_COUNT = sizeof PROTOCOLS / sizeof *PROTOCOLS;
