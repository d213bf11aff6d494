#ifndef TIDINGS_STEAL_HOST_H
#define TIDINGS_STEAL_HOST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Processes of one host share the tasks of phases by stealing, over shared memory.
 *
 * One process makes a segment; as many as it was made for join it, wherever they were started. A
 * phase is entered by all, begins with what each has added, and returns when nothing is left of it
 * anywhere. A task is a function, by its number, and some bytes; it may run in any process, so it
 * holds no pointers. What it finds it adds to what its process has (`user`).
 *
 * Every function that can fail answers a TidingsHostStatus, and in words what is wrong where it is
 * given room for that: `error` may be null. Pointers are valid, unless more is said of them. A host
 * is used by one thread at a time, and within a function of tasks by the calls for that task only.
 * Link with libtidings_steal_host_c.a, -lpthread, -ldl and -lm. Made by cbindgen from
 * crates/steal-host-ffi: change it there.
 */


// Bytes of a text.
#define TIDINGS_HOST_ERROR_BYTES 512

// What a call answers. Only `TIDINGS_HOST_STATUS_OK` is 0.
typedef enum TidingsHostStatus {
    // All went well.
    TIDINGS_HOST_STATUS_OK = 0,
    // An argument is not as it has to be. Nothing was done.
    TIDINGS_HOST_STATUS_ARGUMENT = 1,
    // The segment, the array or the file cannot be made, or not be joined.
    TIDINGS_HOST_STATUS_REFUSED = 2,
    // A task exceeds a slot, names no function, or was spawned after its task had ended its step.
    // It was not added; all others ran.
    TIDINGS_HOST_STATUS_TASK = 3,
    // Workers have ended, and what they had is missing. The rest has run; the others can go on.
    TIDINGS_HOST_STATUS_LOST = 4,
    // Others do not come, or come for something else, or this worker has left before: it takes
    // part no more.
    TIDINGS_HOST_STATUS_ENDED = 5,
    // The call went wrong inside, a defect of the library: this worker takes part no more.
    TIDINGS_HOST_STATUS_BROKEN = 6,
} TidingsHostStatus;

// Whom a worker without tasks asks.
typedef enum TidingsHostSearch {
    // Two others at random; then neighbours send tasks when they have some, and it sleeps.
    TIDINGS_HOST_SEARCH_LIFELINES = 0,
    // Others at random, with pauses that grow.
    TIDINGS_HOST_SEARCH_RANDOM = 1,
    // Those that have most work, as each shows all; where nobody has enough, as lifelines.
    TIDINGS_HOST_SEARCH_KNOWN = 2,
    // Others at random, more often those near, where each process stays on a processor.
    TIDINGS_HOST_SEARCH_NEAREST = 3,
} TidingsHostSearch;

// With what a phase began.
typedef enum TidingsHostSeeding {
    // What each ran in the phase of this name before.
    TIDINGS_HOST_SEEDING_RETAINED = 0,
    // What each added: retention was not asked for.
    TIDINGS_HOST_SEEDING_GIVEN = 1,
    // What each added: there was no phase of this name before.
    TIDINGS_HOST_SEEDING_FIRST = 2,
    // What each added: other workers took part then.
    TIDINGS_HOST_SEEDING_OTHER_WORKERS = 3,
    // What each added: there were more tasks then, or fewer.
    TIDINGS_HOST_SEEDING_OTHER_NUMBER = 4,
    // What each added: there were as many tasks then, but others.
    TIDINGS_HOST_SEEDING_OTHER_TASKS = 5,
} TidingsHostSeeding;

// A process as a worker. Only pointers to it leave the library.
typedef struct TidingsHost TidingsHost;

// An array. Only pointers to it leave the library.
typedef struct TidingsHostArray TidingsHostArray;

// A segment, as its maker has it. Only pointers to it leave the library.
typedef struct TidingsHostSegment TidingsHostSegment;

// The task that runs. It ends when its function returns.
typedef struct TidingsHostTask TidingsHostTask;

// What all processes of a segment have in common. All 0 is what is usual.
typedef struct TidingsHostRules {
    // The most bytes of a task, up to 4,096; 0: 256.
    uint32_t slot_bytes;
    // Bytes of the ring from each worker to each, a power of two from 4 KiB to 1 MiB; 0: as many
    // as all together take 16 MiB, 4 to 64 KiB each.
    uint32_t ring_bytes;
    // Whom a worker without tasks asks: a `TidingsHostSearch`.
    uint32_t search;
    // Whether phases begin with what each worker ran in the last one of this name.
    bool retain;
    // How long workers wait for others that do not join, or do not enter, in milliseconds; 0: a
    // minute.
    uint32_t patience_ms;
    // What random draws begin with.
    uint64_t seed;
} TidingsHostRules;

