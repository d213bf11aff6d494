#ifndef TIDINGS_STEAL_H
#define TIDINGS_STEAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Work stealing for C: a worker without input and output, whose program carries messages between
 * workers and runs tasks. For ranks of an MPI program mpi/steal does both. No threads, no global
 * state; a worker must not be used by two threads at a time. Link with libtidings_steal_c.a,
 * -lpthread, -ldl and -lm. Made by cbindgen from crates/steal-ffi: change it there.
 */


/* Workers directly below one: w · 8 + 1 to w · 8 + 8 are below w, as far as there are. */
#define TIDINGS_STEAL_ARITY 8

/*
 What a call answers. Only `TIDINGS_STEAL_STATUS_OK` is 0. Where it is another, nothing was done.
 */
typedef enum TidingsStealStatus {
    /* All went well. */
    TIDINGS_STEAL_STATUS_OK = 0,
    /* A pointer that must not be null is null. */
    TIDINGS_STEAL_STATUS_NULL = 1,
    /* There is no such worker, or a number of the configuration is out of its range. */
    TIDINGS_STEAL_STATUS_CONFIGURATION = 2,
    /* A task has more bytes than a slot holds. */
    TIDINGS_STEAL_STATUS_TOO_LARGE = 3,
    /* No task runs here: tasks are spawned within a task. */
    TIDINGS_STEAL_STATUS_OUTSIDE_TASK = 4,
    /* A phase is running. */
    TIDINGS_STEAL_STATUS_WITHIN_PHASE = 5,
    /* The others consider this worker dead. */
    TIDINGS_STEAL_STATUS_EXPELLED = 6,
    /* Bytes are no message of a worker, or a text is not UTF-8. */
    TIDINGS_STEAL_STATUS_MALFORMED = 7,
    /* A call went wrong inside, a fault of the library; this worker does nothing any more. */
    TIDINGS_STEAL_STATUS_BROKEN = 8,
    /*
     The worker does again what it did, and the task may neither spawn nor end before a message
     has come.
     */
    TIDINGS_STEAL_STATUS_WAITS = 9,
    /* Bytes are no whole trace. */
    TIDINGS_STEAL_STATUS_TORN = 10,
    /* A trace is of another program or phase. */
    TIDINGS_STEAL_STATUS_OTHER_TRACE = 11,
    /* A trace is of more workers, or of fewer. */
    TIDINGS_STEAL_STATUS_OTHER_WORKERS = 12,
    /* No balancing has begun at this worker, or it is not at this step. */
    TIDINGS_STEAL_STATUS_UNBALANCED = 13,
} TidingsStealStatus;

/* What an output says. */
typedef enum TidingsStealSays {
    /* There is nothing to do. */
    TIDINGS_STEAL_SAYS_NOTHING = 0,
    /* Send `bytes` bytes of `message` to worker `to`. */
    TIDINGS_STEAL_SAYS_SEND = 1,
    /* The phase has begun, with what `seeding` says. */
    TIDINGS_STEAL_SAYS_SEEDED = 2,
    /* The phase has ended: each task ran once. */
    TIDINGS_STEAL_SAYS_COMPLETE = 3,
    /*
     The phase has ended without what `lost_workers` workers had, of which `lost_sent` tasks came
     from others, and without what follows `lost_finishes` finishes.
     */
    TIDINGS_STEAL_SAYS_LOST = 4,
    /* The others consider this worker dead: it has to stop. */
    TIDINGS_STEAL_SAYS_EXPELLED = 5,
    /*
     After `step` steps the worker cannot do again what a trace says: the program, its input or
     its predictions are others. It has to stop, and others may wait for it.
     */
    TIDINGS_STEAL_SAYS_DIVERGED = 6,
} TidingsStealSays;

