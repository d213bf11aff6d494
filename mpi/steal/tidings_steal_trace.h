/*
 * tidings_steal_trace.h: the schedule of a phase as a file of some bytes a steal.
 *
 *     tidings_steal_phase(steal, "search", &phase, &error);
 *     tidings_steal_trace(steal, "search", "search.trace", &error);
 *
 * It is always noted. What was noted can be run again, in this job or another one of as many ranks:
 *
 *     tidings_steal_replay(steal, "search", "search.trace", &error);
 *     tidings_steal_phase(steal, "search", &phase, &error);
 *
 * Each rank then runs the same tasks in the same order, whatever ranks and messages take this time.
 * `python -m tidings.steals search.trace` says what is in it, draws the time
 * line of each rank, and writes it for Perfetto; tidings_steal::trace reads it in Rust.
 *
 * Compile tidings_steal_trace.c with the files that tidings_steal_mpi.h names.
 */
#ifndef TIDINGS_STEAL_TRACE_H
#define TIDINGS_STEAL_TRACE_H

#include "tidings_steal_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Has rank 0 write what all ranks did in the phase that has just ended, whose name this is, to the
 * file of this path. Collective, between phases; `path` counts on rank 0 alone. */
int tidings_steal_trace(TidingsSteal *steal, const char *name, const char *path,
                        TidingsStealError *error);

/* Has all ranks do in the next phase, whose name this is, what the file of this path says that they
 * did. They have to begin it with the same tasks and predictions: a phase that began with what was
 * retained cannot be run again. Collective, between phases; `path` counts on rank 0 alone. Where
 * the phase turns out to be another, it ends with TIDINGS_STEAL_DIVERGED on a rank, and others may
 * wait for that one: call MPI_Abort. */
int tidings_steal_replay(TidingsSteal *steal, const char *name, const char *path,
                         TidingsStealError *error);

#ifdef __cplusplus
}
#endif

#endif
