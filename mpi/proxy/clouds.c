/* See clouds.h. */
#include "clouds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "curve.h"

/* The rank whose range has a block: the last that begins there or before. */
static int owner(const Clouds *clouds, const int *starts, int index)
{
    int least = 0, most = clouds->ranks - 1;
    while (least < most) {
        int middle = least + (most - least + 1) / 2;
        if (starts[middle] <= index)
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}

static int first(const Clouds *clouds)
{
    return clouds->starts[clouds->rank];
}

int clouds_count(const Clouds *clouds)
{
    return clouds->starts[clouds->rank + 1] - first(clouds);
}

/* Makes room for the blocks of a range, without keeping the old ones; 0 if there is none. */
static int make_room(Clouds *clouds, int count)
{
    if (count <= clouds->room)
        return 1;
    size_t room = (size_t)count + (size_t)count / 4;
    free(clouds->own);
    free(clouds->steps);
    free(clouds->work);
    clouds->own = malloc(room * sizeof *clouds->own);
    clouds->steps = malloc(room * sizeof *clouds->steps);
    clouds->work = malloc(room * sizeof *clouds->work);
    clouds->room = (int)room;
    return clouds->own && clouds->steps && clouds->work;
}

int clouds_open(Clouds *clouds, const Dynamics *dynamics)
{
    int all, side = dynamics->side;
    *clouds = (Clouds){ .comm = dynamics->comm, .side = side, .blocks = side * side };
    MPI_Comm_rank(clouds->comm, &clouds->rank);
    MPI_Comm_size(clouds->comm, &clouds->ranks);
    size_t columns = (size_t)dynamics->wide * (size_t)dynamics->high;
    clouds->starts = calloc((size_t)clouds->ranks + 1, sizeof(int));
    clouds->starts_before = calloc((size_t)clouds->ranks + 1, sizeof(int));
    clouds->columns = calloc(columns / BLOCK_COLUMNS + 1, sizeof *clouds->columns);
    int mine = clouds->starts && clouds->starts_before && clouds->columns;
    for (int rank = 0; mine && rank <= clouds->ranks; rank++)
        clouds->starts[rank] = (int)((long long)clouds->blocks * rank / clouds->ranks);
    mine = mine && make_room(clouds, clouds_count(clouds) + 1);
    if (mine)
        memset(clouds->own, 0, (size_t)clouds->room * sizeof *clouds->own);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, clouds->comm);
    return all;
}

void clouds_close(Clouds *clouds)
{
    free(clouds->starts);
    free(clouds->starts_before);
    free(clouds->own);
    free(clouds->steps);
    free(clouds->work);
    free(clouds->columns);
    pieces_free(&clouds->out);
    pieces_free(&clouds->in);
}

/* Lists a piece for each block whose columns this rank has; the peers own the blocks. */
static void list_columns(Clouds *clouds, const Dynamics *dynamics, Pieces *pieces)
{
    int at = 0;
    pieces_clear(pieces);
    for (int y = dynamics->begin[1]; y < dynamics->end[1]; y++)
        for (int x = dynamics->begin[0]; x < dynamics->end[0]; x++) {
            int index = curve_index(clouds->side, x, y);
            pieces_add(pieces, clouds->comm, owner(clouds, clouds->starts, index), index,
                       clouds->columns[at++]);
        }
}

/* Lists a piece for each block of this rank; the peers are the owners of its columns. */
static void list_blocks(Clouds *clouds, const Dynamics *dynamics, Pieces *pieces, int latent)
{
    pieces_clear(pieces);
    for (int at = 0; at < clouds_count(clouds); at++) {
        int x, y;
        curve_place(clouds->side, first(clouds) + at, &x, &y);
        pieces_add(pieces, clouds->comm, dynamics_owner(dynamics, x, y), first(clouds) + at,
                   latent ? clouds->steps[at].latent : clouds->steps[at].heat);
    }
}

