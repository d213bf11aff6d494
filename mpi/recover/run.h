/* What a run of tidings-mpi-recover is: its options, and where it is in its phases. */
#ifndef TIDINGS_RECOVER_RUN_H
#define TIDINGS_RECOVER_RUN_H

#include "../steal/kills.h"
#include "checkpoint.h"
#include "sums.h"
#include "tidings_recover_mpi.h"
#include "witness.h"

/* Schemes by their numbers, those of tidings_recovery.h and one more. */
enum { RUN_CHECKPOINT = 3, RUN_SCHEMES };
extern const char *const run_schemes[RUN_SCHEMES];

/* Tasks of all phases that a witness notes. */
#define WITNESS_TASKS (1L << 24)

/* What runs as a phase of the library. It stays as it is until the next but one begins, since the
 * library asks for the outputs of its tasks until the next begins. */
typedef struct Part {
    const struct Run *run;
    uint64_t first, next; /* tasks */
    bool is_restoring;    /* what was saved is added, block by block */
    bool is_bare;         /* its tasks add nothing */
} Part;

typedef struct Run {
    TidingsRecoverOptions options;
    uint32_t scheme;
    long tasks, task_us, blocks, words, phases;
    long parts; /* of a phase, between which there are checkpoints */
    Kill kill;
    bool is_alone, is_refusing, is_stray, is_fixed, is_paired;
    const char *witness_path, *store; /* null: none */
    Checkpoint checkpoint;
    Saved saved;
    Witness witness;
    long phase; /* from 1 on */
    Part part, planned[2];
    int plans;
    uint64_t work; /* of a task, in steps */
    TidingsRecover *recover;
    uint16_t sums;
    MPI_Comm comm; /* for sums */
    bool *lives;   /* each rank */
    int rank, ranks;
} Run;

/* Takes the words of a command; false, with the usage, if they are no run. */
bool arguments_read(Run *run, int count, char **words);

#endif
