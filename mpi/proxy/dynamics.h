/*
 * The weather model's part: warm air that spreads over a plane of columns, periodic both ways,
 * distributed to the ranks once, in rectangles of whole blocks. Over each cloud's centre air is
 * heated, in a circle that grows with the steps.
 */
#ifndef TIDINGS_MPI_DYNAMICS_H
#define TIDINGS_MPI_DYNAMICS_H

#include <mpi.h>
#include <stdint.h>

#include "block.h"

typedef struct Dynamics {
    MPI_Comm comm;
    int side, clouds, steps; /* blocks along the plane, clouds along it, steps in all */
    int grid[2];             /* rectangles along x and y */
    int begin[2], end[2];    /* this rank's blocks */
    int neighbour[DIRECTIONS];
    int wide, high;          /* columns, without the edges beyond */
    int32_t *heat, *after;   /* (wide + 2) by (high + 2) */
    int32_t *edge;           /* room for messages */
} Dynamics;

/* Distributes the plane. Collective; 0 if a rank has no memory. */
int dynamics_open(Dynamics *dynamics, MPI_Comm comm, int side, int clouds, int steps);
void dynamics_close(Dynamics *dynamics);

/* The rank that has the columns of the block at (x, y). */
int dynamics_owner(const Dynamics *dynamics, int x, int y);

/* Sends the rectangle's edges to its four neighbours. Collective. */
void dynamics_halo(Dynamics *dynamics);

/* One step of what is inside. */
void dynamics_advance(Dynamics *dynamics, int step);

/* Copies the air of a block's columns out, or adds what condensed there. */
void dynamics_read(const Dynamics *dynamics, int x, int y, int32_t heat[BLOCK_COLUMNS]);
void dynamics_add(Dynamics *dynamics, int x, int y, const int32_t latent[BLOCK_COLUMNS]);

/* A sum over its columns that no distribution changes. */
uint64_t dynamics_checksum(const Dynamics *dynamics);

#endif