// What is wrong, in words; empty if all went well.
typedef struct TidingsHostError {
    // A text, cut if it is longer.
    char text[TIDINGS_HOST_ERROR_BYTES];
} TidingsHostError;

// A function of tasks. `user` is what the phase was given in this process.
typedef void (*TidingsHostBody)(struct TidingsHostTask *task, void *user);

// What a phase did in this process.
typedef struct TidingsHostPhase {
    // With what it began: a `TidingsHostSeeding`.
    uint32_t seeding;
    // From when all had entered until all had left, in nanoseconds.
    uint64_t took_ns;
    // Tasks that ran here, each step counted.
    uint64_t executed;
    // Tasks that were spawned here.
    uint64_t spawned;
    // Requests to others for tasks.
    uint64_t attempts;
    // Those that brought some.
    uint64_t steals;
    // Times that others sent some unasked.
    uint64_t pushed;
    // Tasks that came, by request or not.
    uint64_t tasks_in;
} TidingsHostPhase;

// A task that another one begins, whose bytes are copied.
typedef struct TidingsHostChild {
    // Its function, by its place among those of the phase.
    uint16_t function;
    // How long it is predicted to run, in nanoseconds; 0 if nobody knows.
    uint64_t work_ns;
    // Its bytes.
    const void *state;
    // How many they are.
    size_t bytes;
} TidingsHostChild;

// How large an array is, and its blocks.
typedef struct TidingsHostSizes {
    // Rows of elements.
    size_t rows;
    // Columns of elements.
    size_t columns;
    // Rows of a block.
    size_t block_rows;
    // Columns of a block.
    size_t block_columns;
} TidingsHostSizes;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a segment for so many workers at `path`, best in /dev/shm, and writes it to `segment`. One
// that is there already is replaced if none of its processes lives. `rules` may be null.
// Pointers are null or valid, and the path ends with a zero byte.
enum TidingsHostStatus tidings_host_segment_create(const char *path,
                                                   uint32_t workers,
                                                   const struct TidingsHostRules *rules,
                                                   struct TidingsHostSegment **segment,
                                                   struct TidingsHostError *error);

// Takes the name of a segment away: nobody joins it any more, and who has joined keeps it. Null is
// allowed.
// It is null, or from `tidings_host_segment_create` and was not freed.
void tidings_host_segment_free(struct TidingsHostSegment *segment);

// Joins the segment at `path`, which is for so many workers, waits until all have, and writes what
// stands for this process to `host`.
// Pointers are null or valid, and the path ends with a zero byte.
enum TidingsHostStatus tidings_host_join(const char *path,
                                         uint32_t workers,
                                         struct TidingsHost **host,
                                         struct TidingsHostError *error);

// Leaves for good. Null is allowed.
// It is null, or from `tidings_host_join`, was not freed, and no function of tasks runs.
void tidings_host_leave(struct TidingsHost *host);

// The number of this worker, from 0 on; `UINT32_MAX` if it takes part no more.
uint32_t tidings_host_number(const struct TidingsHost *host);

// Whether it was said that a worker has ended. The first who has not is the one for what only one
// of them does.
bool tidings_host_is_lost(const struct TidingsHost *host,
                          uint32_t worker);

// Adds a task, whose bytes are copied, to those with which this process begins the next phase. It
// is predicted to run for `work_ns` nanoseconds, 0 if nobody knows.
// As `tidings_host_leave`; `state` is null or has `bytes` bytes.
enum TidingsHostStatus tidings_host_add(struct TidingsHost *host,
                                        uint16_t function,
                                        uint64_t work_ns,
                                        const void *state,
                                        size_t bytes);

// Enters a phase with what was added, and returns when nothing is left of it anywhere. All enter
// the same ones in the same order, with as many functions, which tasks name by their places.
// Phases of one name are iterations of one computation. `phase` may be null.
// As `tidings_host_leave`; the name ends with a zero byte; there are so many functions, which
// may be called with `user`, and leave neither by an exception nor by longjmp.
enum TidingsHostStatus tidings_host_phase(struct TidingsHost *host,
                                          const char *name,
                                          const TidingsHostBody *functions,
                                          size_t count,
                                          void *user,
                                          struct TidingsHostPhase *phase,
                                          struct TidingsHostError *error);

