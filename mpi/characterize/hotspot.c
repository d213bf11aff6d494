/*
 * Hot spot (figure 6 b): one master answers the messages of w workers as they come; a sample is the
 * one-way latency that a worker sees, mean over workers.
 */
#include "buffers.h"
#include "tests.h"

#include <stdlib.h>
#include <string.h>

#define TAG 12
#define ROUNDS 4

typedef struct Spot {
    MPI_Comm comm;
    int rank, workers, rounds;
    size_t bytes;
    long message;
    bool wrong;
    Buffers buffers;
} Spot;

static void answer_all(Spot *spot)
{
    int bytes = (int)spot->bytes;
    for (int at = 0; at < spot->workers * spot->rounds; at++) {
        MPI_Status status;
        char *buffer = buffers_next(&spot->buffers);
        MPI_Recv(buffer, bytes, MPI_BYTE, MPI_ANY_SOURCE, TAG, spot->comm, &status);
        MPI_Send(buffer, bytes, MPI_BYTE, status.MPI_SOURCE, TAG, spot->comm);
    }
}

static void repetition(void *context)
{
    Spot *spot = context;
    if (spot->rank == 0) {
        answer_all(spot);
        return;
    }
    for (int at = 0; at < spot->rounds; at++) {
        int bytes = (int)spot->bytes;
        char *buffer = buffers_next(&spot->buffers);
        long message = ++spot->message * spot->rank;
        stamp(buffer, spot->bytes, message);
        MPI_Send(buffer, bytes, MPI_BYTE, 0, TAG, spot->comm);
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, TAG, spot->comm, MPI_STATUS_IGNORE);
        spot->wrong |= !is_stamped(buffer, spot->bytes, message);
    }
}

/* The mean over workers of each repetition, on the master. */
static void mean_of_workers(const Spot *spot, const Samples *samples, double *mean_s)
{
    double *own_s = room_for((size_t)samples->count * sizeof *own_s);
    if (spot->rank > 0)
        memcpy(own_s, samples->own_s, (size_t)samples->count * sizeof *own_s);
    MPI_Reduce(own_s, mean_s, (int)samples->count, MPI_DOUBLE, MPI_SUM, 0, spot->comm);
    for (long at = 0; at < samples->count; at++)
        mean_s[at] /= 2.0 * spot->rounds * spot->workers;
    free(own_s);
}

static void measure(Bench *bench, MPI_Comm comm, int workers, double bytes)
{
    Spot spot = { .comm = comm, .workers = workers, .bytes = (size_t)bytes,
                  .rounds = bench->simulated ? 1 : ROUNDS };
    Samples samples;
    MPI_Comm_rank(comm, &spot.rank);
    buffers_open(&spot.buffers, spot.bytes, 0, spot.rank > 0);
    samples_take(bench, comm, bench_repetitions(bench, bytes * workers), repetition, &spot,
                 &samples);
    bool valid = all_say(comm, buffers_whole(&spot.buffers) && !spot.wrong);
    double *mean_s = room_for((size_t)samples.count * sizeof *mean_s);
    mean_of_workers(&spot, &samples, mean_s);
    Label label = { "hotspot", "mean of workers", bytes, workers, 2 * spot.rounds };
    if (spot.rank == 0)
        samples_report(bench, &samples, mean_s, &label, valid);
    free(mean_s);
    samples_free(&samples);
    buffers_close(&spot.buffers);
}

void test_hotspot(Bench *bench)
{
    int most = bench->ranks - 1;
    if (most < 1)
        skip(bench, "hotspot", "", "needs 2 ranks: start more");
    for (int count = 1; count <= most; count = bench_more(count, most)) {
        int *ranks = room_for((size_t)(count + 1) * sizeof *ranks);
        for (int at = 0; at < count; at++)
            ranks[at + 1] = 1 + (int)((long)at * most / count);
        MPI_Comm comm = bench_group(bench, ranks, count + 1);
        for (double bytes = 1; bytes <= bench->settings.largest; bytes = bench_next(bench, bytes))
            if (comm != MPI_COMM_NULL)
                measure(bench, comm, count, bytes);
        bench_together(bench, &comm);
        free(ranks);
    }
}
