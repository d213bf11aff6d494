/*
 * Blobs between ranks: read by MPI from those that hold them, as elsewhere from those that do not
 * or are not of the job, and gone in words. Of more than two ranks the last one is not of the job.
 */

#include <glob.h>
#include <tidings_tasks_mpi.h>
#include <unistd.h>

#include "expect.h"

enum { BYTES = 3000001, MOST = 4 };

static int rank, ranks, inside;
static unsigned char expected[BYTES], bytes[BYTES];

static const unsigned char *content(int of) {
    for (size_t i = 0; i < BYTES; i++) expected[i] = (unsigned char)(i / 7 + (size_t)of * 31);
    return expected;
}

/* Reads a blob of a rank, in the way that is expected. */
static void is_read(TidingsTasksMpi *mpi, const TidingsTasksMpiHandle *handle, int of,
                    bool by_mpi) {
    bool was = !by_mpi;
    memset(bytes, 0, sizeof bytes);
    OK(tidings_tasks_mpi_get(mpi, handle, bytes, &was, &error));
    HOLDS(was == by_mpi && memcmp(bytes, content(of), BYTES) == 0);
}

static void send_all(TidingsTasksMpiHandle *own, TidingsTasksMpiHandle *all) {
    int size = (int)sizeof *own;
    MPI_Allgather(own, size, MPI_BYTE, all, size, MPI_BYTE, MPI_COMM_WORLD);
}

/* Unless it is said otherwise, MPI reads only from other hosts. */
static void of_one_host_it_is_mapped(TidingsTasks *tasks, MPI_Comm job) {
    TidingsTasksMpiHandle own, all[MOST];
    TidingsTasksBlob *blob = NULL;
    TidingsTasksMpi *mpi;
    OK(tidings_tasks_mpi_open(tasks, job, 0, &mpi, &error));
    OK(tidings_tasks_mpi_share(mpi, content(rank), BYTES, &own, &blob, &error));
    send_all(&own, all);
    if (rank < inside) is_read(mpi, &all[0], 0, false);
    MPI_Barrier(MPI_COMM_WORLD);
    tidings_tasks_mpi_unshare(mpi, blob);
    tidings_tasks_mpi_close(mpi);
}

/* What remains of a blob in the folder goes, as when nobody has needed it for long. */
static void free_in_folder(const TidingsTasksHandle *handle) {
    char pattern[4096];
    glob_t found;
    int at = snprintf(pattern, sizeof pattern, "%s/*/data/", getenv("TIDINGS_SHARED"));
    for (int i = 0; i < 32; i++)
        at += snprintf(pattern + at, sizeof pattern - (size_t)at, "%02x", handle->hash[i]);
    HOLDS(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1);
    HOLDS(unlink(found.gl_pathv[0]) == 0);
    globfree(&found);
}