/* What a phase begins with, and why. */
typedef enum TidingsStealSeeding {
    /* What each worker ran in the phase of this name before. */
    TIDINGS_STEAL_SEEDING_RETAINED = 0,
    /* What each was given: retention was not asked for. */
    TIDINGS_STEAL_SEEDING_GIVEN = 1,
    /* What each was given: there was no phase of this name before. */
    TIDINGS_STEAL_SEEDING_FIRST = 2,
    /* What each was given: other workers took part then. */
    TIDINGS_STEAL_SEEDING_OTHER_WORKERS = 3,
    /* What each was given: there were more tasks then, or fewer. */
    TIDINGS_STEAL_SEEDING_OTHER_NUMBER = 4,
    /* What each was given: there were as many tasks then, but others. */
    TIDINGS_STEAL_SEEDING_OTHER_TASKS = 5,
} TidingsStealSeeding;

/* How victims are selected. */
typedef enum TidingsStealSelection {
    /* Any worker with the same probability, with pauses that grow. */
    TIDINGS_STEAL_SELECTION_RANDOM = 0,
    /* Some attempts at random, then neighbours in a hypercube send tasks when they have some. */
    TIDINGS_STEAL_SELECTION_LIFELINES = 1,
    /*
     Those that have most work, as the board says; without a board, or where its entries are too
     old, as lifelines.
     */
    TIDINGS_STEAL_SELECTION_KNOWN = 2,
    /*
     The nearest of some at random, of fewer after each refusal, as the board says how far they
     are, with pauses that grow; without a board by their numbers.
     */
    TIDINGS_STEAL_SELECTION_NEAREST = 3,
} TidingsStealSelection;

/* What a thief gets half of. */
typedef enum TidingsStealHalf {
    /* The predicted work. */
    TIDINGS_STEAL_HALF_WORK = 0,
    /* The number of tasks. */
    TIDINGS_STEAL_HALF_COUNT = 1,
} TidingsStealHalf;

/* A worker. Only pointers to it leave the library. */
typedef struct TidingsStealWorker TidingsStealWorker;

/*
 What a worker is told at its start. All but `me` is the same at all workers. Where it says so, 0
 stands for what is usual.
 */
typedef struct TidingsStealConfig {
    /* The number of this worker. */
    uint32_t me;
    /* How many there are, at least 1. */
    uint32_t workers;
    /* What random draws begin with. */
    uint64_t seed;
    /* How victims are selected: a `TidingsStealSelection`. */
    uint32_t selection;
    /* What a thief gets half of: a `TidingsStealHalf`. */
    uint32_t half;
    /* How long a request and its answer take, in microseconds, 1 to 1,000,000; 0: 10. */
    uint64_t round_trip_us;
    /* The most bytes of a task, up to 4,096; 0: 256. */
    uint32_t slot_bytes;
    /* Whether a phase begins with what each worker ran in the phase of the same name before. */
    bool retain;
} TidingsStealConfig;

/* A task, or what is left of one: a function, where in it, and the bytes that it goes on with. */
typedef struct TidingsStealTask {
    /* What runs: a number that all workers know. */
    uint16_t function;
    /* Where in it; 0 at its beginning. */
    uint32_t step;
    /* How long it is predicted to run, in nanoseconds; 0 if nobody knows. */
    uint64_t work_ns;
    /*
     Its bytes, null only if there are none. Those that a worker gives stay until the task ends.
     */
    const void *state;
    /* How many they are. */
    size_t bytes;
} TidingsStealTask;

/*
 What the program knows of others: functions that are asked for one at a time. Null where nothing
 is known.
 */
typedef struct TidingsStealBoard {
    /* Passed to the functions. */
    void *user;
    /*
     Writes how much work worker `worker` had, in nanoseconds (what
     `tidings_steal_worker_remaining_ns` said there), and how many microseconds ago; false if
     nothing is known of it.
     */
    bool (*entry)(void *user, uint32_t worker, uint64_t *work_ns, uint64_t *age_us);
    /* How far two workers are from each other, in any unit; null: as far as their numbers. */
    uint32_t (*distance)(void *user, uint32_t one, uint32_t other);
} TidingsStealBoard;

