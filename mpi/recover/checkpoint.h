/*
 * Checkpoints: all ranks write their blocks to files of a folder that all see, and a job that was
 * ended by a death is started again from the last one that is whole. Recovery is compared with it.
 *
 * Each rank writes a file of its own, forces it to disk and renames it; when all have, the first
 * names the checkpoint in the file `whole`, which it renames too. So `whole` names a checkpoint of
 * which each file was complete; that before goes only then. A file that is not what `whole` says,
 * by its length, its head or its hash, is refused by its name, and nothing is read.
 */
#ifndef TIDINGS_RECOVER_CHECKPOINT_H
#define TIDINGS_RECOVER_CHECKPOINT_H

#include <mpi.h>

#include "saved.h"

/* Where the elements of a block are, if this rank owns it; else null. */
typedef const uint64_t *(*CheckpointBlock)(void *user, uint32_t block);

/* A folder of checkpoints, and the last one there. */
typedef struct Checkpoint {
    const char *folder;
    MPI_Comm comm;
    uint64_t step; /* 0: none */
    uint32_t ranks;
} Checkpoint;

/* Reads the last whole checkpoint of an array of this shape into `saved`, at all ranks. Collective.
 * False: it cannot be used, which `trouble` says; the same at all. */
bool checkpoint_read(Checkpoint *checkpoint, Saved *saved);

/* Writes a checkpoint after a step. Collective; false as above, and the last one is as it was. */
bool checkpoint_write(Checkpoint *checkpoint, Saved *saved, CheckpointBlock block, void *user);

#endif
