/*
 * tidings-mpi-memory: the memory that communicators and windows of an MPI take on each of this many
 * ranks, and MPI itself, appended to a file for tidings-scaling. Table 3 of Shudler et al., ICS
 * 2015.
 *
 * Objects: heap bytes in use after an object was made, less those before, by the counting library
 * (python/tidings/scaling/native), which is linked and wraps malloc and free; the first of each
 * kind are not counted, since they bring what all of them share. MPI itself: the proportional set
 * size (PSS) after all collective operations were used and all objects freed, less that before
 * MPI_Init and less the buffers of this program. Each is the largest of all ranks.
 *
 * Exit status: 0 when done, 1 if something could not be measured or written, 2 for a wrong command
 * line.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidings_counts.h"
#include "tidings_scaling.h"

#define USAGE "usage: mpirun -n RANKS tidings-mpi-memory FILE [RUN]\n"

/* Objects of a kind that are made first, those that are measured, and the words of a message. */
#define FIRST 4
#define OBJECTS 5
#define WORDS 16

typedef union Object {
    MPI_Comm comm;
    MPI_Win window;
} Object;

typedef struct World {
    int rank, ranks;
    MPI_Group group;
    double exposed[WORDS]; /* what windows expose */
} World;

/* A kind of object: how it is made and freed. */
typedef struct Kind {
    const char *name;
    void (*make)(World *, Object *);
    void (*release)(Object *);
} Kind;

static void create(World *world, Object *object)
{
    MPI_Comm_create(MPI_COMM_WORLD, world->group, &object->comm);
}

static void duplicate(World *world, Object *object)
{
    (void)world;
    MPI_Comm_dup(MPI_COMM_WORLD, &object->comm);
}

static void arrange(World *world, Object *object)
{
    int shape[2] = { 0, 0 }, rings[2] = { 1, 1 };
    MPI_Dims_create(world->ranks, 2, shape);
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape, rings, 0, &object->comm);
}

static void expose(World *world, Object *object)
{
    MPI_Win_create(world->exposed, sizeof world->exposed, sizeof(double), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &object->window);
}

static void release_comm(Object *object)
{
    MPI_Comm_free(&object->comm);
}

static void release_window(Object *object)
{
    MPI_Win_free(&object->window);
}

static const Kind KINDS[] = {
    { "comm_create", create, release_comm },
    { "comm_dup", duplicate, release_comm },
    { "win_create", expose, release_window },
    { "cart_create", arrange, release_comm },
};
#define KIND_COUNT ((int)(sizeof KINDS / sizeof *KINDS))

/* This process's proportional set size in bytes; 0 if the system does not report it. */
static long long pss_bytes(void)
{
    char line[256];
    long long kilobytes = 0;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    if (!rollup)
        return 0;
    while (fgets(line, sizeof line, rollup))
        if (sscanf(line, "Pss: %lld kB", &kilobytes) == 1)
            break;
    fclose(rollup);
    return kilobytes * 1024;
}

/* Writes the largest value of all ranks; false if there is none above 0. */
static bool write_largest(const World *world, const char *function, long long bytes)
{
    long long largest;
    MPI_Allreduce(&bytes, &largest, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (world->rank == 0 && largest > 0)
        tidings_scaling_value(function, "memory", world->ranks, (double)largest, "B");
    if (world->rank == 0 && largest <= 0)
        fprintf(stderr, "tidings-mpi-memory: %s took %lld bytes: nothing to write\n", function,
                largest);
    return largest > 0;
}

static bool measure(World *world, const Kind *kind)
{
    Object object[FIRST + OBJECTS];
    bool complete = true;
    for (int at = 0; at < FIRST + OBJECTS; at++) {
        MPI_Barrier(MPI_COMM_WORLD);
        tidings_counts_reset();
        tidings_counts_begin();
        kind->make(world, &object[at]);
        tidings_counts_end();
        if (at >= FIRST)
            complete = write_largest(world, kind->name, tidings_counts_so_far().held_bytes) &&
                       complete;
    }
    for (int at = 0; at < FIRST + OBJECTS; at++)
        kind->release(&object[at]);
    return complete;
}

/* Uses every collective operation of the study, so that MPI has what it needs for them. */
static void use_all(double *mine, double *each)
{
    for (int time = 0; time < 10; time++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(mine, WORDS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Reduce(mine, each, WORDS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Allreduce(mine, each, WORDS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Gather(mine, WORDS, MPI_DOUBLE, each, WORDS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Allgather(mine, WORDS, MPI_DOUBLE, each, WORDS, MPI_DOUBLE, MPI_COMM_WORLD);
        MPI_Alltoall(mine, WORDS / 16, MPI_DOUBLE, each, WORDS / 16, MPI_DOUBLE, MPI_COMM_WORLD);
    }
}

static bool study(World *world, long long pss_before)
{
    size_t words = (size_t)WORDS * (size_t)world->ranks;
    double *mine = calloc(words, sizeof *mine), *each = calloc(words, sizeof *each);
    bool complete = mine && each;
    if (!complete) {
        fprintf(stderr, "tidings-mpi-memory: no memory for %zu words\n", words);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world->group);
    use_all(mine, each);
    for (int at = 0; at < KIND_COUNT; at++)
        complete = measure(world, &KINDS[at]) && complete;
    MPI_Group_free(&world->group);
    free(mine);
    free(each);
    long long buffers = 2 * (long long)(words * sizeof *mine);
    long long pss_after = pss_bytes();
    if (pss_before > 0 && pss_after > 0)
        complete = write_largest(world, "mpi", pss_after - pss_before - buffers) && complete;
    return complete;
}

int main(int count, char **words)
{
    long long pss_before = pss_bytes();
    World world = { 0 };
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
    int usable = count == 2 || count == 3;
    if (!usable) {
        if (world.rank == 0)
            fputs(USAGE, stderr);
        MPI_Finalize();
        return 2;
    }
    if (world.rank == 0)
        usable = tidings_scaling_open(words[1], "p", count == 3 ? words[2] : NULL);
    MPI_Bcast(&usable, 1, MPI_INT, 0, MPI_COMM_WORLD);
    usable = usable && study(&world, pss_before);
    if (world.rank == 0 && !tidings_scaling_close()) {
        fprintf(stderr, "tidings-mpi-memory: %s\n", tidings_scaling_fault());
        usable = 0;
    }
    MPI_Bcast(&usable, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return usable ? 0 : 1;
}