/* What a worker has its program do. What does not belong to what it says is 0. */
typedef struct TidingsStealOutput {
    /* What it says. */
    enum TidingsStealSays says;
    /* With what the phase begins. */
    enum TidingsStealSeeding seeding;
    /* To whom the message goes. */
    uint32_t to;
    /*
     Whether the message asks for tasks. Where the program has shelves, these may lie on that of
     worker `to`: then it does not send the message, and gives what lay there to
     `tidings_steal_worker_receive` as that worker's.
     */
    bool asks;
    /* The message, until the next call with this worker. */
    const uint8_t *message;
    /* Its bytes. */
    size_t bytes;
    /* Workers that have died since the program began. */
    uint32_t lost_workers;
    /* Tasks and ends of tasks that others sent to those; they may have run. */
    uint64_t lost_sent;
    /* Finishes that waited for what is missing. */
    uint64_t lost_finishes;
    /* Tasks that were taken, spawned and ended, counted together. */
    uint64_t step;
} TidingsStealOutput;

/* What a worker has done since it was made. */
typedef struct TidingsStealCounters {
    /* Tasks that it ran, each continuation counted. */
    uint64_t executed;
    /* Tasks that it spawned. */
    uint64_t spawned;
    /* Requests that it made as a thief. */
    uint64_t attempts;
    /* Those that brought tasks. */
    uint64_t steals;
    /* Those that did not. */
    uint64_t refused;
    /* Times that a neighbour sent it tasks. */
    uint64_t pushed;
    /* Tasks that came, by request or not. */
    uint64_t tasks_in;
    /* Times that it asked a neighbour to send tasks. */
    uint64_t lifelines;
} TidingsStealCounters;

/* What one worker did in one phase. */
typedef struct TidingsStealTrace {
    /* The hash of the tasks with which it began. */
    uint64_t tasks;
    /* The trace. */
    const uint8_t *trace;
    /* How many bytes it has. */
    size_t bytes;
} TidingsStealTrace;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* A sentence that says what a status means. It lives as long as the program. */
const char *tidings_steal_status_text(uint32_t status);

/*
 Makes a worker and writes it to `worker`; null if that cannot be.

 `config` and `worker` are null or valid.
 */
enum TidingsStealStatus tidings_steal_worker_new(const struct TidingsStealConfig *config,
                                                 struct TidingsStealWorker **worker);

/*
 Ends a worker and gives its memory back. Null is allowed.

 `worker` is null or from `tidings_steal_worker_new`, was not freed, and is in use by nobody.
 */
void tidings_steal_worker_free(struct TidingsStealWorker *worker);

/*
 Adds a task, whose bytes are copied, to those with which this worker begins the next phase.

 `task` is null or valid, and its `state` is null or has
 `bytes` bytes.
 */
enum TidingsStealStatus tidings_steal_worker_add(struct TidingsStealWorker *worker,
                                                 const struct TidingsStealTask *task);

/*
 Enters the next phase. All workers have to; `name` (`name_bytes` bytes of UTF-8) is the same at
 all. Phases of one name are iterations of one computation.

 `name` is null or has `name_bytes` bytes.
 */
enum TidingsStealStatus tidings_steal_worker_begin(struct TidingsStealWorker *worker,
                                                   const uint8_t *name,
                                                   size_t name_bytes,
                                                   uint64_t now_us);

/*
 Writes the task that is to run now to `task`; true if there is one. It runs until a
 `tidings_steal_worker_finished`, and its bytes stay so long. Call it after each input while no
 task runs, and when `tidings_steal_worker_deadline_us` has come; without a task, the worker does
 what an idle worker has to. `board` may be null.

 `task` is null or valid; `board` is null or valid, and its
 function may be called with its `user`, and does not use the worker.
 */
bool tidings_steal_worker_next(struct TidingsStealWorker *worker,
                               uint64_t now_us,
                               const struct TidingsStealBoard *board,
                               struct TidingsStealTask *task);