// Meets all others and shows them `count` words, up to 512; writes what each shows, by number, to
// `shown`, which has room for `workers` times as many. Those of a worker that is lost are 0.
// As `tidings_host_leave`; `words` has so many, and `shown` as much room.
enum TidingsHostStatus tidings_host_gather(struct TidingsHost *host,
                                           const uint64_t *words,
                                           size_t count,
                                           uint64_t *shown,
                                           struct TidingsHostError *error);

// Has all meet, and the first of them write what all did in the last phase, which had this name,
// to a file, which `python -m tidings.steals` reads.
// As `tidings_host_leave`; name and path end with a zero byte.
enum TidingsHostStatus tidings_host_trace(struct TidingsHost *host,
                                          const char *name,
                                          const char *path,
                                          struct TidingsHostError *error);

// Meets all others: after it, each sees what all have done before it.
enum TidingsHostStatus tidings_host_sync(struct TidingsHost *host,
                                         struct TidingsHostError *error);

// The bytes of the task that runs, aligned as memory of malloc is, and how many they are; `bytes`
// may be null.
// `task` is what a function of tasks was given, and that has not returned.
const void *tidings_host_state(struct TidingsHostTask *task,
                               size_t *bytes);

// Where in its function the task is; 0 at its beginning.
uint32_t tidings_host_step(struct TidingsHostTask *task);

// How long the task is predicted to run, in nanoseconds; 0 if nobody knows.
uint64_t tidings_host_predicted_ns(struct TidingsHostTask *task);

// The number of the worker that runs the task.
uint32_t tidings_host_worker(struct TidingsHostTask *task);

// Help first: spawns a task, whose bytes are copied, and goes on. It is predicted to run for
// `work_ns` nanoseconds, 0 if nobody knows.
// As `tidings_host_state`; `state` is null or has `bytes` bytes.
enum TidingsHostStatus tidings_host_spawn(struct TidingsHostTask *task,
                                          uint16_t function,
                                          uint64_t work_ns,
                                          const void *state,
                                          size_t bytes);

// Work first: ends this step. The child runs next, and what is left of this task, which goes on at
// `step` with these bytes, can be stolen. The last thing that the function does.
// As `tidings_host_state`; `child` is null or valid; each `state` is null or has so many bytes.
enum TidingsHostStatus tidings_host_child_first(struct TidingsHostTask *task,
                                                const struct TidingsHostChild *child,
                                                uint32_t step,
                                                const void *state,
                                                size_t bytes);

// Ends this step. `body` runs, and when it and all that it spawns are done, what is left of this
// task, which goes on at `step` with these bytes. The last thing that the function does.
// As `tidings_host_child_first`.
enum TidingsHostStatus tidings_host_finish_first(struct TidingsHostTask *task,
                                                 const struct TidingsHostChild *body,
                                                 uint32_t step,
                                                 const void *state,
                                                 size_t bytes);

// Answers thieves; for tasks that run longer than thieves should wait.
void tidings_host_progress(struct TidingsHostTask *task);

// Makes an array of zeros. All meet for it, between phases, with the same sizes; if one fails, all
// do.
// Pointers are null or valid, and `host` is from `tidings_host_join`.
enum TidingsHostStatus tidings_host_array_create(struct TidingsHost *host,
                                                 const struct TidingsHostSizes *sizes,
                                                 struct TidingsHostArray **array,
                                                 struct TidingsHostError *error);

// Frees this process's share of it. Null is allowed.
// It is null, or from `tidings_host_array_create` and was not freed.
void tidings_host_array_free(struct TidingsHostArray *array);

// The worker at which a task that needs this block runs best; `UINT32_MAX` if there is no such
// block.
uint32_t tidings_host_array_owner(const struct TidingsHostArray *array,
                                  size_t row,
                                  size_t column);

// Reads the block of this row and column of blocks: `count` elements.
// As `tidings_host_array_free`; `into` has room for so many.
enum TidingsHostStatus tidings_host_array_get(const struct TidingsHostArray *array,
                                              size_t row,
                                              size_t column,
                                              double *into,
                                              size_t count,
                                              struct TidingsHostError *error);

// Writes a block.
// As `tidings_host_array_free`; `from` has so many elements.
enum TidingsHostStatus tidings_host_array_put(const struct TidingsHostArray *array,
                                              size_t row,
                                              size_t column,
                                              const double *from,
                                              size_t count,
                                              struct TidingsHostError *error);

// Adds to a block, element by element; all that processes add to an element counts.
// As `tidings_host_array_put`.
enum TidingsHostStatus tidings_host_array_accumulate(const struct TidingsHostArray *array,
                                                     size_t row,
                                                     size_t column,
                                                     const double *from,
                                                     size_t count,
                                                     struct TidingsHostError *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDINGS_STEAL_HOST_H */
