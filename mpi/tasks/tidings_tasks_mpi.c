/*
 * See tidings_tasks_mpi.h.
 *
 * All ranks make one dynamic window. To it each attaches a table of the blobs that it has attached,
 * and these. A reader locks the owner's part of the window, reads the place in the table that the
 * handle names, and reads the blob if it is still that one. The owner takes a blob out of its table
 * under an exclusive lock, which it gets when nobody reads: so what is read is attached.
 *
 * Invariants: what a table names is attached; a number names one blob of a rank for ever; no rank
 * has two locks at a time, so none waits in a circle.
 *
 * Source: MPI 4.0, section 12: dynamic windows, passive target communication.
 */
#define _GNU_SOURCE
#include "tidings_tasks_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most bytes of one MPI_Get: its count is an int. */
#define PIECE_BYTES ((size_t)1 << 30)

/* A blob that is attached, as readers see it. */
typedef struct Place {
    uint64_t number; /* 0: none */
    uint64_t count;
    MPI_Aint address;
    uint8_t hash[32];
} Place;

struct TidingsTasksMpi {
    TidingsTasks *tasks;
    MPI_Comm comm;
    MPI_Win window;
    int rank, ranks;
    uint64_t job, shared;
    Place *table;
    MPI_Aint *tables; /* where each rank has its own */
    bool *is_far;     /* whether a rank is read by MPI */
    TidingsTasksBlob *blobs[TIDINGS_TASKS_MPI_BLOBS];
};

static TidingsTasksStatus answer(TidingsTasksError *error, TidingsTasksStatus status,
                                 const char *text)
{
    if (error) snprintf(error->text, sizeof error->text, "%s", text);
    return status;
}

static TidingsTasksStatus refused(TidingsTasksError *error, int code)
{
    char words[MPI_MAX_ERROR_STRING] = "MPI has failed";
    int length;
    MPI_Error_string(code, words, &length);
    return answer(error, TIDINGS_TASKS_STATUS_REFUSED, words);
}

static int attach(TidingsTasksMpi *mpi, void *start, size_t count, MPI_Aint *address)
{
    int code = MPI_Win_attach(mpi->window, start, (MPI_Aint)count);
    return code != MPI_SUCCESS ? code : MPI_Get_address(start, address);
}

/* The table of this rank, attached. */
static int make_table(TidingsTasksMpi *mpi, MPI_Aint *address)
{
    size_t bytes = TIDINGS_TASKS_MPI_BLOBS * sizeof *mpi->table;
    int code = MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &mpi->table);
    if (code != MPI_SUCCESS) return code;
    memset(mpi->table, 0, bytes);
    return attach(mpi, mpi->table, bytes, address);
}

/* What all ranks make of a code that each has: the worst one is that of all. */
static int agreed(const TidingsTasksMpi *mpi, int code)
{
    int mine = code != MPI_SUCCESS, any = 1;
    int all = MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, mpi->comm);
    if (all != MPI_SUCCESS || code != MPI_SUCCESS) return all != MPI_SUCCESS ? all : code;
    return any ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* Which ranks are on other hosts. */