void clouds_read_air(Clouds *clouds, const Dynamics *dynamics)
{
    int at = 0;
    for (int y = dynamics->begin[1]; y < dynamics->end[1]; y++)
        for (int x = dynamics->begin[0]; x < dynamics->end[0]; x++)
            dynamics_read(dynamics, x, y, clouds->columns[at++]);
    list_columns(clouds, dynamics, &clouds->out);
    list_blocks(clouds, dynamics, &clouds->in, 0);
    traffic(clouds->comm, &clouds->out, &clouds->in, sizeof *clouds->columns);
}

void clouds_give_latent(Clouds *clouds, Dynamics *dynamics)
{
    int at = 0;
    list_blocks(clouds, dynamics, &clouds->out, 1);
    list_columns(clouds, dynamics, &clouds->in);
    traffic(clouds->comm, &clouds->out, &clouds->in, sizeof *clouds->columns);
    for (int y = dynamics->begin[1]; y < dynamics->end[1]; y++)
        for (int x = dynamics->begin[0]; x < dynamics->end[0]; x++)
            dynamics_add(dynamics, x, y, clouds->columns[at++]);
}

/* The curve's number of a block's neighbour; the plane is periodic. */
static int beside(const Clouds *clouds, int index, int direction)
{
    static const int RIGHT[DIRECTIONS] = { -1, 1, 0, 0 }, UP[DIRECTIONS] = { 0, 0, -1, 1 };
    int x, y, side = clouds->side;
    curve_place(side, index, &x, &y);
    return curve_index(side, (x + RIGHT[direction] + side) % side,
                       (y + UP[direction] + side) % side);
}

void clouds_halo(Clouds *clouds)
{
    pieces_clear(&clouds->out);
    pieces_clear(&clouds->in);
    for (int at = 0; at < clouds_count(clouds); at++) {
        int index = first(clouds) + at;
        block_edges(&clouds->own[at], &clouds->steps[at]);
        for (int direction = 0; direction < DIRECTIONS; direction++) {
            int other = beside(clouds, index, direction);
            int peer = owner(clouds, clouds->starts, other);
            /* A piece's key is the edge beyond which it will be. */
            pieces_add(&clouds->out, clouds->comm, peer, other * DIRECTIONS + (direction ^ 1),
                       clouds->steps[at].own[direction]);
            pieces_add(&clouds->in, clouds->comm, peer, index * DIRECTIONS + direction,
                       clouds->steps[at].ghost[direction]);
        }
    }
    traffic(clouds->comm, &clouds->out, &clouds->in, sizeof(Edge));
}

uint64_t clouds_advance(Clouds *clouds)
{
    uint64_t units = 0;
    for (int at = 0; at < clouds_count(clouds); at++) {
        units += block_work(&clouds->own[at]);
        block_advance(&clouds->own[at], &clouds->steps[at]);
    }
    return units;
}

void clouds_weigh(Clouds *clouds)
{
    for (int at = 0; at < clouds_count(clouds); at++)
        clouds->work[at] = block_work(&clouds->own[at]);
}

void clouds_migrate(Clouds *clouds)
{
    int before = clouds->starts_before[clouds->rank];
    int before_end = clouds->starts_before[clouds->rank + 1];
    pieces_clear(&clouds->out);
    for (int index = before; index < before_end; index++)
        pieces_add(&clouds->out, clouds->comm, owner(clouds, clouds->starts, index), index,
                   &clouds->own[index - before]);
    int count = clouds_count(clouds);
    Block *leaving = clouds->own;
    clouds->own = NULL;
    clouds->room = 0;
    if (!make_room(clouds, count + 1)) {
        fprintf(stderr, "proxy: no memory for %d blocks; use smaller --blocks\n", count);
        MPI_Abort(clouds->comm, 1);
    }
    pieces_clear(&clouds->in);
    for (int at = 0; at < count; at++)
        pieces_add(&clouds->in, clouds->comm,
                   owner(clouds, clouds->starts_before, first(clouds) + at), first(clouds) + at,
                   &clouds->own[at]);
    traffic(clouds->comm, &clouds->out, &clouds->in, sizeof(Block));
    free(leaving);
}

uint64_t clouds_checksum(const Clouds *clouds)
{
    uint64_t sum = 0;
    for (int at = 0; at < clouds_count(clouds); at++)
        sum += block_checksum(&clouds->own[at], first(clouds) + at);
    return sum;
}
