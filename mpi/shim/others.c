/*
 * See others.h.
 *
 * What went to others is what the processors of a node did less what the ranks there used, hidden
 * ones and children that have ended included: so it says nothing about what a rank does. Both are
 * read at one moment, at the end while all ranks of the node are still there.
 */
#include "others.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

/* No share is as much: the maximum over nodes says whether one is unknown. */
#define UNKNOWN 2.0

/* What the kernel has counted, in ticks: of all processors, and of the ranks of this node. */
typedef struct Look {
    double busy, stolen, all, own;
    bool known;
} Look;

/* The ranks of this node and whether they are hidden, in turn, if this rank looks for all. */
static int *ranks, rank_count;
static Look before;

/* Reads the line of all processors: user, nice, system, idle, iowait, irq, softirq, steal. */
static bool look_at_processors(Look *look)
{
    double user, nice, system, idle, waiting, irq, softirq;
    FILE *in = fopen("/proc/stat", "r");
    if (!in)
        return false;
    int read = fscanf(in, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle,
                      &waiting, &irq, &softirq, &look->stolen);
    fclose(in);
    look->busy = user + nice + system + irq + softirq;
    look->all = look->busy + idle + waiting + look->stolen;
    return read == 8;
}

/* Adds what a process used, and its children that have ended. */
static bool look_at_rank(int process, Look *look)
{
    char path[40], line[1024];
    double user, system, of_children[2];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *in = fopen(path, "r");
    if (!in)
        return false;
    /* The name in parentheses may have any. */
    const char *rest = fgets(line, sizeof line, in) ? strrchr(line, ')') : NULL;
    fclose(in);
    if (!rest || sscanf(rest, ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lf %lf %lf %lf",
                        &user, &system, &of_children[0], &of_children[1]) != 4)
        return false;
    look->own += user + system + of_children[0] + of_children[1];
    return true;
}

static Look look(void)
{
    Look now = { 0 };
    now.known = look_at_processors(&now);
    for (int at = 0; at < rank_count && now.known; at++)
        now.known = look_at_rank(ranks[2 * at], &now);
    return now;
}

void others_begin(bool hidden)
{
    MPI_Comm node;
    int rank, first = 0, mine[2] = { (int)getpid(), hidden };
    REAL(MPI_Comm_split_type)(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    REAL(MPI_Comm_rank)(node, &rank);
    REAL(MPI_Comm_size)(node, &rank_count);
    ranks = malloc(2 * (size_t)rank_count * sizeof *ranks);
    if (!ranks)
        REAL(MPI_Abort)(MPI_COMM_WORLD, 1);
    REAL(MPI_Allgather)(mine, 2, MPI_INT, ranks, 2, MPI_INT, node);
    REAL(MPI_Comm_free)(&node);
    while (first < rank_count && ranks[2 * first + 1])
        first++;
    if (rank == first) {
        before = look();
    } else {
        free(ranks);
        ranks = NULL;
    }
}

static double share_of(double part, double all)
{
    return part <= 0 ? 0 : part >= all ? 1 : part / all;
}

Others others_end(MPI_Comm application)
{
    double mine[2] = { 0, 0 }, most[2] = { UNKNOWN, UNKNOWN };
    if (ranks) {
        Look now = look();
        double all = now.all - before.all, busy = now.busy - before.busy;
        bool known = before.known && now.known && all > 0;
        mine[0] = known ? share_of(busy - (now.own - before.own), all) : UNKNOWN;
        mine[1] = known ? share_of(now.stolen - before.stolen, all) : UNKNOWN;
        free(ranks);
        ranks = NULL;
    }
    /* No rank ends before it was looked at. */
    REAL(MPI_Barrier)(application);
    REAL(MPI_Reduce)(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, application);
    return (Others){ .share = most[0], .stolen = most[1], .known = most[0] < UNKNOWN };
}
