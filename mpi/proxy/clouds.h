/*
 * The clouds' blocks of one rank: a range of the curve, from starts[rank] to starts[rank + 1],
 * and the messages that go to and from them. Every rank knows all starts, so the owner of a block
 * is found without a message.
 */
#ifndef TIDINGS_MPI_CLOUDS_H
#define TIDINGS_MPI_CLOUDS_H

#include <mpi.h>

#include "block.h"
#include "dynamics.h"
#include "traffic.h"

typedef struct Clouds {
    MPI_Comm comm;
    int rank, ranks, side, blocks; /* blocks: of all ranks */
    int *starts, *starts_before;   /* ranks + 1 each */
    int room;                      /* blocks that fit */
    Block *own;
    BlockStep *steps;
    uint32_t *work;
    int32_t (*columns)[BLOCK_COLUMNS]; /* room for the dynamics' blocks */
    Pieces out, in;
} Clouds;

/* Distributes all blocks evenly. Collective; 0 if a rank has no memory. */
int clouds_open(Clouds *clouds, const Dynamics *dynamics);
void clouds_close(Clouds *clouds);

/* How many blocks this rank has. */
int clouds_count(const Clouds *clouds);

/* From the columns to the blocks, and back. Collective. */
void clouds_read_air(Clouds *clouds, const Dynamics *dynamics);
void clouds_give_latent(Clouds *clouds, Dynamics *dynamics);

/* Every block gets its neighbours' edges. Collective. */
void clouds_halo(Clouds *clouds);

/* One step of all blocks; returns the units of work that were done. */
uint64_t clouds_advance(Clouds *clouds);

/* Writes the work of each block's next step to clouds->work. */
void clouds_weigh(Clouds *clouds);

/* Moves blocks from the ranks of clouds->starts_before to those of clouds->starts. Collective. */
void clouds_migrate(Clouds *clouds);

/* A sum over this rank's blocks that no distribution changes. */
uint64_t clouds_checksum(const Clouds *clouds);

#endif