/* Help first: the task that runs spawns another, whose bytes are copied, and goes on. */
enum TidingsStealStatus tidings_steal_worker_spawn(struct TidingsStealWorker *worker,
                                                   const struct TidingsStealTask *task);

/* The task that ran is done, and took so long. */
enum TidingsStealStatus tidings_steal_worker_finished(struct TidingsStealWorker *worker,
                                                      uint64_t took_ns);

/*
 Work first: the step that ran took so long; its child runs next, and `rest`, what is left of the
 task, can be stolen.
 */
enum TidingsStealStatus tidings_steal_worker_child_first(struct TidingsStealWorker *worker,
                                                         const struct TidingsStealTask *child,
                                                         const struct TidingsStealTask *rest,
                                                         uint64_t took_ns);

/*
 The step that ran took so long; `body` runs, and `rest`, what is left of the task, when `body`
 and all that it spawns are done, wherever they run.
 */
enum TidingsStealStatus tidings_steal_worker_finish_first(struct TidingsStealWorker *worker,
                                                          const struct TidingsStealTask *body,
                                                          const struct TidingsStealTask *rest,
                                                          uint64_t took_ns);

/*
 Takes in a message of worker `from`. Bytes that are no message are refused.

 `message` is null or has `bytes` bytes.
 */
enum TidingsStealStatus tidings_steal_worker_receive(struct TidingsStealWorker *worker,
                                                     uint32_t from,
                                                     const uint8_t *message,
                                                     size_t bytes,
                                                     uint64_t now_us);

/* Worker `dead` has died: nothing comes from it any more. */
enum TidingsStealStatus tidings_steal_worker_died(struct TidingsStealWorker *worker,
                                                  uint32_t dead);

/* The board has changed. */
enum TidingsStealStatus tidings_steal_worker_news(struct TidingsStealWorker *worker);

/*
 Writes what is to be done next to `output`. Call it until it says `TIDINGS_STEAL_SAYS_NOTHING`
 after each other call.

 `output` is null or valid.
 */
enum TidingsStealStatus tidings_steal_worker_output(struct TidingsStealWorker *worker,
                                                    struct TidingsStealOutput *output);

/*
 When to call `tidings_steal_worker_next` although nothing has come, in microseconds of the
 program's clock; `UINT64_MAX` if a message has to come first.
 */
uint64_t tidings_steal_worker_deadline_us(struct TidingsStealWorker *worker);

/*
 How long this worker is still busy with what can be stolen, in nanoseconds: what a board says of
 it.
 */
uint64_t tidings_steal_worker_remaining_ns(struct TidingsStealWorker *worker);

/*
 What this worker has done since it was made.

 `counters` is null or valid.
 */
enum TidingsStealStatus tidings_steal_worker_counters(struct TidingsStealWorker *worker,
                                                      struct TidingsStealCounters *counters);

/*
 Takes half of the tasks out of the worker's queue for whoever comes first: writes where the
 message begins that has them, until the next call with this worker, and its bytes, `most_bytes`
 at most; 0 bytes if there is nothing to give. The program lays it where others can take it, once
 and as a whole; who has taken it gives it to `tidings_steal_worker_receive` as this worker's.
 Before the worker has nothing else the program clears that place, and if the message was still
 there, calls `tidings_steal_worker_take_back`. Not where workers die, nor for a trace.

 `message` and `bytes` are null or valid.
 */
enum TidingsStealStatus tidings_steal_worker_lay_out(struct TidingsStealWorker *worker,
                                                     size_t most_bytes,
                                                     const uint8_t **message,
                                                     size_t *bytes);

/*
 What this worker had laid out, of `bytes` bytes, was not taken: it is in its queue again.

 `message` is null or has `bytes` bytes.
 */
enum TidingsStealStatus tidings_steal_worker_take_back(struct TidingsStealWorker *worker,
                                                       const uint8_t *message,
                                                       size_t bytes);

