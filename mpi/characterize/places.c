/* See places.h. Rank 0 computes, so that names of a thousand nodes are in one memory only. */
#define _GNU_SOURCE
#include "places.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/machine.h"

#define NAME_BYTES 64

typedef struct Names {
    int ranks, nodes;
    char (*of_rank)[NAME_BYTES];
    const char **sorted; /* each once */
} Names;

static long number_at_end(const char *name)
{
    size_t at = strlen(name);
    while (at > 0 && isdigit((unsigned char)name[at - 1]))
        at--;
    return name[at] ? atol(name + at) : -1;
}

static int by_number(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    long first = number_at_end(a), second = number_at_end(b);
    return first != second ? (first > second) - (first < second) : strcmp(a, b);
}

/* Sorts the names of the nodes and leaves each once. */
static void sort_names(Names *names)
{
    names->sorted = room_for((size_t)names->ranks * sizeof *names->sorted);
    for (int at = 0; at < names->ranks; at++)
        names->sorted[at] = names->of_rank[at];
    qsort(names->sorted, (size_t)names->ranks, sizeof *names->sorted, by_number);
    for (int at = 0; at < names->ranks; at++)
        if (names->nodes == 0 || strcmp(names->sorted[names->nodes - 1], names->sorted[at]) != 0)
            names->sorted[names->nodes++] = names->sorted[at];
}

/* Compares with the file that says where ranks must be; a reason is left if one is elsewhere. */
static void compare_with_file(Places *places, const Names *names, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[NAME_BYTES * 2];
    int at = 0, elsewhere = 0;
    if (!file)
        snprintf(places->unfit, sizeof places->unfit, "%s cannot be read", path);
    while (file && at < places->ranks && fgets(line, sizeof line, file)) {
        line[strcspn(line, " \t\r\n")] = 0;
        if (strcmp(line, names->of_rank[at]) != 0 && elsewhere++ == 0)
            snprintf(places->unfit, sizeof places->unfit, "rank %d is on %s, but %.40s says %.60s",
                     at, names->of_rank[at], path, line);
        at++;
    }
    if (file && !places->unfit[0] && at < places->ranks)
        snprintf(places->unfit, sizeof places->unfit, "%.100s names %d ranks, but there are %d",
                 path, at, places->ranks);
    if (file)
        fclose(file);
}

static void row_of_places(const Places *places, const Names *names, const double *processor,
                          const Settings *settings, Rows *rows)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    double lengths[DIMENSIONS];
    double *node = room_for((size_t)places->ranks * sizeof *node);
    for (int at = 0; at < places->ranks; at++)
        node[at] = places->node[at];
    library[strcspn(library, "\n,")] = 0;
    row_begin(rows, "places");
    row_text(rows, "library", library);
    row_truth(rows, "simulated", machine_simulated());
    row_names(rows, "names", names->sorted, names->nodes);
    row_list(rows, "node_of", node, places->ranks);
    if (!machine_simulated())
        row_list(rows, "processor_of", processor, places->ranks);
    for (int axis = 0; axis < DIMENSIONS; axis++)
        lengths[axis] = settings->shape[axis];
    if (settings->shape[0] > 0)
        row_list(rows, settings->mesh ? "mesh" : "torus", lengths, DIMENSIONS);
    if (places->unfit[0])
        row_text(rows, "misplaced", places->unfit);
    row_end(rows);
    free(node);
}

