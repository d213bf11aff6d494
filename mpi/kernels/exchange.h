/*
 * All-to-all: each rank has a block for each rank, and gets the block of each for itself.
 *
 * By the library it is MPI_Alltoall. By rings it is the way for a torus, with messages combined
 * (Suh and Shin, ICPP'98): dimension after dimension, a rank sends to each other rank of its ring
 * all blocks for that rank's coordinate, so that 17 messages on a torus of 8,4,4,4,2 do the work
 * of 1,023. Each block may be cut into parts, of which part j begins with dimension j: with as
 * many parts as dimensions all links are in use all the time, as in a torus that injects blocks in
 * random order; with one, the links of one dimension after the other, by a fifth of the messages.
 *
 * Invariant of the rings: once a part has passed a dimension, the coordinate in its slot's number
 * is no longer where it goes, but where it came from.
 */
#ifndef TIDINGS_MPI_EXCHANGE_H
#define TIDINGS_MPI_EXCHANGE_H

#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#define EXCHANGE_DIMENSIONS 8

typedef struct Exchange {
    MPI_Comm comm;
    int rank, ranks;
    int dimensions; /* 0: by the library */
    int parts;      /* of a block, on the rings */
    int shape[EXCHANGE_DIMENSIONS];
    int stride[EXCHANGE_DIMENSIONS]; /* from a rank to the next of the dimension's ring */
    int most;                        /* messages of a step */
    MPI_Request *requests;
    double complex *other; /* a second room for all blocks; in a model, none */
    void *shared;          /* in a model: what is sent and received */
    size_t block;          /* elements */
    double mpi_s;          /* time spent in MPI */
} Exchange;

/*
 * Makes an exchange of blocks of so many elements, over a torus of that shape, its first dimension
 * the fastest, in so many parts, one a dimension at most; or by the library if there are no
 * dimensions. Of a model only sizes are exchanged.
 * False, and why, if the shape does not fit the ranks or there is no memory.
 */
bool exchange_open(Exchange *exchange, MPI_Comm comm, int dimensions, const int *shape,
                   int parts, size_t block, bool model, char *why, int why_bytes);

/* Exchanges `blocks`, with a block for each rank. Collective. */
void exchange_blocks(Exchange *exchange, double complex *blocks);

/* Exchanges the same bytes without content. Collective, on a simulated machine. */
void exchange_model(Exchange *exchange);

/* Frees everything. */
void exchange_close(Exchange *exchange);

#endif
