/*
 * Collective operations (figures 8 to 11): on WORLD, its duplicate, WORLD without the last rank,
 * the ranks of each node, and the rows of a Cartesian grid; and on 1, 2, 4, ... communicators at
 * once over the same nodes. A sample is the time until the last rank of all has ended.
 */
#include "operations.h"
#include "tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double SIZES[] = { 4, 16384 };
#define SIZE_COUNT ((int)(sizeof SIZES / sizeof *SIZES))

typedef struct Setup {
    const CollectiveKind *kind;
    Collective collective;
} Setup;

static void repetition(void *context)
{
    Setup *setup = context;
    if (setup->collective.comm != MPI_COMM_NULL)
        setup->kind->run(&setup->collective);
}

/* Measures an operation on a communicator that some ranks have. Collective over WORLD. */
static void measure(Bench *bench, MPI_Comm comm, const CollectiveKind *kind, Label label)
{
    Setup setup = { .kind = kind };
    Samples samples;
    double needed = collective_memory(kind, bench->ranks, label.bytes);
    if (needed > bench->settings.memory) {
        char reason[120];
        snprintf(reason, sizeof reason, "%.0f B would need %.0f MiB a rank, more than --memory",
                 label.bytes, needed / (1 << 20));
        skip(bench, label.test, label.variant, reason);
        return;
    }
    int words = (int)(label.bytes / sizeof(unsigned));
    collective_open(&setup.collective, comm, bench->networks, kind, words);
    samples_take(bench, MPI_COMM_WORLD, bench_repetitions(bench, label.bytes * bench->ranks),
                 repetition, &setup, &samples);
    bool right = comm == MPI_COMM_NULL || kind->is_right(&setup.collective);
    bool valid = all_say(MPI_COMM_WORLD, right);
    if (bench->rank == 0)
        samples_report(bench, &samples, samples.longest_s, &label, valid);
    samples_free(&samples);
    collective_close(&setup.collective);
}

/* Says of all operations why they are not measured on a communicator. */
static void skip_each(Bench *bench, const char *variant, bool parallel, const char *reason)
{
    for (int at = 0; at < COLLECTIVE_COUNT; at++)
        if (settings_lists(bench->settings.operations, COLLECTIVES[at].name))
            skip(bench, parallel ? COLLECTIVES[at].parallel : COLLECTIVES[at].name, variant,
                 reason);
}

/* All operations, with messages of both sizes. */
static void each_operation(Bench *bench, MPI_Comm comm, const char *variant, int count,
                           bool parallel)
{
    for (int at = 0; at < COLLECTIVE_COUNT; at++) {
        const CollectiveKind *kind = &COLLECTIVES[at];
        if (!settings_lists(bench->settings.operations, kind->name))
            continue;
        for (int size = 0; size < (kind->has_size ? SIZE_COUNT : 1); size++) {
            Label label = { parallel ? kind->parallel : kind->name, variant,
                            kind->has_size ? SIZES[size] : 0, count, 1 };
            measure(bench, comm, kind, label);
        }
    }
}

/* All sizes besides those two, on WORLD. */
static void sweep(Bench *bench)
{
    for (int at = 0; at < COLLECTIVE_COUNT; at++)
        for (double bytes = 16; COLLECTIVES[at].has_size && bytes <= bench->settings.largest;
             bytes = bench_next(bench, bytes))
            if (fmod(bytes, sizeof(unsigned)) == 0 && bytes != SIZES[1]
                && settings_lists(bench->settings.operations, COLLECTIVES[at].name))
                measure(bench, MPI_COMM_WORLD, &COLLECTIVES[at],
                        (Label){ COLLECTIVES[at].name, "WORLD", bytes, bench->ranks, 1 });
}

/* Measures on a communicator and frees it. */
static void on(Bench *bench, MPI_Comm comm, const char *variant)
{
    int own = 0, most;
    if (comm != MPI_COMM_NULL)
        MPI_Comm_size(comm, &own);
    MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (most > 1)
        each_operation(bench, comm, variant, most, false);
    else
        skip_each(bench, variant, false, "has one rank: start more");
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

void test_collectives(Bench *bench)
{
    if (bench->ranks < 2) {
        skip_each(bench, "WORLD", false, "needs 2 ranks: start more");
        return;
    }
    MPI_Comm comm, grid;
    int rows[2] = { 0, 0 }, around[2] = { 0, 0 }, kept[2] = { 0, 1 };
    each_operation(bench, MPI_COMM_WORLD, "WORLD", bench->ranks, false);
    sweep(bench);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    on(bench, comm, "duplicate of WORLD");
    bool last = bench->rank == bench->ranks - 1;
    MPI_Comm_split(MPI_COMM_WORLD, last ? MPI_UNDEFINED : 0, bench->rank, &comm);
    on(bench, comm, "WORLD without the last rank");
    MPI_Comm_split(MPI_COMM_WORLD, bench->places.node[bench->rank], bench->rank, &comm);
    on(bench, comm, "split by node");
    MPI_Dims_create(bench->ranks, 2, rows);
    MPI_Cart_create(MPI_COMM_WORLD, 2, rows, around, 0, &grid);
    MPI_Cart_sub(grid, kept, &comm);
    on(bench, comm, "rows of a Cartesian grid");
    MPI_Comm_free(&grid);
}

void test_parallel(Bench *bench)
{
    const Places *places = &bench->places;
    int most = places->nodes > 1 ? places->each : bench->ranks / 2;
    if (most < 1) {
        skip_each(bench, "", true,
                  places->unfit[0] ? places->unfit : "needs 2 ranks: start more");
        return;
    }
    /* Over nodes, as many as cores; on one node, of two ranks each. */
    int lane = places->nodes > 1 ? places->core[bench->rank] : bench->rank % most;
    for (int count = 1; count <= most; count = bench_more(count, most)) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, lane < count ? lane : MPI_UNDEFINED, bench->rank, &comm);
        each_operation(bench, comm, "communicators at once", count, true);
        if (comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
    }
}
