/*
 * What every test uses: who takes part, samples of an operation that is started by all at one
 * moment, and the row that reports them.
 *
 * Invariants: ranks that take no part sleep, so that they disturb nothing; nothing is printed or
 * computed between a start and the end of a repetition; every sample is kept, also those of the
 * warm-up, whose end is found by who reads them.
 */
#ifndef TIDINGS_CHARACTERIZE_BENCH_H
#define TIDINGS_CHARACTERIZE_BENCH_H

#include <mpi.h>
#include <stdbool.h>

#include "../machine/networks.h"
#include "../scaling/tidings_scaling_mpi.h"
#include "places.h"
#include "rows.h"
#include "settings.h"

typedef struct Bench {
    int rank, ranks;
    bool simulated;
    Networks *networks; /* for collectives of all ranks; null if there are none */
    Settings settings;
    Places places;
    Rows rows;
} Bench;

/* What a series is of: its line in a figure, and where on that line. */
typedef struct Label {
    const char *test, *variant;
    double bytes;
    int count;    /* what else changes: hops, workers, streams; 0 if nothing does */
    int messages; /* of a repetition, of which a sample is the mean */
} Label;

/* The samples of a series, in seconds, on each rank that took part. */
typedef struct Samples {
    double *own_s, *longest_s;
    long count, room, warmups, wanted;
    TidingsWindowReport report;
} Samples;

/* Does one repetition. */
typedef void Operation(void *context);

/* A communicator of these ranks of WORLD, in this order; MPI_COMM_NULL elsewhere. Collective. */
MPI_Comm bench_group(const Bench *bench, const int *ranks, int count);

/* Frees a communicator if it is one, and lets those who took no part go on. Collective. */
void bench_together(const Bench *bench, MPI_Comm *comm);

/* How often an operation with messages of so many bytes is repeated. */
long bench_repetitions(const Bench *bench, double bytes);

/* The size after this one: 0 is followed by 1, the largest by infinity. */
double bench_next(const Bench *bench, double bytes);

/* The count after this one: twice as many, the largest not left out, and then more than it. */
int bench_more(int count, int most);

/* Repeats an operation on all ranks of a communicator. Collective. */
void samples_take(const Bench *bench, MPI_Comm comm, long wanted, Operation *run, void *context,
                  Samples *samples);
void samples_free(Samples *samples);

/* The middle of some values, which it sorts. */
double median_of(double *values, long count);

/* Writes the row of a series whose values are these. */
void samples_report(Bench *bench, const Samples *samples, const double *values_s,
                    const Label *label, bool valid);

/* Whether all ranks of a communicator say so. */
bool all_say(MPI_Comm comm, bool own);

/* Reports on rank 0 that a test, or a part of it, is not measured, and why. */
void skip(Bench *bench, const char *test, const char *variant, const char *reason);

#endif
