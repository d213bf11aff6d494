/*
 * tidings_tasks_mpi.h: large blobs by handle between the ranks of an MPI program, read by MPI_Get
 * from the memory of the rank that has shared them.
 *
 *     TidingsTasksMpi *mpi;
 *     tidings_tasks_mpi_open(tasks, MPI_COMM_WORLD, 0, &mpi, &error);
 *     tidings_tasks_mpi_share(mpi, bytes, count, &handle, &blob, &error);
 *     ... the handle goes to another rank, in a message, a payload or a field of a tuple ...
 *     tidings_tasks_mpi_get(mpi, &handle, into, NULL, &error);
 *     tidings_tasks_mpi_unshare(mpi, blob);
 *     tidings_tasks_mpi_close(mpi);
 *
 * A blob is shared as by tidings_tasks_share, so that processes outside of the job get it as well,
 * and its bytes are attached to a window of all ranks for as long as the rank holds it. A reader
 * does not disturb the computation of the owner, if the MPI makes progress without it; else it
 * waits until the owner calls MPI.
 *
 * Compile tidings_tasks_mpi.c with the program and its mpicc. Call the functions in the thread that
 * calls MPI (MPI_THREAD_FUNNELED). Statuses and errors are those of tidings_tasks.h; what MPI
 * refuses is TIDINGS_TASKS_STATUS_REFUSED, in its words.
 */
#ifndef TIDINGS_TASKS_MPI_H
#define TIDINGS_TASKS_MPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "tidings_tasks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blobs of a rank that others can read by MPI at a time; those beyond are read as elsewhere. Some
 * MPIs attach fewer (Open MPI 64, see osc_rdma_max_attach). The same on all ranks. */
#ifndef TIDINGS_TASKS_MPI_BLOBS
#define TIDINGS_TASKS_MPI_BLOBS 1024
#endif

/* Blobs of ranks of the own host are read by MPI, too, and not mapped: slower, with every MPI that
 * was measured, but it shows on one host what happens between several. */
#define TIDINGS_TASKS_MPI_EVERYWHERE 1

typedef struct TidingsTasksMpi TidingsTasksMpi;

/* A handle, and where in the job the blob lies. A value that may be copied, sent and stored. Of a
 * handle that comes from elsewhere all is 0 but `handle`. */
typedef struct TidingsTasksMpiHandle {
    TidingsTasksHandle handle; /* for any process */
    uint64_t job;              /* 0: the blob is attached to no window */
    uint64_t number;           /* of the blobs that its rank has shared */
    uint32_t rank;             /* in the communicator of that job */
    uint32_t place;            /* in the rank's table */
} TidingsTasksMpiHandle;

/* Opens the window, on a duplicate of `comm`. Collective; if one rank fails, all do. The ranks have
 * opened the same store. A communicator of one rank has no window: nobody would read from it.
 * `flags` are 0, or TIDINGS_TASKS_MPI_EVERYWHERE, the same on all ranks. */
TidingsTasksStatus tidings_tasks_mpi_open(TidingsTasks *tasks, MPI_Comm comm, uint32_t flags,
                                          TidingsTasksMpi **mpi, TidingsTasksError *error);

/* Closes the window. Collective. Blobs that are still held are read as elsewhere from now on; they
 * are given back by tidings_tasks_unshare. Null is allowed, on all ranks. */
void tidings_tasks_mpi_close(TidingsTasksMpi *mpi);

/* Copies bytes into memory that this host shares, as tidings_tasks_share, and attaches it. If MPI
 * cannot attach it, the handle is without a place, and readers get the blob as elsewhere. */
TidingsTasksStatus tidings_tasks_mpi_share(TidingsTasksMpi *mpi, const void *bytes, size_t count,
                                           TidingsTasksMpiHandle *handle, TidingsTasksBlob **blob,
                                           TidingsTasksError *error);

/* Detaches a blob when nobody reads it, and holds it no longer. Null is allowed. */
void tidings_tasks_mpi_unshare(TidingsTasksMpi *mpi, TidingsTasksBlob *blob);

/*
 * Reads a blob into `into`, which has room for `handle->handle.count` bytes: by MPI_Get from a rank
 * of another host that holds it, else as tidings_tasks_fetch, which answers
 * TIDINGS_TASKS_STATUS_NOT_FOUND if it is gone. Writes to `by_mpi`, unless that is null, which of
 * both it was. Who only reads a blob of its own host calls tidings_tasks_fetch, which copies
 * nothing.
 */
TidingsTasksStatus tidings_tasks_mpi_get(TidingsTasksMpi *mpi, const TidingsTasksMpiHandle *handle,
                                         void *into, bool *by_mpi, TidingsTasksError *error);

#ifdef __cplusplus
}
#endif
#endif