/* Gathers names and processors on rank 0, which numbers the nodes. */
static void ask(Places *places, const Settings *settings, MPI_Comm world, Rows *rows)
{
    char own[MPI_MAX_PROCESSOR_NAME] = "", cut[NAME_BYTES] = "";
    int rank, length;
    double processor = machine_simulated() ? -1 : sched_getcpu(), *processors = NULL;
    Names names = { .ranks = places->ranks };
    MPI_Comm_rank(world, &rank);
    MPI_Get_processor_name(own, &length);
    snprintf(cut, sizeof cut, "%.63s", own);
    if (rank == 0) {
        names.of_rank = room_for((size_t)places->ranks * NAME_BYTES);
        processors = room_for((size_t)places->ranks * sizeof *processors);
    }
    MPI_Gather(cut, NAME_BYTES, MPI_CHAR, names.of_rank, NAME_BYTES, MPI_CHAR, 0, world);
    MPI_Gather(&processor, 1, MPI_DOUBLE, processors, 1, MPI_DOUBLE, 0, world);
    if (rank == 0) {
        sort_names(&names);
        for (int at = 0; at < places->ranks; at++) {
            const char *name = names.of_rank[at];
            const char **found = bsearch(&name, names.sorted, (size_t)names.nodes,
                                         sizeof *names.sorted, by_number);
            places->node[at] = (int)(found - names.sorted);
        }
        places->nodes = names.nodes;
        if (settings->places)
            compare_with_file(places, &names, settings->places);
        row_of_places(places, &names, processors, settings, rows);
    }
    free(names.of_rank);
    free(names.sorted);
    free(processors);
}

/* Sets T of each rank, and whether all nodes have as many ranks. */
static void count_cores(Places *places)
{
    int *there = room_for((size_t)places->nodes * sizeof *there);
    for (int at = 0; at < places->ranks; at++)
        places->core[at] = there[places->node[at]]++;
    places->each = there[0];
    for (int at = 1; at < places->nodes; at++)
        if (there[at] != there[0])
            places->each = 0;
    free(there);
}

/* Sets the lengths of the torus or mesh; without one, nodes are a row. */
static void set_lengths(Places *places, const Settings *settings)
{
    const int *shape = settings->shape;
    places->mesh = settings->mesh;
    bool known = shape[0] > 0;
    int product = known ? shape[0] * shape[1] * shape[2] : 0;
    if (!known)
        snprintf(places->unknown, sizeof places->unknown,
                 "the network's shape is not known: say --torus X,Y,Z or --mesh X,Y,Z");
    else if (product != places->nodes)
        snprintf(places->unknown, sizeof places->unknown,
                 "--%s %d,%d,%d has %d nodes, but ranks are on %d", places->mesh ? "mesh" : "torus",
                 shape[0], shape[1], shape[2], product, places->nodes);
    bool torus = known && product == places->nodes;
    places->length[0] = torus ? shape[0] : places->nodes;
    places->length[1] = torus ? shape[1] : 1;
    places->length[2] = torus ? shape[2] : 1;
    places->length[3] = places->each;
    if (places->each == 0 && !places->unfit[0])
        snprintf(places->unfit, sizeof places->unfit, "nodes have different numbers of ranks");
    if (places->unfit[0])
        snprintf(places->unknown, sizeof places->unknown, "%s", places->unfit);
}

void places_find(Places *places, const Settings *settings, MPI_Comm world, Rows *rows)
{
    MPI_Comm_size(world, &places->ranks);
    places->node = room_for((size_t)places->ranks * sizeof *places->node);
    places->core = room_for((size_t)places->ranks * sizeof *places->core);
    ask(places, settings, world, rows);
    MPI_Bcast(&places->nodes, 1, MPI_INT, 0, world);
    MPI_Bcast(places->node, places->ranks, MPI_INT, 0, world);
    MPI_Bcast(places->unfit, sizeof places->unfit, MPI_CHAR, 0, world);
    count_cores(places);
    set_lengths(places, settings);
}

void places_free(Places *places)
{
    free(places->node);
    free(places->core);
    *places = (Places){ 0 };
}

void places_coordinates(const Places *places, int rank, int at[AXES])
{
    int node = places->node[rank];
    for (int axis = 0; axis < DIMENSIONS; axis++) {
        at[axis] = node % places->length[axis];
        node /= places->length[axis];
    }
    at[DIMENSIONS] = places->core[rank];
}

int places_rank(const Places *places, int node, int core)
{
    for (int at = 0; at < places->ranks; at++)
        if (places->node[at] == node && places->core[at] == core)
            return at;
    return -1;
}

int places_node(const Places *places, int x, int y, int z)
{
    const int *length = places->length;
    int at[DIMENSIONS] = { x, y, z };
    for (int axis = 0; axis < DIMENSIONS; axis++)
        at[axis] = (at[axis] % length[axis] + length[axis]) % length[axis];
    return at[0] + length[0] * (at[1] + length[1] * at[2]);
}
