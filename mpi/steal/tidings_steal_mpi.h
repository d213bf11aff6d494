/*
 * tidings_steal_mpi.h: phases of an MPI program in which its ranks share tasks by stealing.
 *
 *     static void visit(TidingsStealTasks *tasks, void *user)    a function of tasks
 *     {
 *         const struct Node *node = tidings_steal_state(tasks, NULL);
 *         ... for each child: tidings_steal_spawn(tasks, visiting, 0, &child, sizeof child);
 *     }
 *
 *     tidings_steal_open(MPI_COMM_WORLD, NULL, &steal, &error);
 *     tidings_steal_function(steal, visit, &total, &visiting);
 *     tidings_steal_add(steal, visiting, 0, &root, sizeof root);         (each rank its own tasks)
 *     tidings_steal_phase(steal, "search", &phase, &error);              all run; all return
 *     tidings_steal_close(steal);
 *
 * A phase is a collective call. It begins with the tasks that each rank has added and ends when
 * these and all that they spawn are done, wherever they ran: a task may run on any rank, so it
 * names what it needs (an index, a block of an array), and never holds a pointer. Functions are
 * registered by all ranks in the same order. A task adds to what its own rank has (`user`), to a
 * global array (tidings_steal_array.h), or spawns.
 *
 * What a task may do with its children:
 *   help first   tidings_steal_spawn: the child is queued, the task goes on.
 *   work first   tidings_steal_child_first: the task ends this step, its child runs next, and the
 *                rest of the task (the same function at another step) may be stolen.
 *   async-finish tidings_steal_finish_first: the rest runs when a task and all below it are done.
 * Tasks never wait inside: a depth of 100,000 takes no stack, and no lock is held across a wait
 * but one that a task itself keeps, which it must not.
 *
 * Deaths. A rank that dies ends the job, unless MPI has User-Level Failure Mitigation and the job
 * was started with it (Open MPI 5: mpirun --with-ft ulfm; add --mca async_mpi_finalize 1, without
 * which MPI_Finalize may wait for the dead): then the others end the phase with TIDINGS_STEAL_LOST,
 * and enter the next without it. What the dead had is missing; nothing is run again. A rank that is
 * stopped, or cut off, is noticed only with MPI's own detector (--mca mpi_ft_detector 1). One-sided
 * communication does not survive a death, so one ends the job while there is an array
 * (tidings_steal_array.h).
 *
 * Call all functions in the thread that calls MPI (MPI_THREAD_FUNNELED). No global state, no
 * signal handlers. Messages go over a duplicate of the communicator. A task that calls MPI_Abort
 * ends the job; one that leaves by a C++ exception or longjmp is not supported.
 *
 * Compile tidings_steal_mpi.c, errors.c, enter.c, tasks.c, board.c, mail.c, coming.c, bell.c,
 * shelf.c, places.c and deaths.c (and tidings_steal_array.c and tidings_steal_trace.c) with the
 * program and its mpicc, and link libtidings_steal_c.a, -lpthread, -ldl and -lm.
 */
#ifndef TIDINGS_STEAL_MPI_H
#define TIDINGS_STEAL_MPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidings_steal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What goes wrong beside what tidings_steal.h has. */
enum {
    TIDINGS_STEAL_MEMORY = 100,    /* no memory is left */
    TIDINGS_STEAL_MPI = 101,       /* MPI has refused something */
    TIDINGS_STEAL_ALONE = 102,     /* some ranks have not entered; the job cannot go on */
    TIDINGS_STEAL_DIFFERENT = 103, /* ranks have entered different phases, or other functions */
    TIDINGS_STEAL_FUNCTION = 104,  /* a task names a function that is not registered */
    TIDINGS_STEAL_FUNCTIONS = 105, /* functions come before the first phase, 1,024 at most */
    TIDINGS_STEAL_ENDED = 106,     /* an earlier phase has failed: nothing more can be done */
    TIDINGS_STEAL_FILE = 107,      /* a file cannot be written or read */
    TIDINGS_STEAL_LOST = 108,      /* ranks have died; the rest has run, and phases can follow */
    TIDINGS_STEAL_EXPELLED = 109,  /* the others consider this rank dead */
    TIDINGS_STEAL_DIVERGED = 110,  /* a phase that runs again is another; the job cannot go on */
    TIDINGS_STEAL_UNTRACED = 111   /* of one-sided steals there is no trace */
};

/* Why a call has failed, in words: what, where, and what to do. */
typedef struct TidingsStealError {
    char text[256];
} TidingsStealError;

/* The ranks of a communicator as workers. */
typedef struct TidingsSteal TidingsSteal;

/* The task that runs. */
typedef struct TidingsStealTasks TidingsStealTasks;

/* A function of tasks. `user` is what was registered with it on this rank. */
typedef void (*TidingsStealBody)(TidingsStealTasks *tasks, void *user);

/* How ranks share tasks; the same on all. All 0 is what is usual. Looks for messages then take a
 * 32nd of a busy rank's time, as measured when it is opened, and are at most 5 us from each other,
 * but for tasks that take longer.
 * With `one_sided` a rank lays half of its tasks in a window, up to 64 KiB, where a thief takes
 * them while the rank is in a task; it is sent a request only if nothing is there. It has no effect
 * with KNOWN, with `retain` or where deaths are survived, and there is no trace of such a phase. */
