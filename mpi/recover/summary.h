/*
 * The durable summary of a phase: all blocks of the array, kept in a store of the durable layer
 * (tidings_tasks.h), so that a job that dies as a whole is started again at its last phase.
 *
 * The first rank that lives collects the blocks and writes them to keys of at most 16 KiB, in one
 * of two places in turn; then it writes the key that names the place, the step and the hash of all,
 * if nobody else has written that since it was read. So it names blocks that are there as a whole.
 * What does not fit its hash, or the array, is refused.
 */
#ifndef TIDINGS_RECOVER_SUMMARY_H
#define TIDINGS_RECOVER_SUMMARY_H

#include <mpi.h>

#include "checkpoint.h"
#include "saved.h"

/* Reads the summary that a store has of an array of this shape into `saved`, at all ranks.
 * Collective, before a rank dies. False: it cannot be used, which `trouble` of a rank says. */
bool summary_read(MPI_Comm comm, const char *store, Saved *saved);

typedef enum SummaryEnd { SUMMARY_KEPT, SUMMARY_AGAIN, SUMMARY_FAILED } SummaryEnd;

/* Keeps the blocks after a step. Collective of those that live. SUMMARY_AGAIN: some blocks were
 * with a rank that has died; have all learn of it and call it again, as when the first rank has
 * died meanwhile, since nobody knows how far it came. SUMMARY_FAILED: `trouble` of the first says
 * why. */
SummaryEnd summary_write(MPI_Comm comm, const bool *lives, const char *store, Saved *saved,
                   CheckpointBlock block, void *user);

/* Closes the store, if this rank has opened one. */
void summary_close(void);

#endif
