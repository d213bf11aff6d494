/*
 * mafia: subspace clustering of points with planted clusters, timed kernel by kernel. Table 4 of
 * Shudler et al., ICS 2015: growth in k, the dimensions of a cluster.
 *
 * With --file the time and the steps of each kernel are appended for tidings-scaling; what was
 * planted and found is printed as JSON. Exit status: 0 if what was found is what was planted, 1 if
 * not, or a file cannot be written, 2 for a wrong command line.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../mpi/machine/long_options.h"
#include "kernels.h"
#include "room.h"
#include "tidings_scaling.h"

static const char USAGE[] =
    "usage: mafia [OPTIONS]\n\n"
    "  --cluster-dimensions K   2 to 20 (default 5)\n"
    "  --points N               1000 to 10000000 (default 100000)\n"
    "  --dimensions D           of the space, K to 64 (default 20)\n"
    "  --clusters M             1 to 4 (default 3)\n"
    "  --seed S                 of all chance (default 1)\n"
    "  --file FILE              where measurements are appended (default: none)\n"
    "  --run NAME               the name of this run there (default: made of time and process)\n"
    "  --help                   this text\n";

enum { GEN, DEDUP, PCOUNT, UNJOIN, KERNELS };
static const char *const KERNEL_NAMES[KERNELS] = { "gen", "dedup", "pcount", "unjoin" };

typedef struct Study {
    long k, points, dimensions, clusters, seed;
    const char *file, *run;
    bool help;
    char wrong[160];
} Study;

/* What all calls of each kernel took. */
typedef struct Tally {
    double seconds[KERNELS];
    long long steps[KERNELS];
    long candidates; /* made, with repetitions */
    long matched, found;
} Tally;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool whole(const char *text, long least, long most, long *value)
{
    char *rest;
    *value = strtol(text, &rest, 10);
    return rest != text && *rest == 0 && *value >= least && *value <= most;
}

static bool option(void *into, int letter, const char *text)
{
    Study *study = into;
    switch (letter) {
    case 'k': return whole(text, 2, 20, &study->k);
    case 'n': return whole(text, 1000, 10000000, &study->points);
    case 'd': return whole(text, 2, MOST_DIMENSIONS, &study->dimensions);
    case 'm': return whole(text, 1, MOST_CLUSTERS, &study->clusters);
    case 's': return whole(text, 0, 1L << 62, &study->seed);
    case 'f': study->file = text; return *text != 0;
    case 'r': study->run = text; return *text != 0;
    default: study->help = true; return true;
    }
}

