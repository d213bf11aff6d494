/*
 * A witness: which tasks have begun and ended, and when the first began again, in a file that all
 * ranks of a host map. What a rank has noted stays when it is killed, so it tells what no rank can
 * know; studies/recovery/ranks.py reads it. It is of use on one host alone.
 *
 * The file is the head below and, for each task of each phase, how often it has begun and ended. A
 * later job with the same tasks goes on with the file. Times are of the clock CLOCK_MONOTONIC.
 */
#ifndef TIDINGS_RECOVER_WITNESS_H
#define TIDINGS_RECOVER_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

/* Ranks whose processes are noted. */
#define WITNESS_RANKS 64

typedef struct WitnessHead {
    uint64_t magic;             /* WITNESS_MAGIC */
    uint64_t tasks;             /* of all phases */
    _Atomic uint64_t begun;     /* calls of tasks */
    _Atomic uint64_t killed;    /* ranks that killed themselves */
    _Atomic uint64_t killed_ns; /* when the first did */
    _Atomic uint64_t again_ns;  /* when a task began that was started again, the first */
    _Atomic uint64_t twice_ns;  /* when a task began that had begun before, the first */
    _Atomic uint64_t left;      /* ranks that have left the last phase */
    _Atomic int64_t pids[WITNESS_RANKS]; /* of the processes */
} WitnessHead;

typedef struct WitnessTask {
    _Atomic uint32_t begun, ended;
} WitnessTask;

typedef struct Witness {
    WitnessHead *head; /* null: nothing is noted */
    WitnessTask *tasks;
} Witness;

#define WITNESS_MAGIC 0x315353454e544957u /* "WITNESS1" */

/* Opens or makes the file for so many tasks. False if it cannot be, or is of other tasks. */
bool witness_open(Witness *witness, const char *path, uint64_t tasks, int rank);

/* A task begins, and whether its library says that it was started again. */
void witness_begins(const Witness *witness, uint64_t task, bool is_again);

/* A task has ended. */
void witness_ended(const Witness *witness, uint64_t task);

/* The rank is about to kill itself. */
void witness_killed(const Witness *witness);

/* The rank has left the last phase. */
void witness_left(const Witness *witness);

#endif
