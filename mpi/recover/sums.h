/*
 * Sums over the ranks that live, without a communicator of them: the first collects from all and
 * tells them. A rank that dies within fails the sum at all, so that they begin again with those
 * that live then. Without failure mitigation a death ends the job as ever.
 */
#ifndef TIDINGS_RECOVER_SUMS_H
#define TIDINGS_RECOVER_SUMS_H

#include <mpi.h>
#include <stdbool.h>

enum { SUMS_COUNTS = 9 };

typedef struct Sums {
    unsigned long long counts[SUMS_COUNTS];
    double seconds, most_seconds; /* a sum, and the most of all */
} Sums;

/* Replaces what a rank has by the sums of all that live, who agree on who that is; how many they
 * are, 0 if one has died meanwhile. `comm` returns errors and is for sums alone. */
int sums_make(MPI_Comm comm, const bool *lives, Sums *sums);

/* Whether it is so at all ranks that live: all answer the same, also if one dies meanwhile. */
bool sums_agree(MPI_Comm comm, bool is_so);

/* The first rank that lives. */
int sums_first(const bool *lives);

#endif
