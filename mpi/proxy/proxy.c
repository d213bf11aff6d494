/* See proxy.h. A step: air, coupling, edges, clouds, coupling back, next distribution. */
#include "proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/machine.h"
#include "../machine/stopwatch.h"
#include "../machine/words.h"
#include "clouds.h"
#include "dynamics.h"
#include "partition.h"

#define MOST_STEPS 10000

/* A column of the dynamics costs as much as this many bins. */
#define COLUMN_UNITS 40

enum { DYNAMICS_HALO, COUPLING, MICRO_HALO, PARTITION, MIGRATION, DYNAMICS, MICRO, PHASES };
static const char *const PHASE[PHASES] = {
    "dynamics_halo", "coupling", "micro_halo", "partition", "migration", "dynamics", "micro",
};

typedef struct Proxy {
    double side, clouds, steps, off, model, unit_ns; /* options */
    MPI_Comm comm;
    int rank, ranks;
    Dynamics dynamics;
    Clouds micro;
    Partitioner partitioner;
    double phase_s[PHASES];
    double *units; /* of each step */
    double migrated; /* blocks that left their rank */
} Proxy;

/* On a simulated machine work takes no time unless it is charged. */
static void charge(const Proxy *proxy, double units)
{
    if (proxy->model)
        machine_work(units * proxy->unit_ns * 1e-9);
}

static void cut(Proxy *proxy)
{
    Clouds *micro = &proxy->micro;
    size_t bytes = ((size_t)proxy->ranks + 1) * sizeof *micro->starts;
    clouds_weigh(micro);
    memcpy(micro->starts_before, micro->starts, bytes);
    double seconds = partitioner_cut(&proxy->partitioner, micro->work, micro->starts);
    if (proxy->model)
        machine_work(seconds);
}

static int overlap(int begin, int end, int other_begin, int other_end)
{
    int from = begin > other_begin ? begin : other_begin;
    int to = end < other_end ? end : other_end;
    return to > from ? to - from : 0;
}

static void migrate(Proxy *proxy)
{
    const int *now = proxy->micro.starts + proxy->rank;
    const int *before = proxy->micro.starts_before + proxy->rank;
    proxy->migrated += before[1] - before[0] - overlap(before[0], before[1], now[0], now[1]);
    clouds_migrate(&proxy->micro);
}

static void step(Proxy *proxy, int number)
{
    double *phase_s = proxy->phase_s;
    Dynamics *dynamics = &proxy->dynamics;
    STOPWATCH(&phase_s[DYNAMICS_HALO], dynamics_halo(dynamics));
    STOPWATCH(&phase_s[DYNAMICS], {
        dynamics_advance(dynamics, number);
        charge(proxy, (double)dynamics->wide * dynamics->high * COLUMN_UNITS);
    });
    STOPWATCH(&phase_s[COUPLING], clouds_read_air(&proxy->micro, dynamics));
    STOPWATCH(&phase_s[MICRO_HALO], clouds_halo(&proxy->micro));
    STOPWATCH(&phase_s[MICRO], {
        proxy->units[number] = (double)clouds_advance(&proxy->micro);
        charge(proxy, proxy->units[number]);
    });
    STOPWATCH(&phase_s[COUPLING], clouds_give_latent(&proxy->micro, dynamics));
    if (!proxy->off) {
        STOPWATCH(&phase_s[PARTITION], cut(proxy));
        STOPWATCH(&phase_s[MIGRATION], migrate(proxy));
    }
}

/*
 * The slowest rank's time over the mean, in one step: the mean of that over all steps, and the
 * most.
 */
static void imbalance(const Proxy *proxy, double *mean, double *most)
{
    int steps = (int)proxy->steps;
    double *heaviest = malloc(2 * (size_t)steps * sizeof *heaviest), *sum = heaviest + steps;
    *mean = *most = 0;
    if (!heaviest)
        MPI_Abort(proxy->comm, 1);
    MPI_Reduce(proxy->units, heaviest, steps, MPI_DOUBLE, MPI_MAX, 0, proxy->comm);
    MPI_Reduce(proxy->units, sum, steps, MPI_DOUBLE, MPI_SUM, 0, proxy->comm);
    for (int at = 0; proxy->rank == 0 && at < steps; at++) {
        double share = heaviest[at] / (sum[at] / proxy->ranks);
        *mean += share / steps;
        *most = share > *most ? share : *most;
    }
    free(heaviest);
}

