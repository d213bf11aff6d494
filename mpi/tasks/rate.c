/*
 * How fast is a blob read from another rank? 64 MiB by tidings_tasks_mpi_get, beside MPI_Get alone
 * from memory of the same window, tidings_tasks_fetch with a copy, and memcpy. Rank 0 reads, rank 1
 * holds. Each repetition times all, one after the other; printed are the medians and the ratios of
 * the repetitions.
 * usage: mpirun -n 2 tidings-mpi-tasks-rate [REPETITIONS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidings_tasks_mpi.h"

#define BYTES ((size_t)64 << 20)
#define MOST 1000

enum { COPIED, GOT, BY_HANDLE, FETCHED, WAYS };

static const char *const names[] = {"memcpy", "MPI_Get", "tidings_tasks_mpi_get",
                                    "tidings_tasks_fetch and memcpy"};

static void check(TidingsTasksStatus status, const TidingsTasksError *error)
{
    if (status == TIDINGS_TASKS_STATUS_OK) return;
    fprintf(stderr, "tidings-mpi-tasks-rate: %s\n", error->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int ascending(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

/* What rank 0 reads, and into what. */
typedef struct Reading {
    TidingsTasks *tasks;
    TidingsTasksMpi *mpi;
    MPI_Win window;
    MPI_Aint address;
    TidingsTasksMpiHandle handle;
    char *from, *into;
} Reading;

static void read_once(const Reading *reading, int way)
{
    TidingsTasksError error;
    TidingsTasksBlob *blob = NULL;
    bool by_mpi = false;
    switch (way) {
    case COPIED:
        memcpy(reading->into, reading->from, BYTES);
        break;
    case GOT:
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, reading->window);
        MPI_Get(reading->into, (int)BYTES, MPI_BYTE, 1, reading->address, (int)BYTES, MPI_BYTE,
                reading->window);
        MPI_Win_unlock(1, reading->window);
        break;
    case BY_HANDLE:
        check(tidings_tasks_mpi_get(reading->mpi, &reading->handle, reading->into, &by_mpi, &error),
              &error);
        if (!by_mpi) MPI_Abort(MPI_COMM_WORLD, 2);
        break;
    default:
        check(tidings_tasks_fetch(reading->tasks, &reading->handle.handle, &blob, &error), &error);
        memcpy(reading->into, tidings_tasks_blob_bytes(blob, NULL), BYTES);
        tidings_tasks_unshare(blob);
    }
}

static void measure(const Reading *reading, int repetitions)
{
    static double took_s[WAYS][MOST], of_memcpy[WAYS][MOST], of_get[WAYS][MOST];
    for (int i = -1; i < repetitions; i++) {
        for (int way = 0; way < WAYS; way++) {
            double began_s = MPI_Wtime();
            read_once(reading, way);
            if (i >= 0) took_s[way][i] = MPI_Wtime() - began_s;
        }
        for (int way = 0; i >= 0 && way < WAYS; way++) {
            of_memcpy[way][i] = took_s[way][i] / took_s[COPIED][i];
            of_get[way][i] = took_s[way][i] / took_s[GOT][i];
        }
    }
    for (int way = 0; way < WAYS; way++)
        printf("%-32s %6.2f x memcpy  %6.2f x MPI_Get  %5.2f GB/s\n", names[way],
               median(of_memcpy[way], repetitions), median(of_get[way], repetitions),
               (double)BYTES / median(took_s[way], repetitions) / 1e9);
}

int main(int count, char **words)
{
    TidingsTasksOptions options = {0};
    TidingsTasksError error;
    TidingsTasksBlob *blob = NULL;
    Reading reading = {0};
    int rank, repetitions = count > 1 ? atoi(words[1]) : 15;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (repetitions < 1 || repetitions > MOST) repetitions = MOST;
    reading.from = malloc(BYTES);
    reading.into = malloc(BYTES);
    if (!reading.from || !reading.into) MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < BYTES; i++) reading.from[i] = (char)(i / 7);
    memset(reading.into, 1, BYTES);
    check(tidings_tasks_open(&options, &reading.tasks, &error), &error);
    check(tidings_tasks_mpi_open(reading.tasks, MPI_COMM_WORLD, TIDINGS_TASKS_MPI_EVERYWHERE,
                                 &reading.mpi, &error),
          &error);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &reading.window);
    if (rank == 1) {
        check(tidings_tasks_mpi_share(reading.mpi, reading.from, BYTES, &reading.handle, &blob,
                                      &error),
              &error);
        MPI_Win_attach(reading.window, reading.from, (MPI_Aint)BYTES);
        MPI_Get_address(reading.from, &reading.address);
    }
    MPI_Bcast(&reading.handle, (int)sizeof reading.handle, MPI_BYTE, 1, MPI_COMM_WORLD);
    MPI_Bcast(&reading.address, 1, MPI_AINT, 1, MPI_COMM_WORLD);
    if (rank == 0) measure(&reading, repetitions);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Win_detach(reading.window, reading.from);
    MPI_Win_free(&reading.window);
    tidings_tasks_mpi_unshare(reading.mpi, blob);
    tidings_tasks_mpi_close(reading.mpi);
    tidings_tasks_close(reading.tasks);
    free(reading.from);
    free(reading.into);
    MPI_Finalize();
    return 0;
}
