/*
 * One-dimensional partitioning: a row of weights is cut into as many ranges as there are ranks, so
 * that the heaviest is as light as possible.
 *
 * The cut is exact (Nicol, 1994; Pinar and Aykanat, 2004): whether a bound suffices is found by
 * filling rank after rank up to it; the least sufficient bound is between the mean and the mean
 * plus the heaviest weight, and is searched for by halving. All is in whole numbers.
 *
 * Over ranks it has two levels, of groups of about sqrt(P) ranks: weights are gathered in each
 * group, the first ranks of the groups exchange them and cut, and the cuts are broadcast in each
 * group.
 */
#ifndef TIDINGS_MPI_PARTITION_H
#define TIDINGS_MPI_PARTITION_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

/* Cuts `count` weights: range i is starts[i] to starts[i+1]; some may be empty. Room for
 * count + 1 sums is at `sums`. Returns the weight of the heaviest range. */
uint64_t partition_exact(const uint32_t *weights, int count, int stretches, int *starts,
                         uint64_t *sums);

/* The communicators, and room for all weights on a group's first rank. */
typedef struct Partitioner {
    MPI_Comm group, firsts; /* firsts: null but on the first rank of a group */
    int rank, ranks, blocks, group_ranks; /* group_ranks: of a full group */
    uint32_t *weights;
    uint64_t *sums;
    int *counts, *offsets;
    FILE *trace; /* rank 0 writes each cut there, if it is open */
} Partitioner;

/* Collective. False on all ranks if one has no memory. */
int partitioner_open(Partitioner *partitioner, MPI_Comm comm, int blocks);
void partitioner_close(Partitioner *partitioner);

/* Cuts again: `mine` are the weights of this rank's range of `starts`, which is replaced. Returns
 * the seconds that the cutting alone would take, by its steps. Collective. */
double partitioner_cut(Partitioner *partitioner, const uint32_t *mine, int *starts);

#endif
