/* See partition.h. */
#include "partition.h"

#include <stdlib.h>

/* A step of the search for the end of a range is one memory access. */
#define STEP_S 5e-9

/* The last place from `begin` on at which the range from there weighs no more than the bound. */
static int stretch_end(const uint64_t *sums, int begin, int count, uint64_t bound)
{
    int least = begin, most = count;
    while (least < most) {
        int middle = least + (most - least + 1) / 2;
        if (sums[middle] - sums[begin] <= bound)
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}

static int will_do(const uint64_t *sums, int count, int stretches, uint64_t bound)
{
    int begin = 0;
    for (int at = 0; at < stretches && begin < count; at++)
        begin = stretch_end(sums, begin, count, bound);
    return begin == count;
}

uint64_t partition_exact(const uint32_t *weights, int count, int stretches, int *starts,
                         uint64_t *sums)
{
    uint64_t heaviest = 0;
    sums[0] = 0;
    for (int at = 0; at < count; at++) {
        sums[at + 1] = sums[at] + weights[at];
        if (weights[at] > heaviest)
            heaviest = weights[at];
    }
    uint64_t mean = (sums[count] + (uint64_t)stretches - 1) / (uint64_t)stretches;
    uint64_t least = mean > heaviest ? mean : heaviest, most = mean + heaviest;
    while (least < most) {
        uint64_t middle = least + (most - least) / 2;
        if (will_do(sums, count, stretches, middle))
            most = middle;
        else
            least = middle + 1;
    }
    starts[0] = 0;
    for (int at = 0; at < stretches; at++)
        starts[at + 1] = stretch_end(sums, starts[at], count, least);
    return least;
}

static int group_size(int ranks)
{
    int size = 1;
    while (size * size < ranks)
        size++;
    return size;
}

int partitioner_open(Partitioner *partitioner, MPI_Comm comm, int blocks)
{
    *partitioner = (Partitioner){ .blocks = blocks };
    MPI_Comm_rank(comm, &partitioner->rank);
    MPI_Comm_size(comm, &partitioner->ranks);
    partitioner->group_ranks = group_size(partitioner->ranks);
    int first = partitioner->rank % partitioner->group_ranks == 0, all;
    MPI_Comm_split(comm, partitioner->rank / partitioner->group_ranks, partitioner->rank,
                   &partitioner->group);
    MPI_Comm_split(comm, first ? 0 : MPI_UNDEFINED, partitioner->rank, &partitioner->firsts);
    size_t room = first ? (size_t)blocks : 0;
    partitioner->weights = malloc((room + 1) * sizeof *partitioner->weights);
    partitioner->sums = malloc((room + 1) * sizeof *partitioner->sums);
    partitioner->counts = malloc((size_t)partitioner->ranks * sizeof(int));
    partitioner->offsets = malloc((size_t)partitioner->ranks * sizeof(int));
    int mine = partitioner->weights && partitioner->sums && partitioner->counts &&
               partitioner->offsets;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

void partitioner_close(Partitioner *partitioner)
{
    free(partitioner->weights);
    free(partitioner->sums);
    free(partitioner->counts);
    free(partitioner->offsets);
    MPI_Comm_free(&partitioner->group);
    if (partitioner->firsts != MPI_COMM_NULL)
        MPI_Comm_free(&partitioner->firsts);
}

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* Gathers the group's weights on its first rank, at their index among all. */
static void gather_group(Partitioner *partitioner, const uint32_t *mine, const int *starts)
{
    int begin = partitioner->rank / partitioner->group_ranks * partitioner->group_ranks;
    int end = least_of(begin + partitioner->group_ranks, partitioner->ranks);
    for (int at = begin; at < end; at++) {
        partitioner->counts[at - begin] = starts[at + 1] - starts[at];
        partitioner->offsets[at - begin] = starts[at];
    }
    int own = starts[partitioner->rank + 1] - starts[partitioner->rank];
    MPI_Gatherv(mine, own, MPI_UINT32_T, partitioner->weights, partitioner->counts,
                partitioner->offsets, MPI_UINT32_T, 0, partitioner->group);
}

/* The first ranks exchange the weights of their groups. */
static void gather_firsts(Partitioner *partitioner, const int *starts)
{
    int groups;
    MPI_Comm_size(partitioner->firsts, &groups);
    for (int group = 0; group < groups; group++) {
        int begin = group * partitioner->group_ranks;
        int end = least_of(begin + partitioner->group_ranks, partitioner->ranks);
        partitioner->counts[group] = starts[end] - starts[begin];
        partitioner->offsets[group] = starts[begin];
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, partitioner->weights, partitioner->counts,
                   partitioner->offsets, MPI_UINT32_T, partitioner->firsts);
}

static void write_numbers(FILE *out, const char *name, const void *numbers, int count, int wide)
{
    fprintf(out, "\"%s\":[", name);
    for (int at = 0; at < count; at++)
        fprintf(out, "%s%lld", at ? "," : "",
                wide ? (long long)((const int *)numbers)[at]
                     : (long long)((const uint32_t *)numbers)[at]);
    fprintf(out, "]");
}

static void write_cut(const Partitioner *partitioner, const int *starts)
{
    fprintf(partitioner->trace, "{");
    write_numbers(partitioner->trace, "weights", partitioner->weights, partitioner->blocks, 0);
    fprintf(partitioner->trace, ",");
    write_numbers(partitioner->trace, "starts", starts, partitioner->ranks + 1, 1);
    fprintf(partitioner->trace, "}\n");
}

double partitioner_cut(Partitioner *partitioner, const uint32_t *mine, int *starts)
{
    double steps = 0;
    gather_group(partitioner, mine, starts);
    if (partitioner->firsts != MPI_COMM_NULL) {
        gather_firsts(partitioner, starts);
        partition_exact(partitioner->weights, partitioner->blocks, partitioner->ranks, starts,
                        partitioner->sums);
        /* About 13 bounds are tried, and each range is halved log2(blocks), some 14, times. */
        steps = 13.0 * 14 * partitioner->ranks + partitioner->blocks;
        if (partitioner->trace)
            write_cut(partitioner, starts);
    }
    MPI_Bcast(starts, partitioner->ranks + 1, MPI_INT, 0, partitioner->group);
    return steps * STEP_S;
}