/*
 Whose answer the worker waits for, having asked for tasks; `UINT32_MAX` if for nobody's. That
 worker may have laid some out since, and answer no message before its task has ended.
 */
uint32_t tidings_steal_worker_asked(struct TidingsStealWorker *worker);

/* Whether the worker is in a phase and has no task: now it takes back what it has laid out. */
bool tidings_steal_worker_is_idle(struct TidingsStealWorker *worker);

/*
 How long the tasks took that the worker ran in the last phase of a name (`name_bytes` bytes of
 UTF-8), in nanoseconds; `UINT64_MAX` if it keeps nothing of it.

 `name` is null or has `name_bytes` bytes.
 */
uint64_t tidings_steal_worker_kept_ns(struct TidingsStealWorker *worker,
                                      const uint8_t *name,
                                      size_t name_bytes);

/*
 Begins to balance, between two phases, what all workers ran in the last phase of a name: it took
 `average_ns` a worker. Until `tidings_steal_worker_balanced` the worker keeps nothing of it.

 `name` is null or has `name_bytes` bytes.
 */
enum TidingsStealStatus tidings_steal_worker_balance(struct TidingsStealWorker *worker,
                                                     const uint8_t *name,
                                                     size_t name_bytes,
                                                     double average_ns);

/*
 Takes in what worker `from`, above it or below it in the tree, has sent; worker 0 has itself
 above, which sends no bytes. Those below come first, in their order.

 `message` is null or has `bytes` bytes.
 */
enum TidingsStealStatus tidings_steal_worker_balance_take(struct TidingsStealWorker *worker,
                                                          uint32_t from,
                                                          const uint8_t *message,
                                                          size_t bytes);

/*
 Writes where the message begins that goes to worker `to`, until the next call, and its bytes: to
 that above when those below have sent theirs, and to those below when it has, in their order.

 `message` and `bytes` are null or valid.
 */
enum TidingsStealStatus tidings_steal_worker_balance_give(struct TidingsStealWorker *worker,
                                                          uint32_t to,
                                                          const uint8_t **message,
                                                          size_t *bytes);

/*
 Keeps what the worker has now, and writes how many of these tasks it had not had to `came`.

 `came` is null or valid.
 */
enum TidingsStealStatus tidings_steal_worker_balanced(struct TidingsStealWorker *worker,
                                                      uint64_t *came);

/*
 Writes what the worker did in the phase that it is in, or was in last, to `trace`. The bytes are
 the worker's, until the next call with it.

 `trace` is null or valid.
 */
enum TidingsStealStatus tidings_steal_worker_trace(struct TidingsStealWorker *worker,
                                                   struct TidingsStealTrace *trace);

/*
 Writes the file of the traces of all `workers`, in their order, to the `room` bytes at `file`,
 and returns how many bytes it has: nothing is written if they are more. 0 if something is null
 or no trace. `program` is the same for all files that may be compared.

 `traces` is null or has `workers` traces, each with its bytes, and `file` is null or has `room`
 bytes.
 */
size_t tidings_steal_traces_file(uint64_t program,
                                 const struct TidingsStealTrace *traces,
                                 uint32_t workers,
                                 uint8_t *file,
                                 size_t room);

/*
 Has the worker do in the next phase what it did in the phase of which `file` is the file of
 traces (`bytes` bytes), made for this `program`. All workers have to, and to begin with the same
 tasks; a task is held while `tidings_steal_worker_waits` says so. Nothing has changed if the
 file is refused.

 `file` is null or has `bytes` bytes.
 */
enum TidingsStealStatus tidings_steal_worker_replay(struct TidingsStealWorker *worker,
                                                    uint64_t program,
                                                    const uint8_t *file,
                                                    size_t bytes);

/*
 Whether the task that runs may neither spawn nor end before a message has come: only where the
 worker does again what it did.
 */
bool tidings_steal_worker_waits(struct TidingsStealWorker *worker);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDINGS_STEAL_H */