static Study study_read(int count, char **words)
{
    static const struct option NAMES[] = {
        { "cluster-dimensions", required_argument, NULL, 'k' },
        { "points", required_argument, NULL, 'n' },
        { "dimensions", required_argument, NULL, 'd' },
        { "clusters", required_argument, NULL, 'm' },
        { "seed", required_argument, NULL, 's' },
        { "file", required_argument, NULL, 'f' },
        { "run", required_argument, NULL, 'r' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    Study study = { .k = 5, .points = 100000, .dimensions = 20, .clusters = 3, .seed = 1 };
    long_options_read(count, words, NAMES, option, &study, study.wrong, sizeof study.wrong);
    if (!study.wrong[0] && study.k > study.dimensions)
        snprintf(study.wrong, sizeof study.wrong,
                 "clusters of %ld dimensions do not fit into a space of %ld", study.k,
                 study.dimensions);
    return study;
}

static bool same(const Cluster *a, const Cluster *b)
{
    if (a->dimensions != b->dimensions)
        return false;
    for (int at = 0; at < a->dimensions; at++)
        if (a->interval[at].dimension != b->interval[at].dimension ||
            a->interval[at].first_bin != b->interval[at].first_bin ||
            a->interval[at].bins != b->interval[at].bins)
            return false;
    return true;
}

static void print_cluster(const Cluster *cluster)
{
    const char *between = "{\"found\":[";
    for (int at = 0; at < cluster->dimensions; at++) {
        Interval box = cluster->interval[at];
        printf("%s[%d,%d,%d]", between, box.dimension, box.first_bin, box.bins);
        between = ",";
    }
    printf("]}\n");
}

/* Takes in the units that lie in no larger one: clusters, unless they have one dimension. */
static void report(const Units *units, const bool *absorbed, const Grid *grid,
                   const Points *points, Tally *tally)
{
    for (long at = 0; at < units->count; at++) {
        if (absorbed[at] || units->dimensions < 2)
            continue;
        Cluster cluster = { .dimensions = units->dimensions };
        for (int i = 0; i < units->dimensions; i++) {
            const Window *window = &grid->window[units->row[at * units->dimensions + i]];
            cluster.interval[i] = (Interval){ window->dimension, window->first_bin, window->bins };
        }
        print_cluster(&cluster);
        tally->found++;
        for (int planted = 0; planted < points->clusters; planted++)
            tally->matched += same(&cluster, &points->planted[planted]);
    }
}

static Units dense_windows(const Grid *grid)
{
    Units units = { .dimensions = 1, .count = grid->count };
    units.row = room_for((size_t)grid->count, sizeof *units.row);
    for (int at = 0; at < grid->count; at++)
        units.row[at] = (uint16_t)at;
    return units;
}

/* Adds what passed since `began_s` to a kernel; returns the time now. */
static double charge(Tally *tally, int kernel, double began_s)
{
    double ended_s = now_s();
    tally->seconds[kernel] += ended_s - began_s;
    return ended_s;
}

/* One dimension more: returns the dense units, and reports those of before that are clusters. */
static Units climb(const Units *units, const Grid *grid, const Points *points, Tally *tally)
{
    double at_s = now_s();
    Units larger = mafia_gen(units, grid, &tally->steps[GEN]);
    tally->candidates += larger.count;
    at_s = charge(tally, GEN, at_s);
    mafia_dedup(&larger, &tally->steps[DEDUP]);
    at_s = charge(tally, DEDUP, at_s);
    mafia_pcount(&larger, grid, &tally->steps[PCOUNT]);
    at_s = charge(tally, PCOUNT, at_s);
    bool *absorbed = room_for((size_t)units->count, sizeof *absorbed);
    mafia_unjoin(units, &larger, absorbed, &tally->steps[UNJOIN]);
    charge(tally, UNJOIN, at_s);
    report(units, absorbed, grid, points, tally);
    free(absorbed);
    return larger;
}

static Tally cluster(const Points *points)
{
    Tally tally = { 0 };
    Grid grid = grid_make(points);
    Units units = dense_windows(&grid);
    while (units.count > 0) {
        Units larger = climb(&units, &grid, points, &tally);
        free(units.row);
        units = larger;
    }
    free(units.row);
    grid_free(&grid);
    return tally;
}

/* Appends each kernel's time and steps. */
static bool write_tally(const Study *study, const Tally *tally)
{
    if (!tidings_scaling_open(study->file, "k", study->run))
        return false;
    for (int kernel = 0; kernel < KERNELS; kernel++) {
        double size = (double)study->k, steps = (double)tally->steps[kernel];
        tidings_scaling_value(KERNEL_NAMES[kernel], "time", size, tally->seconds[kernel], "s");
        tidings_scaling_value(KERNEL_NAMES[kernel], "steps", size, steps, "");
    }
    return tidings_scaling_close();
}

static int run(const Study *study)
{
    Points points = points_make(study->points, (int)study->dimensions, (int)study->clusters,
                                (int)study->k, (uint64_t)study->seed);
    Tally tally = cluster(&points);
    points_free(&points);
    printf("{\"k\":%ld,\"planted\":%ld,\"found\":%ld,\"matched\":%ld,\"candidates\":%ld", study->k,
           study->clusters, tally.found, tally.matched, tally.candidates);
    for (int kernel = 0; kernel < KERNELS; kernel++)
        printf(",\"%s\":%lld", KERNEL_NAMES[kernel], tally.steps[kernel]);
    printf("}\n");
    if (study->file && !write_tally(study, &tally)) {
        fprintf(stderr, "mafia: %s\n", tidings_scaling_fault());
        return 1;
    }
    return tally.matched == study->clusters && tally.found == study->clusters ? 0 : 1;
}

int main(int count, char **words)
{
    Study study = study_read(count, words);
    if (study.wrong[0]) {
        fprintf(stderr, "mafia: %s; see --help\n", study.wrong);
        return 2;
    }
    if (study.help) {
        fputs(USAGE, stdout);
        return 0;
    }
    return run(&study);
}