static int find_far(TidingsTasksMpi *mpi, bool everywhere)
{
    MPI_Comm near;
    int first = mpi->rank;
    int *firsts = malloc((size_t)mpi->ranks * sizeof *firsts);
    int code = MPI_Comm_split_type(mpi->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    if (code == MPI_SUCCESS) {
        code = MPI_Bcast(&first, 1, MPI_INT, 0, near);
        MPI_Comm_free(&near);
    }
    mpi->is_far = malloc((size_t)mpi->ranks * sizeof *mpi->is_far);
    code = agreed(mpi, firsts && mpi->is_far ? code : MPI_ERR_NO_MEM);
    if (code == MPI_SUCCESS)
        code = MPI_Allgather(&first, 1, MPI_INT, firsts, 1, MPI_INT, mpi->comm);
    for (int rank = 0; code == MPI_SUCCESS && rank < mpi->ranks; rank++)
        mpi->is_far[rank] = everywhere || firsts[rank] != first;
    free(firsts);
    return code;
}

static int open_window(TidingsTasksMpi *mpi)
{
    MPI_Aint own = 0;
    uint64_t job = 0;
    int code = MPI_Win_create_dynamic(MPI_INFO_NULL, mpi->comm, &mpi->window);
    if (code != MPI_SUCCESS) return code;
    MPI_Win_set_errhandler(mpi->window, MPI_ERRORS_RETURN);
    mpi->tables = malloc((size_t)mpi->ranks * sizeof *mpi->tables);
    code = mpi->tables ? make_table(mpi, &own) : MPI_ERR_NO_MEM;
    if (getentropy(&job, sizeof job) != 0) code = MPI_ERR_OTHER;
    code = agreed(mpi, code);
    if (code != MPI_SUCCESS) return code;
    mpi->job = job | 1;
    code = MPI_Bcast(&mpi->job, 1, MPI_UINT64_T, 0, mpi->comm);
    if (code != MPI_SUCCESS) return code;
    return MPI_Allgather(&own, 1, MPI_AINT, mpi->tables, 1, MPI_AINT, mpi->comm);
}

TidingsTasksStatus tidings_tasks_mpi_open(TidingsTasks *tasks, MPI_Comm comm, uint32_t flags,
                                          TidingsTasksMpi **mpi, TidingsTasksError *error)
{
    if (!tasks || !mpi)
        return answer(error, TIDINGS_TASKS_STATUS_ARGUMENT, "the store, or the place, is null");
    *mpi = NULL;
    TidingsTasksMpi *made = calloc(1, sizeof *made);
    if (!made) return answer(error, TIDINGS_TASKS_STATUS_REFUSED, "there is no memory");
    made->tasks = tasks;
    made->window = MPI_WIN_NULL;
    int code = MPI_Comm_dup(comm, &made->comm);
    if (code != MPI_SUCCESS) {
        free(made);
        return refused(error, code);
    }
    MPI_Comm_set_errhandler(made->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(made->comm, &made->rank);
    MPI_Comm_size(made->comm, &made->ranks);
    /* Open MPI makes no window of one rank. */
    if (made->ranks > 1) code = open_window(made);
    if (code == MPI_SUCCESS) code = find_far(made, flags & TIDINGS_TASKS_MPI_EVERYWHERE);
    if (code != MPI_SUCCESS) {
        tidings_tasks_mpi_close(made);
        return refused(error, code);
    }
    *mpi = made;
    return answer(error, TIDINGS_TASKS_STATUS_OK, "");
}

/* Writes a place of this rank's table while nobody reads. */
static int write_place(TidingsTasksMpi *mpi, size_t at, Place place)
{
    int code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mpi->rank, 0, mpi->window);
    if (code != MPI_SUCCESS) return code;
    mpi->table[at] = place;
    return MPI_Win_unlock(mpi->rank, mpi->window);
}

/* Takes a blob out of the table. When this returns nobody reads it, nor will. */
static void take_out(TidingsTasksMpi *mpi, size_t at)
{
    void *bytes = (void *)tidings_tasks_blob_bytes(mpi->blobs[at], NULL);
    write_place(mpi, at, (Place){0});
    MPI_Win_detach(mpi->window, bytes);
    mpi->blobs[at] = NULL;
}

void tidings_tasks_mpi_close(TidingsTasksMpi *mpi)
{
    if (!mpi) return;
    if (mpi->window != MPI_WIN_NULL) {
        /* What a rank still reads it reads to its end. */
        MPI_Barrier(mpi->comm);
        for (size_t at = 0; at < TIDINGS_TASKS_MPI_BLOBS; at++)
            if (mpi->blobs[at]) take_out(mpi, at);
        MPI_Win_free(&mpi->window);
    }
    if (mpi->table) MPI_Free_mem(mpi->table);
    MPI_Comm_free(&mpi->comm);
    free(mpi->tables);
    free(mpi->is_far);
    free(mpi);
}

/* A place that is free; the number of places if none is. */
static size_t free_place(const TidingsTasksMpi *mpi)
{
    size_t at = 0;
    while (at < TIDINGS_TASKS_MPI_BLOBS && mpi->blobs[at]) at++;
    return at;
}

/* Attaches a blob and writes where it lies into its handle; if it cannot, the handle stays. */
static void take_in(TidingsTasksMpi *mpi, TidingsTasksBlob *blob, TidingsTasksMpiHandle *handle)
{
    Place place = {.number = mpi->shared + 1, .count = handle->handle.count};
    void *bytes = (void *)tidings_tasks_blob_bytes(blob, NULL);
    size_t at = free_place(mpi);
    if (mpi->ranks == 1 || at == TIDINGS_TASKS_MPI_BLOBS || place.count == 0) return;
    if (attach(mpi, bytes, place.count, &place.address) != MPI_SUCCESS) return;
    memcpy(place.hash, handle->handle.hash, sizeof place.hash);
    if (write_place(mpi, at, place) != MPI_SUCCESS) {
        MPI_Win_detach(mpi->window, bytes);
        return;
    }
    mpi->shared++;
    mpi->blobs[at] = blob;
    handle->job = mpi->job;
    handle->number = place.number;
    handle->rank = (uint32_t)mpi->rank;
    handle->place = (uint32_t)at;
}

TidingsTasksStatus tidings_tasks_mpi_share(TidingsTasksMpi *mpi, const void *bytes, size_t count,
                                           TidingsTasksMpiHandle *handle, TidingsTasksBlob **blob,
                                           TidingsTasksError *error)
{
    if (!mpi || !handle)
        return answer(error, TIDINGS_TASKS_STATUS_ARGUMENT, "the window, or the handle, is null");
    memset(handle, 0, sizeof *handle);
    TidingsTasksStatus status =
        tidings_tasks_share(mpi->tasks, bytes, count, &handle->handle, blob, error);
    if (status == TIDINGS_TASKS_STATUS_OK) take_in(mpi, *blob, handle);
    return status;
}

void tidings_tasks_mpi_unshare(TidingsTasksMpi *mpi, TidingsTasksBlob *blob)
{
    for (size_t at = 0; mpi && blob && at < TIDINGS_TASKS_MPI_BLOBS; at++)
        if (mpi->blobs[at] == blob) take_out(mpi, at);
    tidings_tasks_unshare(blob);
}

/* Reads so many bytes of a rank, which is locked. */
static int read_bytes(TidingsTasksMpi *mpi, int rank, MPI_Aint address, void *into, size_t count)
{
    int code = MPI_SUCCESS;
    for (size_t at = 0; code == MPI_SUCCESS && at < count; at += PIECE_BYTES) {
        int piece = (int)(count - at < PIECE_BYTES ? count - at : PIECE_BYTES);
        MPI_Aint from = MPI_Aint_add(address, (MPI_Aint)at);
        char *to = (char *)into + at;
        code = MPI_Get(to, piece, MPI_BYTE, rank, from, piece, MPI_BYTE, mpi->window);
    }
    return code == MPI_SUCCESS ? MPI_Win_flush(rank, mpi->window) : code;
}

/* Reads a blob of a rank, which is locked, if it is still the one that the handle names. */
static int read_blob(TidingsTasksMpi *mpi, const TidingsTasksMpiHandle *handle, void *into,
                     bool *is_there)
{
    Place place = {0};
    int rank = (int)handle->rank;
    MPI_Aint at = MPI_Aint_add(mpi->tables[rank], (MPI_Aint)(handle->place * sizeof place));
    int code = read_bytes(mpi, rank, at, &place, sizeof place);
    *is_there = code == MPI_SUCCESS && place.number == handle->number &&
                place.count == handle->handle.count &&
                memcmp(place.hash, handle->handle.hash, sizeof place.hash) == 0;
    return *is_there ? read_bytes(mpi, rank, place.address, into, place.count) : code;
}

/* The same without a window: the blob lies outside of the job, or is held by no rank any more. */
static TidingsTasksStatus fetch(TidingsTasksMpi *mpi, const TidingsTasksHandle *handle, void *into,
                                TidingsTasksError *error)
{
    TidingsTasksBlob *blob = NULL;
    TidingsTasksStatus status = tidings_tasks_fetch(mpi->tasks, handle, &blob, error);
    if (status == TIDINGS_TASKS_STATUS_OK && handle->count > 0)
        memcpy(into, tidings_tasks_blob_bytes(blob, NULL), handle->count);
    tidings_tasks_unshare(blob);
    return status;
}

/* Whether a handle names a place in a table of a rank that is read by MPI. */
static bool is_read_by_mpi(const TidingsTasksMpi *mpi, const TidingsTasksMpiHandle *handle)
{
    return mpi->job != 0 && handle->job == mpi->job && handle->rank < (uint32_t)mpi->ranks &&
           handle->place < TIDINGS_TASKS_MPI_BLOBS && mpi->is_far[handle->rank];
}

TidingsTasksStatus tidings_tasks_mpi_get(TidingsTasksMpi *mpi, const TidingsTasksMpiHandle *handle,
                                         void *into, bool *by_mpi, TidingsTasksError *error)
{
    bool is_there = false;
    if (!mpi || !handle || (!into && handle->handle.count > 0))
        return answer(error, TIDINGS_TASKS_STATUS_ARGUMENT,
                      "the window, the handle, or where the bytes go, is null");
    if (by_mpi) *by_mpi = false;
    if (!is_read_by_mpi(mpi, handle)) return fetch(mpi, &handle->handle, into, error);
    int rank = (int)handle->rank;
    int code = MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, mpi->window);
    if (code != MPI_SUCCESS) return refused(error, code);
    code = read_blob(mpi, handle, into, &is_there);
    int unlocked = MPI_Win_unlock(rank, mpi->window);
    if (code != MPI_SUCCESS || unlocked != MPI_SUCCESS)
        return refused(error, code != MPI_SUCCESS ? code : unlocked);
    if (!is_there) return fetch(mpi, &handle->handle, into, error);
    if (by_mpi) *by_mpi = true;
    return answer(error, TIDINGS_TASKS_STATUS_OK, "");
}