typedef struct TidingsStealOptions {
    uint32_t selection;     /* of victims: a TidingsStealSelection */
    uint32_t half;          /* that a thief gets: a TidingsStealHalf */
    bool retain;            /* begin with what each rank ran in the phase of this name before */
    bool one_sided;         /* thieves take tasks from windows, as far as there are some there */
    uint32_t slot_bytes;    /* the most bytes of a task, up to 4,096; 0: 256 */
    uint32_t round_trip_us; /* of a message and its answer; 0: 10 */
    uint32_t poll_us;       /* between two looks for messages while tasks run; 0: see below */
    uint32_t enter_ms;      /* until ranks that do not enter a phase are an error; 0: 60,000 */
    uint32_t unit_us;       /* of the ranks' gossip, for KNOWN; 0: 10,000 */
    uint64_t seed;          /* of random draws */
} TidingsStealOptions;

/* What a phase did on this rank. */
typedef struct TidingsStealPhase {
    uint32_t seeding;              /* with what it began: a TidingsStealSeeding */
    double seconds;                /* from entering to returning */
    double work_seconds;           /* in tasks */
    double waiting_seconds;        /* for answers of ranks that were asked for tasks */
    double stealing_seconds;       /* of these, for those that brought tasks */
    double enter_seconds;          /* until all had entered */
    uint64_t messages;             /* that this rank sent */
    uint64_t bytes;                /* of them */
    uint32_t deaths;               /* of ranks, since it was opened */
    uint64_t lost_tasks;           /* the most that the dead had been sent and did not run */
    uint64_t lost_finishes;        /* whose rest did not run, for what they waited is missing */
    TidingsStealCounters counters; /* of this phase */
} TidingsStealPhase;

/* Opens a duplicate of `comm`. Collective; if one rank fails, all do. `options` may be null. */
int tidings_steal_open(MPI_Comm comm, const TidingsStealOptions *options, TidingsSteal **steal,
                       TidingsStealError *error);

/* Ends it. Collective; null is allowed. */
void tidings_steal_close(TidingsSteal *steal);

/* Whether phases go on when a rank dies; the same on all ranks. */
bool tidings_steal_survives(const TidingsSteal *steal);

/* Makes a communicator of the ranks that live, for what the program itself has to say after a
 * death. Collective among them; free it with MPI_Comm_free. */
int tidings_steal_living(TidingsSteal *steal, MPI_Comm *living);

/* Registers a function before the first phase, and writes its number, which is the same on all
 * ranks that register in the same order. */
int tidings_steal_function(TidingsSteal *steal, TidingsStealBody body, void *user,
                           uint16_t *function);

/* Adds a task, whose bytes are copied, to those with which this rank begins the next phase. It is
 * predicted to run for `work_ns` nanoseconds, 0 if nobody knows. */
int tidings_steal_add(TidingsSteal *steal, uint16_t function, uint64_t work_ns, const void *state,
                      size_t bytes);

/* Enters a phase and returns when nothing is left of it on any rank. Collective. `phase` may be
 * null. `name` has at most 255 bytes. After TIDINGS_STEAL_ALONE call MPI_Abort. */
int tidings_steal_phase(TidingsSteal *steal, const char *name, TidingsStealPhase *phase,
                        TidingsStealError *error);

/* The bytes of the task that runs, aligned as memory of malloc is; `bytes` may be null. */
const void *tidings_steal_state(const TidingsStealTasks *tasks, size_t *bytes);

/* What was registered on this rank with the function of the task that runs. */
void *tidings_steal_user(const TidingsStealTasks *tasks);

/* How long the task that runs is predicted to take, in nanoseconds: what was said when it was
 * spawned or added, or what it took in the iteration before; 0 if nobody knows. */
uint64_t tidings_steal_predicted_ns(const TidingsStealTasks *tasks);

/* Where in its function the task is; 0 at its beginning. */
uint32_t tidings_steal_step(const TidingsStealTasks *tasks);

/* Help first: spawns a task, whose bytes are copied, and goes on. */
int tidings_steal_spawn(TidingsStealTasks *tasks, uint16_t function, uint64_t work_ns,
                        const void *state, size_t bytes);

/* Work first: ends this step. The child runs next, and what is left of this task, which goes on at
 * `step` with these bytes, can be stolen. The last thing that the function does. */
int tidings_steal_child_first(TidingsStealTasks *tasks, const TidingsStealTask *child,
                              uint32_t step, const void *state, size_t bytes);

/* Ends this step. `body` runs, and when it and all that it spawns are done, what is left of this
 * task, which goes on at `step` with these bytes. The last thing that the function does. */
int tidings_steal_finish_first(TidingsStealTasks *tasks, const TidingsStealTask *body,
                               uint32_t step, const void *state, size_t bytes);

/* Answers thieves, and takes in what others have; for tasks that run longer than thieves should
 * wait. */
void tidings_steal_progress(TidingsStealTasks *tasks);

/* What an error means, in a sentence that lives as long as the program. */
const char *tidings_steal_text(int status);

#ifdef __cplusplus
}
#endif

#endif
