/*
 * A library that goes below a program and says how long its calls of MPI_Allreduce took, so that
 * calls of two programs are compared by one statistic. Sums of integers alone: those are what both
 * programs measure, and what they agree on by themselves is something else.
 *
 * All ranks have to be on one host: their times are of its one clock. At the end rank 0 writes a
 * line for each size into the file CALLS_FILE: bytes, calls, and the mean of the middle half, from
 * when the last rank begins a call until the last one has it behind it, in seconds.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST_CALLS 100000
/* The first calls of a size are not counted: both programs warm up with some of them. */
#define WARMUPS 4

typedef struct Call {
    int bytes;
    double began_s, ended_s;
} Call;

static Call calls[MOST_CALLS];
static int count;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int MPI_Allreduce(const void *out, void *in, int words, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    if (op != MPI_SUM || (type != MPI_INT && type != MPI_UNSIGNED) || count == MOST_CALLS)
        return PMPI_Allreduce(out, in, words, type, op, comm);
    Call *call = &calls[count++];
    call->bytes = words * (int)sizeof(int);
    call->began_s = now_s();
    int status = PMPI_Allreduce(out, in, words, type, op, comm);
    call->ended_s = now_s();
    return status;
}

static int by_size_and_time(const void *left, const void *right)
{
    const Call *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return (a->ended_s > b->ended_s) - (a->ended_s < b->ended_s);
}

/* Writes a line for each run of calls of one size, whose times come sorted by size. */
static void write_sizes(FILE *file, const Call *sorted, int all)
{
    for (int at = 0, end; at < all; at = end) {
        double sum_s = 0;
        for (end = at; end < all && sorted[end].bytes == sorted[at].bytes;)
            end++;
        int own = end - at, from = at + own / 4, to = end - own / 4;
        for (int middle = from; middle < to; middle++)
            sum_s += sorted[middle].ended_s;
        fprintf(file, "%d %d %.10f\n", sorted[at].bytes, own, sum_s / (to - from));
    }
}

/* The warm-up of each size goes; of the rest `ended_s` is then what a call took. */
static int without_warmups(const double *began_s, const double *ended_s, Call *kept)
{
    int left = 0, of_size = 0;
    for (int at = 0; at < count; at++) {
        of_size = at && calls[at].bytes == calls[at - 1].bytes ? of_size + 1 : 0;
        if (of_size >= WARMUPS)
            kept[left++] = (Call){ calls[at].bytes, 0, ended_s[at] - began_s[at] };
    }
    return left;
}

int MPI_Finalize(void)
{
    int rank;
    const char *name = getenv("CALLS_FILE");
    double *times = calloc(4 * MOST_CALLS, sizeof *times);
    double *began_s = times, *ended_s = times + MOST_CALLS, *last = times + 2 * MOST_CALLS;
    Call *kept = calloc(MOST_CALLS, sizeof *kept);
    for (int at = 0; at < count; at++) {
        began_s[at] = calls[at].began_s;
        ended_s[at] = calls[at].ended_s;
    }
    PMPI_Reduce(began_s, last, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    PMPI_Reduce(ended_s, last + MOST_CALLS, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *file = rank == 0 && name ? fopen(name, "w") : NULL;
    if (file) {
        int left = without_warmups(last, last + MOST_CALLS, kept);
        qsort(kept, (size_t)left, sizeof *kept, by_size_and_time);
        write_sizes(file, kept, left);
        fclose(file);
    }
    free(kept);
    free(times);
    return PMPI_Finalize();
}
