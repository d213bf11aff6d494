/*
 * tidings_recover_mpi.h: phases of an MPI program whose ranks share tasks by stealing, and in which
 * ranks may die: what was lost is run again, and no more.
 *
 *     static size_t outputs(void *user, uint64_t task, TidingsRecoveryPlace *places)
 *     {
 *         places[0] = (TidingsRecoveryPlace){ sums, task % blocks };    what a task will add to
 *         return 1;
 *     }
 *
 *     static void body(TidingsRecoverTask *task, uint64_t number, void *user)
 *     {
 *         ... read what does not change in the phase, compute, and
 *         tidings_recover_add(task, sums, number % blocks, elements, words);
 *     }
 *
 *     tidings_recover_open(MPI_COMM_WORLD, NULL, &recover, &error);
 *     tidings_recover_array(recover, &array, &sums, &error);                    (on each rank)
 *     tidings_recover_phase(recover, "search", &plan, body, user, &phase, &error);
 *     tidings_recover_block(recover, sums, block, &elements, &words);           (its owner)
 *     tidings_recover_close(recover);
 *
 * A phase is a collective call of the ranks that live. Its tasks are numbered; each reads before,
 * and adds to blocks of arrays after, which it has declared; nothing else that it does counts. The
 * owner of a block applies each contribution once and keeps a copy of the block at another rank. If
 * ranks die, the others run what is missing and the phase returns 0 all the same, with all that was
 * declared in each block. If it cannot, since a block and its copy died and what it held before the
 * phase is nowhere, it returns TIDINGS_RECOVER_REFUSED and names the block: set the array to zero
 * and compute it again. Source: Ma and Krishnamoorthy, ICS 2012.
 *
 * It needs an MPI with User-Level Failure Mitigation, and a job that was started with it (Open MPI
 * 5: mpirun --with-ft ulfm --mca async_mpi_finalize 1). Otherwise recovery is off: it is said at
 * the start, on standard error of rank 0, and a death ends the job.
 *
 * Call all functions in the thread that calls MPI (MPI_THREAD_FUNNELED). No global state, no
 * signal handlers. Messages go over a duplicate of the communicator.
 *
 * Compile tidings_recover_mpi.c and, of mpi/steal, enter.c, mail.c, coming.c, bell.c and deaths.c
 * with the program and its mpicc, and link libtidings_recovery_c.a, -lpthread, -ldl and -lm.
 */
#ifndef TIDINGS_RECOVER_MPI_H
#define TIDINGS_RECOVER_MPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidings_recovery.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What goes wrong beside what tidings_recovery.h has. */
enum {
    TIDINGS_RECOVER_MEMORY = 100,    /* no memory is left */
    TIDINGS_RECOVER_MPI = 101,       /* MPI has refused something */
    TIDINGS_RECOVER_ALONE = 102,     /* some ranks have not entered; the job cannot go on */
    TIDINGS_RECOVER_DIFFERENT = 103, /* ranks have entered different phases */
    TIDINGS_RECOVER_ENDED = 106,     /* an earlier phase has failed: nothing more can be done */
    TIDINGS_RECOVER_REFUSED = 110    /* blocks are lost; the error names them */
};

/* Why a call has failed, in words: what, where, and what to do. */
typedef struct TidingsRecoverError {
    char text[512];
} TidingsRecoverError;

/* The ranks of a communicator as participants. */
typedef struct TidingsRecover TidingsRecover;

/* The task that runs. */
typedef struct TidingsRecoverTask TidingsRecoverTask;

/* What a task does. */
typedef void (*TidingsRecoverBody)(TidingsRecoverTask *task, uint64_t number, void *user);

/* How ranks share tasks and recover; the same on all. All 0 is what is usual. */
typedef struct TidingsRecoverOptions {
    uint32_t scheme;       /* a TidingsRecoveryScheme */
    bool lifelines;        /* thieves ask neighbours to send them tasks */
    bool is_quiet;         /* nothing is said if recovery is off */
    uint32_t most_pending; /* contributions of a rank on their way; 0: 64 */
    uint32_t poll_us;      /* between two looks for messages while tasks run; 0: 5 */
    uint32_t enter_ms;     /* until ranks that do not enter a phase are an error; 0: 60,000 */
    uint64_t seed;         /* of random draws */
} TidingsRecoverOptions;

/* What a phase did on this rank. */
typedef struct TidingsRecoverPhase {
    double seconds;                   /* from entering to returning */
    double work_seconds;              /* in tasks */
    uint32_t deaths;                  /* of ranks, as this one knows, since it was opened */
    TidingsRecoveryCounters counters; /* since it was opened */
} TidingsRecoverPhase;

/* Opens a duplicate of `comm`. Collective; if one rank fails, all do. `options` may be null. */
int tidings_recover_open(MPI_Comm comm, const TidingsRecoverOptions *options,
                         TidingsRecover **recover, TidingsRecoverError *error);

/* Ends it. Collective among those that live; null is allowed. */
void tidings_recover_close(TidingsRecover *recover);

/* Whether phases go on when a rank dies; the same on all ranks. */
bool tidings_recover_survives(const TidingsRecover *recover);

/* Makes an array of zeros, between phases, and writes its number. All ranks make the same arrays in
 * the same order. */
int tidings_recover_array(TidingsRecover *recover, const TidingsRecoveryArray *array,
                          uint16_t *number, TidingsRecoverError *error);

/* Sets an array to zero when the next phase begins. All ranks do so. */
int tidings_recover_zero(TidingsRecover *recover, uint16_t array);

/* Enters a phase and returns when each block has all that was declared. Collective. `plan`, and
 * what it names, stays as it is until the next phase, or the end. `phase` may be null; a name has
 * at most 255 bytes. After TIDINGS_RECOVER_ALONE call MPI_Abort. */
int tidings_recover_phase(TidingsRecover *recover, const char *name,
                          const TidingsRecoveryPlan *plan, TidingsRecoverBody body, void *user,
                          TidingsRecoverPhase *phase, TidingsRecoverError *error);

/* The task that runs adds these elements, which are copied, to a block that it has declared. Those
 * that are said for one block together are added together. */
void tidings_recover_add(TidingsRecoverTask *task, uint16_t array, uint32_t block,
                         const void *elements, size_t words);

/* Whether the task that runs was started again, after a death. */
bool tidings_recover_is_again(const TidingsRecoverTask *task);

/* Answers others; for tasks that run longer than they should wait. */
void tidings_recover_progress(TidingsRecoverTask *task);

/* After a phase: where the elements of a block are, until the next call, if this rank owns it; null
 * if it does not. TIDINGS_RECOVERY_STATUS_LOST if its owner has died since and left no copy. */
int tidings_recover_block(TidingsRecover *recover, uint16_t array, uint32_t block,
                          const void **elements, size_t *words);

/* Has all ranks that live know of the same deaths between phases, also of those since the last one,
 * whose blocks others own from then on; writes to `lives`, which has a place for each rank, who
 * lives. Collective among them. */
int tidings_recover_agree(TidingsRecover *recover, bool *lives);

/* Makes a communicator of the ranks that live. Collective among them; free it with MPI_Comm_free.
 * If a rank dies within, Open MPI 5.0.11 crashes: tidings_recover_agree makes none. */
int tidings_recover_living(TidingsRecover *recover, MPI_Comm *living);

/* What an error means, in a sentence that lives as long as the program. */
const char *tidings_recover_text(int status);

#ifdef __cplusplus
}
#endif

#endif
