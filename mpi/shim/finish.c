/*
 * The end of a rank of MPICH over UCX, as far as others depend on it.
 *
 * In MPI_Finalize MPICH 4.0 flushes what it sent to each other rank, and then waits for all ranks
 * in a barrier of the launcher's, where it reads a socket and does nothing else. Over TCP a flush
 * the receiver replies, and a rank that waits in the barrier does not reply: a rank that comes to
 * MPI_Finalize a little later than the ranks that it sent to waits for ever, without a shim too
 * (https://github.com/pmodels/mpich/pull/6596 removed the barrier). Hidden ranks are such ranks:
 * they leave when rank 0 of the application signals them, while it continues to the barrier.
 *
 * So while MPICH waits for its launcher in MPI_Finalize, its own communication continues here. The
 * functions that it calls for that, read(2) and UCX's, are wrapped; before MPI_Finalize, and where
 * another MPI or network is in use, they do what they always do.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "finish.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim.h"

#if !defined(OPEN_MPI)

/* Not <ucp/api/ucp.h>: a shim is built with mpi.h alone. */
typedef signed char Status;
typedef unsigned Progress(void *worker);
typedef Status Create(void *context, const void *parameters, void **worker);
typedef void Destroy(void *worker);
typedef ssize_t Read(int file, void *buffer, size_t bytes);

/* MPICH has one for each of its virtual interfaces, 64 at most. */
#define MOST_WORKERS 64

static void *workers[MOST_WORKERS];
static int count;
static Progress *progress;

/* The launcher's socket once MPI_Finalize has begun; before that none. */
static int launcher = -1;

SHIM_EXPORT Status ucp_worker_create(void *context, const void *parameters, void **worker)
{
    Create *create = (Create *)dlsym(RTLD_NEXT, "ucp_worker_create");
    Status status = create(context, parameters, worker);
    if (status == 0 && count < MOST_WORKERS)
        workers[count++] = *worker;
    return status;
}

SHIM_EXPORT void ucp_worker_destroy(void *worker)
{
    Destroy *destroy = (Destroy *)dlsym(RTLD_NEXT, "ucp_worker_destroy");
    for (int at = 0; at < count; at++)
        if (workers[at] == worker)
            workers[at--] = workers[--count];
    destroy(worker);
}

/* Progresses communication; returns whether anything happened. */
static bool go_on(void)
{
    unsigned happened = 0;
    for (int at = 0; at < count; at++)
        happened += progress(workers[at]);
    return happened > 0;
}

SHIM_EXPORT ssize_t read(int file, void *buffer, size_t bytes)
{
    static Read *library_read;
    if (!library_read)
        library_read = (Read *)dlsym(RTLD_NEXT, "read");
    if (file == launcher && count > 0) {
        struct pollfd answer = { .fd = file, .events = POLLIN };
        /* A millisecond now and then: ranks that outnumber the cores must not block others. */
        while (poll(&answer, 1, go_on() ? 0 : 1) == 0) {
        }
    }
    return library_read(file, buffer, bytes);
}

void finish_begins(void)
{
    const char *socket = getenv("PMI_FD");
    progress = (Progress *)dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (socket && progress)
        launcher = atoi(socket);
}

#else

void finish_begins(void)
{
}

#endif
