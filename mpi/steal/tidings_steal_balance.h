/*
 * tidings_steal_balance.h: tasks go where they should run before a phase begins, by what they took
 * in the last one of its name.
 *
 *     tidings_steal_balance(steal, "scf", &balanced, &error);
 *     tidings_steal_phase(steal, "scf", &phase, &error);
 *
 * For phases with `retain`, whose tasks take about as long each time: where stealing has not made
 * ranks equal, or moves many tasks, this moves only what exceeds the mean, up and down a tree of
 * ranks (Lifflander, Krishnamoorthy, Kale, HPDC 2012). The phase then steals what is left. What a
 * task spawns is not in what it took.
 *
 * Compile tidings_steal_balance.c with the files that tidings_steal_mpi.h names.
 */
#ifndef TIDINGS_STEAL_BALANCE_H
#define TIDINGS_STEAL_BALANCE_H

#include "tidings_steal_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a balancing has done, the same on all ranks but for the last two. */
typedef struct TidingsStealBalancing {
    uint64_t moved; /* tasks that went to another rank */
    double before, after; /* the largest sum of what tasks of a rank took, in those of the mean */
    double seconds; /* on this rank */
    uint64_t bytes; /* that this rank sent */
} TidingsStealBalancing;

/* Has tasks that ranks ran in the last phase of this name go to others, until what they took is
 * about equal. Nothing moves where a rank keeps nothing of it, as before the first one. Collective,
 * between phases; `balancing` may be null. Ranks opened with `retain`, and where deaths are not
 * survived. After TIDINGS_STEAL_ALONE call MPI_Abort; after another error what ranks kept of the
 * phase may be gone, and the next one begins with what it is given. */
int tidings_steal_balance(TidingsSteal *steal, const char *name, TidingsStealBalancing *balancing,
                          TidingsStealError *error);

#ifdef __cplusplus
}
#endif

#endif