/* Rank 0 frees its blob: it is still there for a while, and then it is gone. */
static void what_is_freed_is_refused(TidingsTasksMpi *mpi, TidingsTasksMpiHandle *first,
                                     TidingsTasksBlob **held) {
    if (rank == 0) {
        tidings_tasks_mpi_unshare(mpi, *held);
        *held = NULL;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < inside) is_read(mpi, first, 0, false);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) free_in_folder(&first->handle);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < inside) {
        TidingsTasksError error;
        HOLDS(tidings_tasks_mpi_get(mpi, first, bytes, NULL, &error) ==
              TIDINGS_TASKS_STATUS_NOT_FOUND);
        HOLDS(strstr(error.text, "is gone") != NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The place of a blob that was freed is that of the next one, which is not taken for it. */
static void a_place_is_used_again(TidingsTasksMpi *mpi, TidingsTasksMpiHandle *old,
                                  TidingsTasksBlob **held) {
    TidingsTasksMpiHandle next[MOST], own = {0};
    if (rank == 0) {
        OK(tidings_tasks_mpi_share(mpi, content(0), BYTES, &own, held, &error));
        HOLDS(own.place == old->place && own.number != old->number);
    }
    send_all(&own, next);
    if (rank < inside) {
        is_read(mpi, old, 0, false);
        is_read(mpi, &next[0], 0, true);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void what_is_wrong_is_said(TidingsTasksMpi *mpi) {
    TidingsTasksMpiHandle handle = {0};
    TidingsTasksMpi *none = mpi;
    TidingsTasksBlob *blob = NULL;
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_mpi_open(NULL, MPI_COMM_SELF, 0, &none, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_mpi_get(mpi, NULL, bytes, NULL, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_mpi_share(mpi, bytes, 1, NULL, &blob, &error));
    tidings_tasks_mpi_unshare(mpi, NULL);
    tidings_tasks_mpi_close(NULL);
    OK(tidings_tasks_mpi_share(mpi, NULL, 0, &handle, &blob, &error));
    HOLDS(handle.job == 0);
    OK(tidings_tasks_mpi_get(mpi, &handle, NULL, NULL, &error));
    tidings_tasks_mpi_unshare(mpi, blob);
}

/* More than the table has places for: those beyond are read as elsewhere. */
static void a_full_table_is_no_error(TidingsTasksMpi *mpi) {
    TidingsTasksBlob *blobs[TIDINGS_TASKS_MPI_BLOBS];
    TidingsTasksMpiHandle handle = {0};
    uint32_t number, found = 0;
    bool by_mpi = true;
    for (number = 0; number < TIDINGS_TASKS_MPI_BLOBS; number++) {
        HOLDS(number == 0 || handle.job != 0);
        OK(tidings_tasks_mpi_share(mpi, &number, sizeof number, &handle, &blobs[number], &error));
    }
    HOLDS(handle.job == 0);
    OK(tidings_tasks_mpi_get(mpi, &handle, &found, &by_mpi, &error));
    HOLDS(found == TIDINGS_TASKS_MPI_BLOBS - 1 && !by_mpi);
    for (number = 0; number < TIDINGS_TASKS_MPI_BLOBS; number++)
        tidings_tasks_mpi_unshare(mpi, blobs[number]);
}

/* A job of one rank gets what it has shared as elsewhere. */
static void one_rank_needs_no_window(TidingsTasks *tasks) {
    TidingsTasksMpiHandle handle;
    TidingsTasksMpi *alone;
    TidingsTasksBlob *blob = NULL;
    OK(tidings_tasks_mpi_open(tasks, MPI_COMM_SELF, TIDINGS_TASKS_MPI_EVERYWHERE, &alone, &error));
    OK(tidings_tasks_mpi_share(alone, content(rank), BYTES, &handle, &blob, &error));
    is_read(alone, &handle, rank, false);
    tidings_tasks_mpi_unshare(alone, blob);
    tidings_tasks_mpi_close(alone);
}

int main(int count, char **words) {
    TidingsTasksMpiHandle own, all[MOST];
    TidingsTasksBlob *held = NULL;
    TidingsTasksMpi *mpi;
    MPI_Comm job;
    int provided;

    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    inside = ranks > 2 ? ranks - 1 : ranks;
    TidingsTasks *tasks = opened("rank");
    MPI_Comm_split(MPI_COMM_WORLD, rank < inside, 0, &job);
    OK(tidings_tasks_mpi_open(tasks, job, TIDINGS_TASKS_MPI_EVERYWHERE, &mpi, &error));

    OK(tidings_tasks_mpi_share(mpi, content(rank), BYTES, &own, &held, &error));
    HOLDS((own.job != 0) == (rank < inside) && own.handle.count == BYTES);
    send_all(&own, all);
    for (int of = 0; of < ranks; of++) is_read(mpi, &all[of], of, of < inside && rank < inside);
    MPI_Barrier(MPI_COMM_WORLD);

    of_one_host_it_is_mapped(tasks, job);
    MPI_Comm_free(&job);
    what_is_freed_is_refused(mpi, &all[0], &held);
    a_place_is_used_again(mpi, &all[0], &held);
    what_is_wrong_is_said(mpi);
    if (rank == 0) a_full_table_is_no_error(mpi);
    one_rank_needs_no_window(tasks);
    /* Some still hold a blob when the window is closed. */
    if (rank > 0) tidings_tasks_mpi_unshare(mpi, held);
    tidings_tasks_mpi_close(mpi);
    if (rank == 0) tidings_tasks_unshare(held);
    tidings_tasks_close(tasks);
    MPI_Finalize();
    if (rank == 0) puts("done");
    return 0;
}
