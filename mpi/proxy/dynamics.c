/* See dynamics.h. */
#include "dynamics.h"

#include <stdlib.h>
#include <string.h>

/*
 * How much a step heats, and the share of its warmth that air keeps, in 64ths: where all is heated
 * it reaches about 1,000, where the circle begins.
 */
#define HEATING 200
#define AT_FIRST 1000
#define KEPT_64THS 52

/*
 * The heated circle's radius, of the tile that a cloud has, in hundredths: at first, and grown by.
 */
#define RADIUS_AT_FIRST 10
#define RADIUS_GROWS 10

static int32_t *at(const Dynamics *dynamics, int32_t *field, int x, int y)
{
    return field + (size_t)(y + 1) * (size_t)(dynamics->wide + 2) + (size_t)(x + 1);
}

static int part_begin(int side, int parts, int part)
{
    return (int)((long long)side * part / parts);
}

static int part_of(int side, int parts, int block)
{
    int part = (int)((long long)block * parts / side);
    while (part_begin(side, parts, part + 1) <= block)
        part++;
    return part;
}

int dynamics_owner(const Dynamics *dynamics, int x, int y)
{
    return part_of(dynamics->side, dynamics->grid[0], x) +
           part_of(dynamics->side, dynamics->grid[1], y) * dynamics->grid[0];
}

static void find_neighbours(Dynamics *dynamics, int rank)
{
    int wide = dynamics->grid[0], high = dynamics->grid[1], x = rank % wide, y = rank / wide;
    dynamics->neighbour[WEST] = (x + wide - 1) % wide + y * wide;
    dynamics->neighbour[EAST] = (x + 1) % wide + y * wide;
    dynamics->neighbour[SOUTH] = x + (y + high - 1) % high * wide;
    dynamics->neighbour[NORTH] = x + (y + 1) % high * wide;
}

void dynamics_close(Dynamics *dynamics)
{
    free(dynamics->heat);
    free(dynamics->after);
    free(dynamics->edge);
}

/* Sends the columns along x `from` one way, and gets those beyond the other edge at `to`. */
static void swap_columns(Dynamics *dynamics, int from, int to, int direction)
{
    int high = dynamics->high;
    for (int y = 0; y < high; y++)
        dynamics->edge[y] = *at(dynamics, dynamics->heat, from, y);
    MPI_Sendrecv(dynamics->edge, high, MPI_INT32_T, dynamics->neighbour[direction], direction,
                 dynamics->edge + high, high, MPI_INT32_T, dynamics->neighbour[direction ^ 1],
                 direction, dynamics->comm, MPI_STATUS_IGNORE);
    for (int y = 0; y < high; y++)
        *at(dynamics, dynamics->heat, to, y) = dynamics->edge[high + y];
}

static void swap_rows(Dynamics *dynamics, int from, int to, int direction)
{
    MPI_Sendrecv(at(dynamics, dynamics->heat, 0, from), dynamics->wide, MPI_INT32_T,
                 dynamics->neighbour[direction], direction, at(dynamics, dynamics->heat, 0, to),
                 dynamics->wide, MPI_INT32_T, dynamics->neighbour[direction ^ 1], direction,
                 dynamics->comm, MPI_STATUS_IGNORE);
}

void dynamics_halo(Dynamics *dynamics)
{
    swap_columns(dynamics, 0, dynamics->wide, WEST);
    swap_columns(dynamics, dynamics->wide - 1, -1, EAST);
    swap_rows(dynamics, 0, dynamics->high, SOUTH);
    swap_rows(dynamics, dynamics->high - 1, -1, NORTH);
}

/* Whether a column of the whole plane is in the heated circle of its tile. */
static int heated(const Dynamics *dynamics, int x, int y, int step)
{
    long long tile = dynamics->side / dynamics->clouds * BLOCK_SIDE;
    /* In half columns from the tile's centre. */
    long long right = 2 * (x % tile) + 1 - tile, up = 2 * (y % tile) + 1 - tile;
    long long grown = RADIUS_AT_FIRST * dynamics->steps + RADIUS_GROWS * step;
    long long radius = 2 * tile * grown;                       /* in 100ths of half columns */
    long long parts = 100LL * dynamics->steps;
    return (right * right + up * up) * parts * parts <= radius * radius;
}

static int heated_here(const Dynamics *dynamics, int x, int y, int step)
{
    return heated(dynamics, dynamics->begin[0] * BLOCK_SIDE + x,
                  dynamics->begin[1] * BLOCK_SIDE + y, step);
}

