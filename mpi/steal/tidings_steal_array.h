/*
 * tidings_steal_array.h: global arrays of doubles for the tasks of tidings_steal_mpi.h: matrices
 * whose blocks lie in the memories of all ranks, and which any task reads and adds to.
 *
 *     tidings_steal_array_create(steal, 96, 96, 20, 20, &fock, &error);         (collective)
 *     tidings_steal_array_accumulate(fock, i, j, block);                        (in any task)
 *     tidings_steal_array_sync(fock);                                           (collective)
 *     tidings_steal_array_get(fock, i, j, block);
 *
 * A block has as many elements as was said, row by row, whether or not it is the last one of a row
 * or column, which the matrix does not fill. Block (i, j) lies on rank (i · columns of blocks + j)
 * modulo ranks. A get, a put or an accumulate has happened when it returns. Accumulates of several
 * ranks to one block all count; a get beside them, before the sync, may see some of their elements
 * and not the others; puts beside other accesses to the same block are an error of the program.
 * The sum depends on the order of accumulates as sums of doubles do.
 *
 * The blocks are memory of a window of MPI, one-sided: an owner does nothing, if the MPI makes
 * progress without it; else it answers when it calls MPI, which ranks do in a phase at least each
 * `poll_us` between tasks.
 */
#ifndef TIDINGS_STEAL_ARRAY_H
#define TIDINGS_STEAL_ARRAY_H

#include "tidings_steal_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TidingsStealArray TidingsStealArray;

/* An array of zeros with so many elements, in blocks of so many. Collective; if one rank fails,
 * all do. */
int tidings_steal_array_create(TidingsSteal *steal, int64_t rows, int64_t columns,
                               int32_t block_rows, int32_t block_columns,
                               TidingsStealArray **array, TidingsStealError *error);

/* Ends it, before the ranks that it was made for. Collective; null is allowed. */
void tidings_steal_array_free(TidingsStealArray *array);

/* Blocks in a column and in a row. */
void tidings_steal_array_blocks(const TidingsStealArray *array, int64_t *rows, int64_t *columns);

/* The rank that has a block, where a task that reads it runs best; -1 if there is no such block.
 */
int tidings_steal_array_owner(const TidingsStealArray *array, int64_t row, int64_t column);

/* Reads a block. */
int tidings_steal_array_get(TidingsStealArray *array, int64_t row, int64_t column, double *block);

/* Writes a block. */
int tidings_steal_array_put(TidingsStealArray *array, int64_t row, int64_t column,
                            const double *block);

/* Adds to a block, element by element. */
int tidings_steal_array_accumulate(TidingsStealArray *array, int64_t row, int64_t column,
                                   const double *block);

/* After it, each rank sees what all have done before it. Collective. */
int tidings_steal_array_sync(TidingsStealArray *array);

/* Sets all elements to 0. Collective. */
int tidings_steal_array_zero(TidingsStealArray *array);

#ifdef __cplusplus
}
#endif

#endif
