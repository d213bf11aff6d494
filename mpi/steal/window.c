/*
 * What would a one-sided steal take? Rank 0 shows bytes in a window, and a word that says that they
 * are there. Rank 1 swaps the word for nothing, gets the bytes, and says that it has them: three
 * one-sided operations, of which it waits for two. In the same repetition both exchange messages of
 * the same bytes. Rank 0 either looks after MPI all the time, or computes for a while without it,
 * as a victim does that is in a task.
 * usage: mpirun -n 2 tidings-mpi-steal-window [BYTES] [REPETITIONS] [US OF A TASK]
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

#define REQUEST_BYTES 21
#define ROUNDS 200
#define MOST 1000
#define MOST_BYTES (1 << 20)

/* The window: a word that is not 0 while there is something, how often it was taken, the bytes. */
enum { WORD, TAKEN, SHOWN };

typedef struct Shelf {
    MPI_Win window;
    int64_t *memory;
    int rank, bytes;
} Shelf;

/* Swaps or reads a word of rank 0's window, and waits for what was there. */
static int64_t change(const Shelf *shelf, int place, int64_t value, MPI_Op operation)
{
    int64_t was = 0;
    MPI_Fetch_and_op(&value, &was, MPI_INT64_T, 0, place, operation, shelf->window);
    MPI_Win_flush(0, shelf->window);
    return was;
}

/* The thief's part of a steal. Seconds; below 0 if there was nothing. */
static double take(const Shelf *shelf, uint8_t *bytes)
{
    static const int64_t one = 1;
    double began_s = MPI_Wtime();
    if (!change(shelf, WORD, 0, MPI_REPLACE)) return -1;
    MPI_Get(bytes, shelf->bytes, MPI_BYTE, 0, SHOWN, shelf->bytes, MPI_BYTE, shelf->window);
    MPI_Win_flush(0, shelf->window);
    MPI_Accumulate(&one, 1, MPI_INT64_T, 0, TAKEN, 1, MPI_INT64_T, MPI_SUM, shelf->window);
    double took_s = MPI_Wtime() - began_s;
    MPI_Win_flush(0, shelf->window);
    return took_s;
}

static void spend(double seconds)
{
    double until_s = MPI_Wtime() + seconds;
    while (seconds > 0 && MPI_Wtime() < until_s)
        ;
}

/* Shows something new each time that it was taken, as often as there are rounds. */
static void show(const Shelf *shelf, double task_s)
{
    for (int round = 1; round <= ROUNDS; round++) {
        memset(shelf->memory + SHOWN, round, (size_t)shelf->bytes);
        MPI_Win_sync(shelf->window);
        change(shelf, WORD, round, MPI_REPLACE);
        do {
            int is_there;
            spend(task_s);
            MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        } while (change(shelf, TAKEN, 0, MPI_NO_OP) < round);
    }
    change(shelf, TAKEN, 0, MPI_REPLACE);
}

/* A repetition's steals. A thief that looks always would keep the victim from its memory, so it
 * waits for some microseconds between looks. */
static void steals(const Shelf *shelf, double task_s, Sample *sample)
{
    static uint8_t bytes[MOST_BYTES];
    MPI_Barrier(MPI_COMM_WORLD);
    if (shelf->rank == 0) show(shelf, task_s);
    for (int round = 1; shelf->rank && round <= ROUNDS; round++) {
        do
            spend(3e-6);
        while (change(shelf, WORD, 0, MPI_NO_OP) != round);
        spend(task_s / 3);
        sample->all[sample->count++] = take(shelf, bytes);
        if (bytes[0] != (uint8_t)round || bytes[shelf->bytes - 1] != (uint8_t)round)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void measure(const Shelf *shelf, int repetitions, double task_s)
{
    static double taken_s[MOST * ROUNDS], busy_s[MOST * ROUNDS], exchanged_s[MOST * ROUNDS];
    static double ratios[MOST];
    Sample taken = { taken_s, 0 }, busy = { busy_s, 0 }, exchanged = { exchanged_s, 0 };
    for (int at = 0; at < repetitions; at++) {
        steals(shelf, 0, &taken);
        steals(shelf, task_s, &busy);
        exchange(REQUEST_BYTES, shelf->bytes, ROUNDS, &exchanged);
        if (shelf->rank)
            ratios[at] = quartile(taken_s + taken.count - ROUNDS, ROUNDS, 2) /
                         quartile(exchanged_s + exchanged.count - ROUNDS, ROUNDS, 2);
    }
    if (!shelf->rank) return;
    printf("{\"bytes\":%d,\"one_sided_us\":%.3f,\"task_us\":%.0f,\"one_sided_in_task_us\":%.3f,"
           "\"ping_pong_us\":%.3f,\"ratio\":%.3f,\"ratio_quartiles\":[%.3f,%.3f],"
           "\"repetitions\":%d}\n",
           shelf->bytes, 1e6 * quartile(taken_s, taken.count, 2), 1e6 * task_s,
           1e6 * quartile(busy_s, busy.count, 2),
           1e6 * quartile(exchanged_s, exchanged.count, 2), quartile(ratios, repetitions, 2),
           quartile(ratios, repetitions, 1), quartile(ratios, repetitions, 3), repetitions);
}

int main(int count, char **words)
{
    Shelf shelf = { .bytes = 2048 };
    int ranks, repetitions = count > 2 ? atoi(words[2]) : 31;
    double task_s = 1e-6 * (count > 3 ? atoi(words[3]) : 100);
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &shelf.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count > 1) shelf.bytes = atoi(words[1]);
    if (ranks != 2 || shelf.bytes < 1 || shelf.bytes > MOST_BYTES || repetitions < 1 ||
        repetitions > MOST) {
        if (!shelf.rank)
            fprintf(stderr, "usage: mpirun -n 2 tidings-mpi-steal-window [BYTES] [N] [US]\n");
        MPI_Finalize();
        return 2;
    }
    MPI_Aint size = shelf.rank ? 0 : SHOWN * 8 + shelf.bytes;
    MPI_Win_allocate(size, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &shelf.memory, &shelf.window);
    if (!shelf.rank) memset(shelf.memory, 0, (size_t)size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, shelf.window);
    measure(&shelf, repetitions, task_s);
    MPI_Win_unlock_all(shelf.window);
    MPI_Win_free(&shelf.window);
    MPI_Finalize();
    return 0;
}