static void heat_at_first(Dynamics *dynamics)
{
    for (int y = 0; y < dynamics->high; y++)
        for (int x = 0; x < dynamics->wide; x++)
            if (heated_here(dynamics, x, y, 0))
                *at(dynamics, dynamics->heat, x, y) = AT_FIRST;
}

int dynamics_open(Dynamics *dynamics, MPI_Comm comm, int side, int clouds, int steps)
{
    int rank, ranks, all;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    *dynamics = (Dynamics){ .comm = comm, .side = side, .clouds = clouds, .steps = steps };
    MPI_Dims_create(ranks, 2, dynamics->grid);
    int place[2] = { rank % dynamics->grid[0], rank / dynamics->grid[0] };
    for (int axis = 0; axis < 2; axis++) {
        dynamics->begin[axis] = part_begin(side, dynamics->grid[axis], place[axis]);
        dynamics->end[axis] = part_begin(side, dynamics->grid[axis], place[axis] + 1);
    }
    find_neighbours(dynamics, rank);
    dynamics->wide = (dynamics->end[0] - dynamics->begin[0]) * BLOCK_SIDE;
    dynamics->high = (dynamics->end[1] - dynamics->begin[1]) * BLOCK_SIDE;
    size_t room = (size_t)(dynamics->wide + 2) * (size_t)(dynamics->high + 2);
    dynamics->heat = calloc(room, sizeof *dynamics->heat);
    dynamics->after = calloc(room, sizeof *dynamics->after);
    dynamics->edge = calloc(2 * (size_t)dynamics->high, sizeof *dynamics->edge);
    if (dynamics->heat)
        heat_at_first(dynamics);
    int mine = dynamics->heat && dynamics->after && dynamics->edge;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

void dynamics_advance(Dynamics *dynamics, int step)
{
    for (int y = 0; y < dynamics->high; y++)
        for (int x = 0; x < dynamics->wide; x++) {
            int32_t *heat = dynamics->heat, here = *at(dynamics, heat, x, y);
            int32_t beside = *at(dynamics, heat, x - 1, y) + *at(dynamics, heat, x + 1, y) +
                             *at(dynamics, heat, x, y - 1) + *at(dynamics, heat, x, y + 1);
            int32_t mixed = (12 * here + beside) / 16 * KEPT_64THS / 64;
            *at(dynamics, dynamics->after, x, y) =
                mixed + (heated_here(dynamics, x, y, step) ? HEATING : 0);
        }
    int32_t *held = dynamics->heat;
    dynamics->heat = dynamics->after;
    dynamics->after = held;
}

void dynamics_read(const Dynamics *dynamics, int x, int y, int32_t heat[BLOCK_COLUMNS])
{
    int left = (x - dynamics->begin[0]) * BLOCK_SIDE, low = (y - dynamics->begin[1]) * BLOCK_SIDE;
    for (int column = 0; column < BLOCK_COLUMNS; column++)
        heat[column] = *at(dynamics, dynamics->heat, left + column % BLOCK_SIDE,
                           low + column / BLOCK_SIDE);
}

void dynamics_add(Dynamics *dynamics, int x, int y, const int32_t latent[BLOCK_COLUMNS])
{
    int left = (x - dynamics->begin[0]) * BLOCK_SIDE, low = (y - dynamics->begin[1]) * BLOCK_SIDE;
    for (int column = 0; column < BLOCK_COLUMNS; column++)
        *at(dynamics, dynamics->heat, left + column % BLOCK_SIDE, low + column / BLOCK_SIDE) +=
            latent[column];
}

uint64_t dynamics_checksum(const Dynamics *dynamics)
{
    uint64_t sum = 0;
    for (int y = 0; y < dynamics->high; y++)
        for (int x = 0; x < dynamics->wide; x++) {
            uint64_t row = (uint64_t)(dynamics->begin[1] * BLOCK_SIDE + y);
            uint64_t place = row * (uint64_t)dynamics->side * BLOCK_SIDE +
                             (uint64_t)(dynamics->begin[0] * BLOCK_SIDE + x);
            uint64_t mixed = (place + 7) * 0xC2B2AE3D27D4EB4Fu ^
                             (uint64_t)*at(dynamics, dynamics->heat, x, y);
            mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9u;
            sum += mixed ^ (mixed >> 32);
        }
    return sum;
}
