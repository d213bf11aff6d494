/*
 * The exchange of HALO: N words of four bytes with the neighbours to the north, south, west and
 * east on a grid of ranks that closes on itself, by one of several protocols.
 *
 * Each protocol is right if every direction has the words that the neighbour sent the other way.
 */
#ifndef TIDINGS_CHARACTERIZE_EXCHANGE_H
#define TIDINGS_CHARACTERIZE_EXCHANGE_H

#include <mpi.h>
#include <stdbool.h>

#define DIRECTIONS 4

typedef struct Halo {
    MPI_Comm comm; /* a Cartesian grid */
    int rank, words;
    int neighbour[DIRECTIONS]; /* north, south, west, east: in the order of MPI's dimensions */
    int *out, *in;             /* for all directions, one after the other */
    MPI_Request requests[2 * DIRECTIONS];
    MPI_Win window;
    bool wrong;
} Halo;

typedef struct Protocol {
    const char *name;
    bool (*begin)(Halo *); /* false if this MPI has not what it takes */
    void (*run)(Halo *);
    void (*end)(Halo *);
} Protocol;

extern const Protocol PROTOCOLS[];
extern const int PROTOCOL_COUNT;

/* An exchange on a grid of all ranks of a communicator. Collective. */
void halo_open(Halo *halo, MPI_Comm comm, int words);
void halo_close(Halo *halo);

/* One exchange, whose first words are checked. */
void halo_exchange(Halo *halo, const Protocol *protocol);

/* Whether all words are those of the neighbours. */
bool halo_is_right(const Halo *halo);

#endif
