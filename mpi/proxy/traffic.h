/*
 * Irregular messages: each rank knows which pieces it sends to which rank, and which it receives
 * from which.
 *
 * Pieces have one size and a key each that both ends know. All pieces for a rank travel in one
 * message, in the order of their keys, so none needs a header.
 */
#ifndef TIDINGS_MPI_TRAFFIC_H
#define TIDINGS_MPI_TRAFFIC_H

#include <mpi.h>
#include <stddef.h>

typedef struct Piece {
    int peer;
    int key;
    void *place; /* where it is, or will be put */
} Piece;

typedef struct Pieces {
    Piece *list;
    int count, room;
    char *packed;
    size_t packed_bytes;
} Pieces;

/* Begins a list again. */
void pieces_clear(Pieces *pieces);

/* Adds a piece. Ends the job if there is no memory. */
void pieces_add(Pieces *pieces, MPI_Comm comm, int peer, int key, void *place);

/* Frees the memory. */
void pieces_free(Pieces *pieces);

/*
 * Sends one list and receives the other: pieces of `bytes` each. Collective among the ranks
 * concerned.
 */
void traffic(MPI_Comm comm, Pieces *out, Pieces *in, size_t bytes);

#endif
