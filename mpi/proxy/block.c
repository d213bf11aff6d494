/* See block.h. */
#include "block.h"

#include <string.h>

/* Air that is warmer condenses; each level higher needs more. */
#define WARM 500
#define WARM_A_LEVEL 40

/* Drops in a cell from which it is cloudy. */
#define CLOUDY 100

static const int32_t *neighbour(const Block *block, const BlockStep *step, int level, int x, int y)
{
    if (x < 0)
        return step->ghost[WEST][level][y];
    if (x == BLOCK_SIDE)
        return step->ghost[EAST][level][y];
    if (y < 0)
        return step->ghost[SOUTH][level][x];
    if (y == BLOCK_SIDE)
        return step->ghost[NORTH][level][x];
    return block->cells[level][x + BLOCK_SIDE * y];
}

void block_edges(const Block *block, BlockStep *step)
{
    int last = BLOCK_SIDE - 1;
    for (int level = 0; level < BLOCK_LEVELS; level++)
        for (int at = 0; at < BLOCK_SIDE; at++) {
            const Cell *cells = block->cells[level];
            memcpy(step->own[WEST][level][at], cells[BLOCK_SIDE * at], sizeof(Cell));
            memcpy(step->own[EAST][level][at], cells[last + BLOCK_SIDE * at], sizeof(Cell));
            memcpy(step->own[SOUTH][level][at], cells[at], sizeof(Cell));
            memcpy(step->own[NORTH][level][at], cells[at + BLOCK_SIDE * last], sizeof(Cell));
        }
}

static int cloudy(const int32_t *cell)
{
    int64_t drops = 0;
    for (int bin = 0; bin < BINS; bin++)
        drops += cell[bin];
    return drops > CLOUDY;
}

/* Drops of each two bins meet, and the smaller join a larger bin. */
static void coalesce(int32_t *cell)
{
    for (int small = 0; small < BINS; small++)
        for (int large = small + 1; large < BINS; large++) {
            int64_t meet = (int64_t)cell[small] * (cell[large] + 1) / (1 << 14);
            int32_t moved = meet < cell[small] / 4 ? (int32_t)meet : cell[small] / 4;
            cell[small] -= moved;
            cell[large] += moved;
        }
}

static void advance_cell(const Block *block, BlockStep *step, int level, int column, int32_t *after)
{
    int x = column % BLOCK_SIDE, y = column / BLOCK_SIDE;
    const int32_t *here = block->cells[level][column];
    const int32_t *west = neighbour(block, step, level, x - 1, y);
    const int32_t *east = neighbour(block, step, level, x + 1, y);
    const int32_t *south = neighbour(block, step, level, x, y - 1);
    const int32_t *north = neighbour(block, step, level, x, y + 1);
    for (int bin = 0; bin < BINS; bin++) {
        int32_t mixed = (28 * here[bin] + west[bin] + east[bin] + south[bin] + north[bin]) / 32;
        after[bin] = mixed - mixed / 8;
    }
    int32_t surplus = step->heat[column] - WARM - WARM_A_LEVEL * level;
    if (surplus > 0) {
        after[0] += surplus / 4;
        step->latent[column] += surplus / 64;
    }
    if (cloudy(here))
        coalesce(after);
    after[BINS - 1] /= 2; /* the largest drops fall */
}

void block_advance(Block *block, BlockStep *step)
{
    Block after;
    memset(step->latent, 0, sizeof step->latent);
    for (int level = 0; level < BLOCK_LEVELS; level++)
        for (int column = 0; column < BLOCK_COLUMNS; column++)
            advance_cell(block, step, level, column, after.cells[level][column]);
    *block = after;
}

uint32_t block_work(const Block *block)
{
    uint32_t units = 0;
    for (int level = 0; level < BLOCK_LEVELS; level++)
        for (int column = 0; column < BLOCK_COLUMNS; column++)
            units += BINS + (cloudy(block->cells[level][column]) ? PAIRS : 0);
    return units;
}

uint64_t block_checksum(const Block *block, int index)
{
    uint64_t sum = 0, place = (uint64_t)index * BLOCK_LEVELS * BLOCK_COLUMNS * BINS;
    const int32_t *numbers = &block->cells[0][0][0];
    for (int at = 0; at < BLOCK_LEVELS * BLOCK_COLUMNS * BINS; at++) {
        uint64_t mixed = (place + (uint64_t)at + 1) * 0x9E3779B97F4A7C15u ^ (uint64_t)numbers[at];
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
        sum += mixed ^ (mixed >> 31);
    }
    return sum;
}