static void report(Proxy *proxy, double seconds)
{
    double mean, most, longest_s, phases_s[PHASES], mpi_s = 0, migrated;
    uint64_t mine = dynamics_checksum(&proxy->dynamics) + clouds_checksum(&proxy->micro), sum;
    MPI_Reduce(&seconds, &longest_s, 1, MPI_DOUBLE, MPI_MAX, 0, proxy->comm);
    MPI_Reduce(proxy->phase_s, phases_s, PHASES, MPI_DOUBLE, MPI_SUM, 0, proxy->comm);
    MPI_Reduce(&proxy->migrated, &migrated, 1, MPI_DOUBLE, MPI_SUM, 0, proxy->comm);
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, proxy->comm);
    imbalance(proxy, &mean, &most);
    if (proxy->rank != 0)
        return;
    printf("{\"application\":\"proxy\",\"ranks\":%d,\"blocks\":%.0f,\"clouds\":%.0f,\"steps\":%.0f,"
           "\"balance\":%s,\"model\":%s,\"seconds\":%.9g,\"phases\":{",
           proxy->ranks, proxy->side, proxy->clouds, proxy->steps, proxy->off ? "false" : "true",
           proxy->model ? "true" : "false", longest_s);
    for (int phase = 0; phase < PHASES; phase++) {
        phases_s[phase] /= proxy->ranks;
        mpi_s += phase <= MIGRATION ? phases_s[phase] : 0;
        printf("%s\"%s\":%.9g", phase ? "," : "", PHASE[phase], phases_s[phase]);
    }
    printf("},\"mpi_seconds\":%.9g,\"mpi_share\":%.6f,\"imbalance\":%.6f,\"imbalance_most\":%.6f,"
           "\"migrated_blocks\":%.0f,\"checksum\":\"%016llx\"}\n",
           mpi_s, mpi_s / longest_s, mean, most, migrated, (unsigned long long)sum);
    fflush(stdout);
}

static void read_words(Proxy *proxy, int count, char **words, char *why, int bytes)
{
    const Word table[] = {
        { "blocks", &proxy->side, 8, 1024, true, "blocks along the plane, a power of two" },
        { "clouds", &proxy->clouds, 1, 128, true, "clouds along it, a power of two" },
        { "steps", &proxy->steps, 1, MOST_STEPS, true, "steps of time" },
        { "no-balance", &proxy->off, 1, 0, false, "blocks stay as first distributed" },
        { "model", &proxy->model, 1, 0, false, "charge work by --unit-ns (simulated)" },
        { "unit-ns", &proxy->unit_ns, 0.001, 1e9, false, "time of a unit of work, with --model" },
    };
    const int options = sizeof table / sizeof *table;
    if (count > 1 && strcmp(words[1], "--help") == 0) {
        if (proxy->rank == 0)
            words_usage(table, options, NULL);
        snprintf(why, (size_t)bytes, " ");
        return;
    }
    words_read(count, words, table, options, NULL, why, bytes);
}

static int power_of_two(double number)
{
    return ((int)number & ((int)number - 1)) == 0;
}

static void check(const Proxy *proxy, char *why, int bytes)
{
    int grid[2] = { 0, 0 };
    MPI_Dims_create(proxy->ranks, 2, grid);
    if (!power_of_two(proxy->side) || !power_of_two(proxy->clouds))
        snprintf(why, (size_t)bytes, "--blocks and --clouds are powers of two");
    else if (proxy->clouds * 8 > proxy->side)
        snprintf(why, (size_t)bytes, "--clouds %.0f need --blocks %.0f or more: 8 for each",
                 proxy->clouds, proxy->clouds * 8);
    else if (grid[0] > proxy->side)
        snprintf(why, (size_t)bytes, "%d ranks are %d by %d, more than the %.0f --blocks along",
                 proxy->ranks, grid[0], grid[1], proxy->side);
    else if (proxy->model && !machine_simulated())
        snprintf(why, (size_t)bytes, "--model is for simulated machines");
}

static int begin(Proxy *proxy)
{
    int steps = (int)proxy->steps, side = (int)proxy->side;
    proxy->units = calloc((size_t)steps, sizeof *proxy->units);
    int mine = proxy->units != NULL, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, proxy->comm);
    return all && dynamics_open(&proxy->dynamics, proxy->comm, side, (int)proxy->clouds, steps) &&
           clouds_open(&proxy->micro, &proxy->dynamics) &&
           partitioner_open(&proxy->partitioner, proxy->comm, side * side);
}

static void live(Proxy *proxy)
{
    const char *trace = getenv("TIDINGS_PROXY_CUTS");
    if (trace && proxy->rank == 0 && !(proxy->partitioner.trace = fopen(trace, "w")))
        perror(trace);
    MPI_Barrier(proxy->comm);
    double began_s = MPI_Wtime();
    for (int number = 0; number < (int)proxy->steps; number++)
        step(proxy, number);
    report(proxy, MPI_Wtime() - began_s);
    if (proxy->partitioner.trace)
        fclose(proxy->partitioner.trace);
    partitioner_close(&proxy->partitioner);
}

int proxy_main(MPI_Comm comm, int count, char **words)
{
    Proxy proxy = { .side = 32, .clouds = 1, .steps = 30, .unit_ns = 10, .comm = comm };
    char why[200] = "";
    int status = 2;
    MPI_Comm_rank(comm, &proxy.rank);
    MPI_Comm_size(comm, &proxy.ranks);
    read_words(&proxy, count, words, why, sizeof why);
    if (strcmp(why, " ") == 0)
        return 0;
    if (!*why)
        check(&proxy, why, sizeof why);
    if (!*why) {
        if (begin(&proxy)) {
            live(&proxy);
            status = 0;
        } else {
            snprintf(why, sizeof why, "no memory for %.0f blocks a side", proxy.side);
        }
        dynamics_close(&proxy.dynamics);
        clouds_close(&proxy.micro);
        free(proxy.units);
    }
    if (*why && proxy.rank == 0)
        fprintf(stderr, "proxy: %s\n", why);
    return status;
}
