/* See tidings_steal_array.h. */
#include "tidings_steal_array.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct TidingsStealArray {
    TidingsSteal *steal;
    MPI_Comm comm;
    MPI_Win window;
    double *own;           /* this rank's blocks */
    int64_t rows, columns; /* of blocks */
    int64_t own_blocks;
    int block_elements, rank, ranks;
};

/* How many blocks a rank has. */
static int64_t blocks_of(const TidingsStealArray *array, int rank)
{
    int64_t all = array->rows * array->columns;
    return all / array->ranks + (rank < all % array->ranks);
}

/* Whether these sizes make an array, and their numbers of blocks. */
static bool size(TidingsStealArray *array, int64_t rows, int64_t columns, int32_t block_rows,
                 int32_t block_columns)
{
    if (rows < 1 || columns < 1 || block_rows < 1 || block_columns < 1) return false;
    if ((int64_t)block_rows * block_columns > INT_MAX / (int64_t)sizeof(double)) return false;
    array->rows = (rows - 1) / block_rows + 1;
    array->columns = (columns - 1) / block_columns + 1;
    array->block_elements = block_rows * block_columns;
    int64_t most = INT64_MAX / (int64_t)sizeof(double) / array->block_elements;
    return array->rows <= most / array->columns;
}

static int explain(TidingsStealError *error, int status, const char *what)
{
    if (error) snprintf(error->text, sizeof error->text, "array: %s", what);
    return status;
}

int tidings_steal_array_create(TidingsSteal *steal, int64_t rows, int64_t columns,
                               int32_t block_rows, int32_t block_columns,
                               TidingsStealArray **array, TidingsStealError *error)
{
    if (!steal || !array) return explain(error, TIDINGS_STEAL_STATUS_NULL, "null");
    *array = NULL;
    if (steal->has_lost)
        return explain(error, TIDINGS_STEAL_LOST, "ranks have died, and arrays need all");
    MPI_Comm comm = tidings_steal_communicator(steal);
    TidingsStealArray *made = calloc(1, sizeof *made);
    long long sizes[5] = { made && size(made, rows, columns, block_rows, block_columns), rows,
                           columns, block_rows, block_columns };
    long long mine[10], least[10];
    for (int at = 0; at < 5; at++) {
        mine[at] = sizes[at];
        mine[5 + at] = -sizes[at];
    }
    MPI_Allreduce(mine, least, 10, MPI_LONG_LONG, MPI_MIN, comm);
    for (int at = 0; at < 5; at++) {
        if (least[at] == -least[5 + at] && least[0]) continue;
        free(made);
        return explain(error, TIDINGS_STEAL_STATUS_CONFIGURATION,
                       "rows, columns and blocks have to be positive, and the same on all ranks");
    }
    made->comm = comm;
    MPI_Comm_rank(comm, &made->rank);
    MPI_Comm_size(comm, &made->ranks);
    made->own_blocks = blocks_of(made, made->rank);
    MPI_Aint bytes = (MPI_Aint)(made->own_blocks * made->block_elements * (int64_t)sizeof(double));
    /* An MPI that has no memory for a window says so on all ranks, or ends the job. */
    if (MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, comm, &made->own, &made->window)) {
        free(made);
        return explain(error, TIDINGS_STEAL_MPI, "MPI has no window of this size");
    }
    MPI_Win_set_errhandler(made->window, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, made->window);
    made->steal = steal;
    steal->arrays++;
    if (tidings_steal_array_zero(made)) {
        tidings_steal_array_free(made);
        return explain(error, TIDINGS_STEAL_MPI, "MPI has refused a call");
    }
    *array = made;
    return 0;
}

void tidings_steal_array_free(TidingsStealArray *array)
{
    if (!array) return;
    MPI_Win_unlock_all(array->window);
    MPI_Win_free(&array->window);
    array->steal->arrays--;
    free(array);
}

void tidings_steal_array_blocks(const TidingsStealArray *array, int64_t *rows, int64_t *columns)
{
    *rows = array->rows;
    *columns = array->columns;
}

int tidings_steal_array_owner(const TidingsStealArray *array, int64_t row, int64_t column)
{
    if (row < 0 || row >= array->rows || column < 0 || column >= array->columns) return -1;
    return (int)((row * array->columns + column) % array->ranks);
}

/* Where among the owner's elements a block begins. */
static MPI_Aint place(const TidingsStealArray *array, int64_t row, int64_t column)
{
    int64_t number = (row * array->columns + column) / array->ranks;
    return (MPI_Aint)(number * array->block_elements);
}

/* What is done with a block at its owner. */
typedef enum Access { GET, PUT, ACCUMULATE } Access;

/* Reads a block into `into`, or changes it by `from`. */
static int access_block(TidingsStealArray *array, int64_t row, int64_t column, Access access,
                        double *into, const double *from)
{
    if (!array || (!into && !from)) return TIDINGS_STEAL_STATUS_NULL;
    int owner = tidings_steal_array_owner(array, row, column), count = array->block_elements;
    int refused = 0;
    if (owner < 0) return TIDINGS_STEAL_STATUS_CONFIGURATION;
    MPI_Aint at = place(array, row, column);
    switch (access) {
    case GET:
        refused = MPI_Get(into, count, MPI_DOUBLE, owner, at, count, MPI_DOUBLE, array->window);
        break;
    case PUT:
        refused = MPI_Put(from, count, MPI_DOUBLE, owner, at, count, MPI_DOUBLE, array->window);
        break;
    case ACCUMULATE:
        refused = MPI_Accumulate(from, count, MPI_DOUBLE, owner, at, count, MPI_DOUBLE, MPI_SUM,
                                 array->window);
    }
    refused = refused || MPI_Win_flush(owner, array->window);
    return refused ? TIDINGS_STEAL_MPI : 0;
}

int tidings_steal_array_get(TidingsStealArray *array, int64_t row, int64_t column, double *block)
{
    return access_block(array, row, column, GET, block, NULL);
}

int tidings_steal_array_put(TidingsStealArray *array, int64_t row, int64_t column,
                            const double *block)
{
    return access_block(array, row, column, PUT, NULL, block);
}

int tidings_steal_array_accumulate(TidingsStealArray *array, int64_t row, int64_t column,
                                   const double *block)
{
    return access_block(array, row, column, ACCUMULATE, NULL, block);
}

int tidings_steal_array_sync(TidingsStealArray *array)
{
    if (!array) return TIDINGS_STEAL_STATUS_NULL;
    int refused = MPI_Win_flush_all(array->window) || MPI_Win_sync(array->window) ||
                  MPI_Barrier(array->comm) || MPI_Win_sync(array->window);
    return refused ? TIDINGS_STEAL_MPI : 0;
}

int tidings_steal_array_zero(TidingsStealArray *array)
{
    int status = tidings_steal_array_sync(array);
    if (status) return status;
    size_t elements = (size_t)array->own_blocks * (size_t)array->block_elements;
    if (elements) memset(array->own, 0, elements * sizeof(double));
    return tidings_steal_array_sync(array);
}
