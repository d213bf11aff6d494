/*
 * A block of the clouds' cells, and what happens in it.
 *
 * A cell has drops in bins of growing size. Warm air that rises condenses into the first bin;
 * drops mix with those beside, evaporate, and where there are many of them, the cell is cloudy and
 * drops of each two bins meet. That last is most of the work, as in SPECS: 66 pairs beside 12
 * bins. Numbers are whole and stay below 2^28; nothing depends on which rank has the block.
 */
#ifndef TIDINGS_MPI_BLOCK_H
#define TIDINGS_MPI_BLOCK_H

#include <stdint.h>

#define BLOCK_SIDE 4 /* columns along a block */
#define BLOCK_COLUMNS (BLOCK_SIDE * BLOCK_SIDE)
#define BLOCK_LEVELS 4
#define BINS 12
#define PAIRS (BINS * (BINS - 1) / 2)

typedef int32_t Cell[BINS];
typedef Cell Edge[BLOCK_LEVELS][BLOCK_SIDE];

/* Directions: west, east, south, north. The opposite of d is d ^ 1. */
enum { WEST, EAST, SOUTH, NORTH, DIRECTIONS };

typedef struct Block {
    Cell cells[BLOCK_LEVELS][BLOCK_COLUMNS]; /* column: x + BLOCK_SIDE * y */
} Block;

/* What a block needs for a step, and gives. */
typedef struct BlockStep {
    Edge own[DIRECTIONS], ghost[DIRECTIONS]; /* its edges, and its neighbours' beyond them */
    int32_t heat[BLOCK_COLUMNS];             /* of the air; from the dynamics */
    int32_t latent[BLOCK_COLUMNS];           /* what condensed; to the dynamics */
} BlockStep;

/* Copies the cells along the four edges to step->own. */
void block_edges(const Block *block, BlockStep *step);

/* One step. */
void block_advance(Block *block, BlockStep *step);

/* The work of the next step, in units: what its cells need as they are now. */
uint32_t block_work(const Block *block);

/* A sum over its cells, each mixed with its place, that no order of blocks changes. */
uint64_t block_checksum(const Block *block, int index);

#endif
