/*
 * What does a steal take, beside a message of the same bytes and its answer? Rank 0 has a list of
 * empty tasks, of which rank 1 steals half at a time; in the same repetition both exchange
 * messages of the bytes of a request and of an answer. Printed are the medians and the ratio of
 * the repetitions. usage: mpirun -n 2 tidings-mpi-steal-rate [BYTES OF A TASK] [REPETITIONS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidings_steal_mpi.h"

/* Tasks of a phase, of which each steal takes half, and phases of a repetition. */
#define TASKS 128
#define PHASES 100
#define MOST 1000
#define ROUNDS 1000

/* What a request has, and an answer beside its tasks. */
#define REQUEST_BYTES 5

typedef struct Rate {
    TidingsSteal *steal;
    uint16_t function;
    int rank, repetitions;
    size_t bytes;
    long long ran;
} Rate;

static void body(TidingsStealTasks *tasks, void *user)
{
    (void)tasks;
    ((Rate *)user)->ran++;
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

/* A phase: what was asked for and answered, and how long that took, as rank 1 sees it. */
static void steal(Rate *rate, uint64_t *answers, uint64_t *bytes, double *waited_s)
{
    static uint8_t state[4096];
    TidingsStealPhase phase;
    TidingsStealError error;
    for (int task = 0; !rate->rank && task < TASKS; task++)
        tidings_steal_add(rate->steal, rate->function, 0, state, rate->bytes);
    if (tidings_steal_phase(rate->steal, "steals", &phase, &error)) MPI_Abort(MPI_COMM_WORLD, 1);
    *answers += phase.counters.steals + phase.counters.refused;
    *bytes += phase.bytes;
    *waited_s += phase.waiting_seconds;
}

/* Seconds of a steal, and the mean of the bytes of an answer; as rank 1 sees them. */
static double steals(Rate *rate, double *answer_bytes)
{
    uint64_t answers = 0, bytes = 0;
    double waited_s = 0;
    for (int phase = 0; phase < PHASES; phase++)
        steal(rate, &answers, &bytes, &waited_s);
    /* Of all that rank 0 has sent; the end of a phase is a message, too, and counts as part of it.
     */
    MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    *answer_bytes = answers ? (double)bytes / (double)answers : 0;
    return answers ? waited_s / (double)answers : 0;
}

/* Seconds of a message and its answer. */
static double exchange(const Rate *rate, size_t answer_bytes)
{
    static uint8_t buffer[1 << 21];
    MPI_Barrier(MPI_COMM_WORLD);
    double began_s = MPI_Wtime();
    for (int round = 0; round < ROUNDS; round++) {
        if (rate->rank) {
            MPI_Send(buffer, REQUEST_BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(buffer, (int)answer_bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, REQUEST_BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, (int)answer_bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - began_s) / ROUNDS;
}

static void measure(Rate *rate)
{
    static double stolen_s[MOST], exchanged_s[MOST], ratios[MOST], bytes[MOST];
    for (int i = 0; i < rate->repetitions; i++) {
        stolen_s[i] = steals(rate, &bytes[i]);
        MPI_Bcast(&bytes[i], 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
        exchanged_s[i] = exchange(rate, (size_t)bytes[i]);
        ratios[i] = stolen_s[i] / exchanged_s[i];
    }
    if (rate->rank != 1) return;
    printf("{\"task_bytes\":%zu,\"answer_bytes\":%.0f,\"steal_us\":%.3f,\"ping_pong_us\":%.3f,"
           "\"ratio\":%.3f,\"repetitions\":%d}\n",
           rate->bytes, median(bytes, rate->repetitions),
           1e6 * median(stolen_s, rate->repetitions), 1e6 * median(exchanged_s, rate->repetitions),
           median(ratios, rate->repetitions), rate->repetitions);
}

int main(int count, char **words)
{
    Rate rate = { .repetitions = 31 };
    TidingsStealError error;
    int provided, ranks;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rate.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count > 1) rate.bytes = (size_t)atoi(words[1]);
    if (count > 2) rate.repetitions = atoi(words[2]);
    if (ranks != 2 || rate.bytes > 4096 || rate.repetitions < 1 || rate.repetitions > MOST) {
        if (!rate.rank) fprintf(stderr, "usage: mpirun -n 2 tidings-mpi-steal-rate [BYTES] [N]\n");
        MPI_Finalize();
        return 2;
    }
    TidingsStealOptions options = { .slot_bytes = 4096, .poll_us = 1 };
    if (tidings_steal_open(MPI_COMM_WORLD, &options, &rate.steal, &error)) return 1;
    tidings_steal_function(rate.steal, body, &rate, &rate.function);
    measure(&rate);
    tidings_steal_close(rate.steal);
    MPI_Finalize();
    return 0;
}
