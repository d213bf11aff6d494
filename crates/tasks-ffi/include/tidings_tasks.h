#ifndef TIDINGS_TASKS_H
#define TIDINGS_TASKS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Durable tasks for C: a program submits tasks to a store, claims them, and says how they have
 * ended. A task is claimed by one process at a time; when that process dies another gets it.
 *
 * Every function answers a TidingsTasksStatus, and in words what is wrong, where it is given room
 * for that. All may be called by several threads at a time, unless they say otherwise. Pointers are
 * null or valid, unless more is said of them. Texts end with a zero byte and are UTF-8. Times are
 * milliseconds; TIDINGS_TASKS_FOREVER is no limit. The library has a thread of its own, which
 * blocks all signals; it installs no handler. After a fork the child opens the store for itself.
 *
 * Link with libtidings_tasks_c.a, -lpthread, -ldl and -lm. Made by cbindgen from crates/tasks-ffi:
 * change it there.
 */


// No limit of time.
#define TIDINGS_TASKS_FOREVER UINT64_MAX

// Any revision of a key.
#define TIDINGS_TASKS_ANY UINT64_MAX

// The bytes of an error's text, with the zero at its end.
#define TIDINGS_TASKS_ERROR_BYTES 512

// The bytes of a task's id as text, with the zero at its end.
#define TIDINGS_TASKS_ID_TEXT_BYTES 33

// The most tasks of one call.
#define TIDINGS_TASKS_MAX 1000

// The bytes of the name of a host in a handle, with the zero byte at its end.
#define TIDINGS_TASKS_HOST_BYTES 256

// A field is an integer.
#define TIDINGS_TASKS_INT 0

// A field is a floating-point number.
#define TIDINGS_TASKS_FLOAT 1

// A field is a text.
#define TIDINGS_TASKS_TEXT 2

// A field is bytes.
#define TIDINGS_TASKS_BYTES 3

// A field is true or false.
#define TIDINGS_TASKS_BOOL 4

// A field of a template is anything.
#define TIDINGS_TASKS_WILDCARD 5

// A field that is put is one that an in of the same statement has found.
#define TIDINGS_TASKS_FOUND 6

// A field is the handle of a blob: `bytes` points to a `TidingsTasksHandle`.
#define TIDINGS_TASKS_HANDLE 7

// What a call answers. Only `TIDINGS_TASKS_STATUS_OK` is 0; after those up to
// `TIDINGS_TASKS_STATUS_SUPERSEDED` a worker goes on.
typedef enum TidingsTasksStatus {
    // All went well.
    TIDINGS_TASKS_STATUS_OK = 0,
    // Time is up.
    TIDINGS_TASKS_STATUS_TIMEOUT = 1,
    // What the process had is no longer its own: its session had ended, or the task is over. What
    // it said does not count.
    TIDINGS_TASKS_STATUS_SUPERSEDED = 2,
    // An argument is not as it has to be. Nothing was done.
    TIDINGS_TASKS_STATUS_ARGUMENT = 3,
    // There is no such task or semaphore.
    TIDINGS_TASKS_STATUS_NOT_FOUND = 4,
    // The coordinator of the store, or the place for long payloads, has refused it.
    TIDINGS_TASKS_STATUS_REFUSED = 5,
    // The store cannot be had.
    TIDINGS_TASKS_STATUS_STORE = 6,
    // It was opened by another process, before a fork: open the store in this one.
    TIDINGS_TASKS_STATUS_FORKED = 7,
    // The call went wrong inside, which is a defect of the library.
    TIDINGS_TASKS_STATUS_BROKEN = 8,
    // A key is at another revision than was expected. Nothing was done.
    TIDINGS_TASKS_STATUS_CHANGED = 9,
} TidingsTasksStatus;

// How a task has ended.
typedef enum TidingsTasksEnd {
    // With a result.
    TIDINGS_TASKS_END_DONE = 0,
    // By its last failure.
    TIDINGS_TASKS_END_FAILED = 1,
    // Nobody wants it.
    TIDINGS_TASKS_END_CANCELLED = 2,
} TidingsTasksEnd;

// A process that uses a store. Only pointers to it leave the library.
typedef struct TidingsTasks TidingsTasks;

// A blob that this process holds: it stays where it is until that ends. Only pointers to it leave
// the library.
typedef struct TidingsTasksBlob TidingsTasksBlob;

// Dependencies and tasks that are declared, and the instances that there are. One thread uses it
// at a time. Only pointers to it leave the library.
typedef struct TidingsTasksFlow TidingsTasksFlow;

// Permits that this process has. Only pointers to it leave the library.
typedef struct TidingsTasksPermits TidingsTasksPermits;

// What a function leaves behind. Only pointers to it leave the library.
typedef struct TidingsTasksResult TidingsTasksResult;

// A tuple that was found. Only pointers to it leave the library.
typedef struct TidingsTasksTuple TidingsTasksTuple;

// Which store is opened, and as whom. All may be null or 0: initialise it with `{0}`.
typedef struct TidingsTasksOptions {
    // `file:PATH`, `tcp://HOST:PORT` where a process of another host listens,
    // `etcd://HOST:PORT,.../PREFIX`, `block:NAME@STORE` in the memory of those who use it and find
    // each other in another store, or `memory:` for one that ends with this process. Null: what
    // the variable `TIDINGS_STORE` says, else a file in this user's state directory, as for the
    // command `tidings`.
    const char *store;
    // The cluster's key file, for `tcp://` and `etcd://`. Null: none.
    const char *keys;
    // What the process is called where sessions are listed, before its host and number. Null: `c`.
    const char *name;
    // How long it is waited for somebody to serve the store, in milliseconds. 0: 30 s.
    uint64_t timeout_ms;
    // What those that claim have for the needs of tasks, in each queue that they claim from, such
    // as `cpus=8,mem=32GiB,gpu=2`. Null: nothing, so that tasks with needs go elsewhere.
    const char *resources;
    // The folder that all hosts share for what is longer than a record of a store in an etcd.
    // Null: none.
    const char *blobs;
} TidingsTasksOptions;

// What is wrong, in words; empty if all went well.
typedef struct TidingsTasksError {
    // A text, cut if it is longer.
    char text[TIDINGS_TASKS_ERROR_BYTES];
} TidingsTasksError;

// Which task.
typedef struct TidingsTasksId {
    // 128 bits, which follow from what the task is.
    uint8_t bytes[16];
} TidingsTasksId;

// A task as it is submitted. What is null or 0 is as usual: initialise it with `{0}`.
typedef struct TidingsTasksSubmission {
    // Which task: `tidings_tasks_id`. Submitted again, it adds nothing.
    struct TidingsTasksId id;
    // The queue.
    const char *queue;
    // The function that is to do it, by its name in `tidings_tasks_work`. Null: the payload alone
    // says what is to be done.
    const char *function;
    // What is to be done.
    const uint8_t *payload;
    // How many bytes that is, of any number.
    size_t payload_bytes;
    // Groups of a queue get equal shares of those who take tasks. Null: the group without a name.
    const char *group;
    // The larger, the earlier.
    int16_t priority;
    // How often it is tried again after it has failed. When its process dies it is tried again
    // anyhow, until that has happened three times on two hosts, or six times on one.
    uint16_t retries;
    // For how long it is not assigned, in milliseconds.
    uint64_t delay_ms;
    // What it takes of the `resources` of the process that claims it, such as `gpu=1,mem=4GiB`.
    // Null: nothing.
    const char *need;
    // On which nodes it may run, as for `tidings nodes --where`. Null: on all.
    const char *filter;
    // Tasks that are to be done before it, which it can read (`tidings_tasks_input`): they were
    // submitted before, or are with it. If one is not done, it fails without being tried.
    const struct TidingsTasksId *inputs;
    // How many they are, at most 256.
    size_t input_count;
} TidingsTasksSubmission;

// The end of a task.
typedef struct TidingsTasksOutcome {
    // How.
    enum TidingsTasksEnd end;
    // How often it was tried.
    uint32_t attempts;
    // Its result, which `tidings_tasks_outcome_free` gives back; null if it has none.
    uint8_t *result;
    // How many bytes that is.
    size_t result_bytes;
    // The last failure in words, if it has failed; cut if it is longer.
    char failure[TIDINGS_TASKS_ERROR_BYTES];
} TidingsTasksOutcome;

// A task that this process does. It and all it points to last until it is ended.
typedef struct TidingsTasksClaim {
    // Which task.
    struct TidingsTasksId id;
    // Which try, from 1: also a key by which receivers of side effects know repetitions.
    uint32_t attempt;
    // Its queue.
    const char *queue;
    // The function that is to do it; null if only the payload says so.
    const char *function;
    // What is to be done.
    const uint8_t *payload;
    // How many bytes that is.
    size_t payload_bytes;
} TidingsTasksClaim;

// A function that does tasks.
typedef struct TidingsTasksFunction {
    // The name by which submissions call it. Null: it does the tasks that name no function.
    const char *name;
    // Does a task; called in the thread that called `tidings_tasks_work`. It returns 0 if the task
    // is done, with what it gave to `tidings_tasks_result` as its result. Anything else is a
    // failure, of which that is the reason in words. It does not end the claim, and does not leave
    // by `longjmp` or an exception.
    int (*body)(const struct TidingsTasksClaim *claim,
                struct TidingsTasksResult *result,
                void *context);
    // Handed to it.
    void *context;
} TidingsTasksFunction;

// Bytes.
typedef struct TidingsTasksBytes {
    // Where they are; not null.
    const uint8_t *start;
    // How many they are.
    size_t count;
} TidingsTasksBytes;

// How results are combined.
typedef struct TidingsTasksCombine {
    // Combines `count` results, 1 to 16, in order, into one that it gives to
    // `tidings_tasks_result`, and returns 0. Anything else is a failure, of which that is the
    // reason in words. What it makes depends on its inputs alone. It calls no other function of
    // this library. Called in the thread that called `tidings_tasks_collect`.
    int (*body)(const struct TidingsTasksBytes *inputs,
                size_t count,
                struct TidingsTasksResult *result,
                void *context);
    // Handed to it.
    void *context;
} TidingsTasksCombine;

// What names a blob that a node shares: which bytes, and where. A value that may be copied, sent
// and stored; it does not keep the blob.
typedef struct TidingsTasksHandle {
    // SHA-256 of the bytes.
    uint8_t hash[32];
    // How many they are.
    uint64_t count;
    // The number of the folder in which they lie.
    uint64_t depot;
    // The host that has shared them.
    char host[TIDINGS_TASKS_HOST_BYTES];
} TidingsTasksHandle;

// A field of a tuple, or what a template says of one. Initialise it with `{0}`.
typedef struct TidingsTasksField {
    // `TIDINGS_TASKS_INT` to `TIDINGS_TASKS_HANDLE`.
    uint32_t kind;
    // In a template: any value of this kind.
    bool is_open;
    // An integer; of a truth value 0 or 1; of a found field which in, from 0.
    int64_t integer;
    // A floating-point number.
    double number;
    // A text, which ends with a zero byte, bytes, or a handle.
    const uint8_t *bytes;
    // How many bytes; of a found field which one, from 0. Of a text it is not read, since
    // that ends at its zero byte, nor of a handle.
    size_t count;
} TidingsTasksField;

// A tuple that is wanted: `count` patterns in a space.
typedef struct TidingsTasksIn {
    // The space.
    const char *space;
    // What each field is to be.
    const struct TidingsTasksField *pattern;
    // How many fields.
    size_t count;
    // Whether it is pulled; else it stays.
    bool is_pulled;
} TidingsTasksIn;

// A tuple that is put: `count` fields into a space.
typedef struct TidingsTasksOut {
    // The space.
    const char *space;
    // Its fields.
    const struct TidingsTasksField *fields;
    // How many.
    size_t count;
} TidingsTasksOut;

// What happens together, or not at all: at most 16 ins, 16 outs and 16 tuples that are consumed.
// Initialise it with `{0}`.
typedef struct TidingsTasksStatement {
    // Tuples that are wanted.
    const struct TidingsTasksIn *ins;
    // How many.
    size_t in_count;
    // Tuples that are put.
    const struct TidingsTasksOut *outs;
    // How many.
    size_t out_count;
    // Tuples that were pulled before, and are consumed by it.
    struct TidingsTasksTuple *const *consumed;
    // How many.
    size_t consumed_count;
    // Whether what it pulls is consumed at once.
    bool consumes;
} TidingsTasksStatement;

// A kind of data, as a flow has declared it.
typedef struct TidingsTasksDependency {
    // The flow.
    const struct TidingsTasksFlow *flow;
    // Which of its dependencies, from 0.
    size_t number;
} TidingsTasksDependency;

// A task, as a flow has declared it.
typedef struct TidingsTasksDeclared {
    // The flow.
    const struct TidingsTasksFlow *flow;
    // Which of its tasks, from 0.
    size_t number;
} TidingsTasksDeclared;

// Computes the key of an instance: it fills the fields of `key`, whose kinds are set as declared,
// from the arguments of a task. Texts and bytes of a key stay until the submission has returned.
// It does not leave by `longjmp` or an exception.
typedef void (*TidingsTasksKey)(const struct TidingsTasksField *arguments,
                                struct TidingsTasksField *key,
                                void *context);

// The tasks of a queue that have not ended.
typedef struct TidingsTasksQueue {
    // Tasks that could be claimed now.
    uint64_t ready;
    // Tasks that are not to be claimed before a time.
    uint64_t delayed;
    // Tasks that a process has.
    uint64_t running;
} TidingsTasksQueue;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens a store and writes it to `tasks`; null, if it cannot be had. The store is held and served
// by the first process of the host that opens it, for the others too; when that one ends, another
// takes over.
// `options`, `tasks` and `error` are null or valid, and so is each text of the options.
enum TidingsTasksStatus tidings_tasks_open(const struct TidingsTasksOptions *options,
                                           struct TidingsTasks **tasks,
                                           struct TidingsTasksError *error);

// Closes a store. What this process has claimed or acquired is given back, and what threads still
// wait for answers `TIDINGS_TASKS_STATUS_STORE`. Claims and permits may be ended after it, and
// have to be, to give their memory back. Null is allowed; after a fork nothing happens in the
// child.
// `tasks` is null or from `tidings_tasks_open`, was not closed, and no thread calls a function
// with it any more.
void tidings_tasks_close(struct TidingsTasks *tasks);

// Writes the id of task number `number` of what is called `name`. The same name and number are the
// same task, in every program.
enum TidingsTasksStatus tidings_tasks_id(const char *name,
                                         uint64_t number,
                                         struct TidingsTasksId *id,
                                         struct TidingsTasksError *error);

// Writes an id as 32 hexadecimal digits, as `tidings task show` takes it, to
// `TIDINGS_TASKS_ID_TEXT_BYTES` bytes.
// `id` is null or valid; `room` is null or has that many bytes.
enum TidingsTasksStatus tidings_tasks_id_text(const struct TidingsTasksId *id,
                                              char (*room)[TIDINGS_TASKS_ID_TEXT_BYTES],
                                              struct TidingsTasksError *error);

// Submits `count` tasks, at most `TIDINGS_TASKS_MAX`: all or none. They are durable when it
// returns. Waits while a queue is full. Writes how many of them are new to `added`, unless that is
// null.
// `submissions` is null or has `count` values, whose pointers are null or valid; the others are
// null or valid.
enum TidingsTasksStatus tidings_tasks_submit(const struct TidingsTasks *tasks,
                                             const struct TidingsTasksSubmission *submissions,
                                             size_t count,
                                             size_t *added,
                                             struct TidingsTasksError *error);

// Cancels a task: nobody wants it any more. Who does it is told by `tidings_tasks_is_wanted`.
enum TidingsTasksStatus tidings_tasks_cancel(const struct TidingsTasks *tasks,
                                             const struct TidingsTasksId *id,
                                             struct TidingsTasksError *error);

// Cancels a task, unless somebody does it: then this answers `TIDINGS_TASKS_STATUS_REFUSED`, and
// the task goes on.
enum TidingsTasksStatus tidings_tasks_withdraw(const struct TidingsTasks *tasks,
                                               const struct TidingsTasksId *id,
                                               struct TidingsTasksError *error);

// Deletes the records of `count` tasks that have ended, at most `TIDINGS_TASKS_MAX`; others are
// left as they are. Submitted again, such a task is a new one.
// `ids` is null or has `count` values; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_forget(const struct TidingsTasks *tasks,
                                             const struct TidingsTasksId *ids,
                                             size_t count,
                                             struct TidingsTasksError *error);

// Waits for the end of a task and writes it to `outcome`. With a time of 0 it tells the end of a
// task for which an earlier call has waited in vain, as soon as there is one.
// Each pointer is null or valid. What `outcome` had before is not given back.
enum TidingsTasksStatus tidings_tasks_wait(const struct TidingsTasks *tasks,
                                           const struct TidingsTasksId *id,
                                           uint64_t timeout_ms,
                                           struct TidingsTasksOutcome *outcome,
                                           struct TidingsTasksError *error);

// Gives the result of an outcome back. Null is allowed.
// `outcome` is null, or was written by `tidings_tasks_wait` and not changed.
void tidings_tasks_outcome_free(struct TidingsTasksOutcome *outcome);

// Claims the next task of a queue and writes it to `claim`; null, if none has come in time. Other
// processes do not get it while this one lives. It is to be ended once, by
// `tidings_tasks_complete`, `tidings_tasks_fail` or `tidings_tasks_give_back`.
//
// A task comes some milliseconds after it was asked for: with a time of 0 there is one only if the
// claim before has asked for it.
enum TidingsTasksStatus tidings_tasks_claim(const struct TidingsTasks *tasks,
                                            const char *queue,
                                            uint64_t timeout_ms,
                                            struct TidingsTasksClaim **claim,
                                            struct TidingsTasksError *error);

// Whether a task is still wanted: it may have been cancelled, or the process may have been silent
// for so long that another one has the task. Not wanted, it is to be ended all the same, soon.
// `claim` is null, or from `tidings_tasks_claim` and not ended.
bool tidings_tasks_is_wanted(const struct TidingsTasksClaim *claim);

// Says how far a task has come, in thousandths and, unless it is null, in words. It is shown while
// the task runs, and not stored.
// `claim` is null, or from `tidings_tasks_claim` and not ended; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_progress(const struct TidingsTasksClaim *claim,
                                               uint16_t thousandths,
                                               const char *text,
                                               struct TidingsTasksError *error);

// Ends a claim: the task is done, with a result of any number of bytes. What this answers is
// durable. `TIDINGS_TASKS_STATUS_SUPERSEDED`: the result does not count, since another process has
// the task, or it has ended. Waits while the store has no space.
// `claim` is null, or from `tidings_tasks_claim` and was not ended: it is by this, whatever is
// answered. `result` is null or has that many bytes; `error` is null or valid.
enum TidingsTasksStatus tidings_tasks_complete(struct TidingsTasksClaim *claim,
                                               const uint8_t *result,
                                               size_t result_bytes,
                                               struct TidingsTasksError *error);

// Ends a claim: the task has failed, for a reason in words. It is tried again as often as its
// submission says.
// As `tidings_tasks_complete`.
enum TidingsTasksStatus tidings_tasks_fail(struct TidingsTasksClaim *claim,
                                           const char *reason,
                                           struct TidingsTasksError *error);

// Ends a claim: the task goes back into its queue, and this try is no failure.
// As `tidings_tasks_complete`.
enum TidingsTasksStatus tidings_tasks_give_back(struct TidingsTasksClaim *claim,
                                                struct TidingsTasksError *error);

// Adds a task that is submitted if this one is completed, in the same commit: once, however often
// this one is tried. At most `TIDINGS_TASKS_MAX`. An id of zeros stands for one that follows from
// this task and the number of those that were added before.
// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; the others
// are null or valid, and so are the pointers of the submission.
enum TidingsTasksStatus tidings_tasks_child(const struct TidingsTasksClaim *claim,
                                            const struct TidingsTasksSubmission *submission,
                                            struct TidingsTasksError *error);

// Adds a write of a key that is done if this task is completed, in the same commit: as
// `tidings_tasks_set`. At most 64. If a key is at another revision than is expected, the
// completion answers `TIDINGS_TASKS_STATUS_CHANGED`, and the task has failed by that.
// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; `bytes` is
// null or has `count` bytes; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_effect(const struct TidingsTasksClaim *claim,
                                             const char *key,
                                             const uint8_t *bytes,
                                             size_t count,
                                             uint64_t expect,
                                             struct TidingsTasksError *error);

// Writes what an input of a task has come to: its result, what a call of Python has returned, or
// what a command has printed. Inputs are numbered from 0, as in the submission, each once. The
// bytes are there until the claim is ended; many are mapped, not copied.
// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; the others
// are null or valid.
enum TidingsTasksStatus tidings_tasks_input(const struct TidingsTasksClaim *claim,
                                            size_t number,
                                            const uint8_t **bytes,
                                            size_t *count,
                                            struct TidingsTasksError *error);

// Sets what a function leaves behind, which is copied: its result, or why it has failed. The last
// one counts.
// `result` is what the function was called with; `bytes` is null or has so many bytes.
enum TidingsTasksStatus tidings_tasks_result(struct TidingsTasksResult *result,
                                             const uint8_t *bytes,
                                             size_t count,
                                             struct TidingsTasksError *error);

// Claims one task of a queue, has it done by one of `count` functions, and ends the claim. Called
// in a loop, by as many threads as tasks are to be done at a time, this is a worker.
//
// `TIDINGS_TASKS_STATUS_OK`: a task was done, or has failed, as its record says.
// `TIDINGS_TASKS_STATUS_TIMEOUT`: none has come. `TIDINGS_TASKS_STATUS_SUPERSEDED`: one was done,
// but does not count. A task of which no function has the name fails.
// `functions` is null or has `count` values; all pointers are null or valid. The functions do as
// `TidingsTasksFunction` says, and can be called with their contexts from this thread.
enum TidingsTasksStatus tidings_tasks_work(const struct TidingsTasks *tasks,
                                           const char *queue,
                                           const struct TidingsTasksFunction *functions,
                                           size_t count,
                                           uint64_t timeout_ms,
                                           struct TidingsTasksError *error);

// Reads the value of a key: the result of `outcome`. Writes the revision at which it was written
// to `revision`, unless that is null. `TIDINGS_TASKS_STATUS_NOT_FOUND`: it has no value, and its
// revision is 0.
// Each pointer is null or valid. What `outcome` had before is not given back.
enum TidingsTasksStatus tidings_tasks_get(const struct TidingsTasks *tasks,
                                          const char *key,
                                          struct TidingsTasksOutcome *outcome,
                                          uint64_t *revision,
                                          struct TidingsTasksError *error);

// Writes the value of a key, at most 16 KiB, or deletes it if `bytes` is null; durable when it
// returns. It is done only if the key is at the revision `expect`: 0 if it is to have no value,
// `TIDINGS_TASKS_ANY` whatever it has. `TIDINGS_TASKS_STATUS_CHANGED`: it is at another one. One
// that comes after the store's holder has died may be about the write itself: read the key then.
// Writes the new revision to `revision`, unless that is null.
// `bytes` is null or has `count` bytes; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_set(const struct TidingsTasks *tasks,
                                          const char *key,
                                          const uint8_t *bytes,
                                          size_t count,
                                          uint64_t expect,
                                          uint64_t *revision,
                                          struct TidingsTasksError *error);

// Writes a value of any number of bytes under a name, for all to read. It is written once: the
// same value may be written again, another one is refused.
// `bytes` is null or has `count` bytes; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_write(const struct TidingsTasks *tasks,
                                            const char *name,
                                            const uint8_t *bytes,
                                            size_t count,
                                            struct TidingsTasksError *error);

// Reads the value of a name, as soon as it is written: the result of `outcome`.
// Each pointer is null or valid. What `outcome` had before is not given back.
enum TidingsTasksStatus tidings_tasks_read(const struct TidingsTasks *tasks,
                                           const char *name,
                                           uint64_t timeout_ms,
                                           struct TidingsTasksOutcome *outcome,
                                           struct TidingsTasksError *error);

// Collects what the tasks `0..leaves` of a name (`tidings_tasks_id`) came to: combines results
// sixteen at a time, along a tree, and writes the end of the whole to `outcome`. Any number of
// processes may collect the same, and each has the whole in the end; when one dies, the others go
// on with what it had. The tasks are submitted before. If one of them has failed, so has the
// whole, with its reason.
//
// The order is that of the numbers, and the tree follows from how many there are: so the whole is
// the same to the last bit for all processes, orders and deaths.
// Each pointer is null or valid; the function of `combine` does as `TidingsTasksCombine` says, and
// can be called with its context from this thread. What `outcome` had before is not given back.
enum TidingsTasksStatus tidings_tasks_collect(const struct TidingsTasks *tasks,
                                              const char *name,
                                              uint64_t leaves,
                                              const struct TidingsTasksCombine *combine,
                                              uint64_t timeout_ms,
                                              struct TidingsTasksOutcome *outcome,
                                              struct TidingsTasksError *error);

// Copies bytes into the memory that this host shares: whoever has the handle gets them, on the
// same host without a copy, elsewhere from a host that has it. Writes the handle to `handle`,
// unless that is null, and what holds the blob to `blob`. It stays as long as that is held by some
// process, a tuple names it, or a task for which it was pinned has a record; and half a minute
// longer.
// `bytes` is null or has `count` bytes; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_share(const struct TidingsTasks *tasks,
                                            const void *bytes,
                                            size_t count,
                                            struct TidingsTasksHandle *handle,
                                            struct TidingsTasksBlob **blob,
                                            struct TidingsTasksError *error);

// Gets a blob by its handle and writes what holds it to `blob`: mapped if it lies on this host,
// else fetched, unless it was before. `TIDINGS_TASKS_STATUS_NOT_FOUND`: it is gone, and null is
// written.
enum TidingsTasksStatus tidings_tasks_fetch(const struct TidingsTasks *tasks,
                                            const struct TidingsTasksHandle *handle,
                                            struct TidingsTasksBlob **blob,
                                            struct TidingsTasksError *error);

// Keeps a blob as long as the record of a task is there, which is submitted next and whose payload
// has the handle. Hold the blob until it was submitted.
enum TidingsTasksStatus tidings_tasks_pin(const struct TidingsTasks *tasks,
                                          const struct TidingsTasksHandle *handle,
                                          const struct TidingsTasksId *id,
                                          struct TidingsTasksError *error);

// The bytes of a blob, which cannot be written and stay as long as it is held. Writes how many
// they are to `count`, unless that is null. Null for null.
// `blob` is null, or from `tidings_tasks_share` or `tidings_tasks_fetch` and not given back;
// `count` is null or valid.
const void *tidings_tasks_blob_bytes(const struct TidingsTasksBlob *blob, size_t *count);

// Whether the bytes of a blob came from another host for this; else they were mapped as they are.
// As `tidings_tasks_blob_bytes`.
bool tidings_tasks_blob_is_copy(const struct TidingsTasksBlob *blob);

// Holds a blob no longer. Its bytes are not to be read any more. Null is allowed.
// As `tidings_tasks_blob_bytes`; it is given back once, before the store is closed.
void tidings_tasks_unshare(struct TidingsTasksBlob *blob);

// Puts a tuple of 1 to 16 fields, at most 16 KiB, into a space; durable when it returns.
// `fields` is null or has `count` fields, whose bytes are as their kinds say; the others are null
// or valid.
enum TidingsTasksStatus tidings_tasks_tuple_put(const struct TidingsTasks *tasks,
                                                const char *space,
                                                const struct TidingsTasksField *fields,
                                                size_t count,
                                                struct TidingsTasksError *error);

// Adds a tuple that is put if this task is completed, in the commit in which what the task has
// pulled is consumed: once, however often the task is tried. At most 16, each as for
// `tidings_tasks_tuple_put`.
// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; `fields`
// is null or has `count` fields, whose bytes are as their kinds say; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_tuple_effect(const struct TidingsTasksClaim *claim,
                                                   const char *space,
                                                   const struct TidingsTasksField *fields,
                                                   size_t count,
                                                   struct TidingsTasksError *error);

// Writes a copy of the oldest tuple that matches to `tuple`; it stays in its space. Waits at most
// so long for one: 0 not at all. `TIDINGS_TASKS_STATUS_TIMEOUT`: there was none, and null is
// written.
// `pattern` is null or has `count` fields, whose bytes are as their kinds say; the others are null
// or valid.
enum TidingsTasksStatus tidings_tasks_tuple_read(const struct TidingsTasks *tasks,
                                                 const char *space,
                                                 const struct TidingsTasksField *pattern,
                                                 size_t count,
                                                 uint64_t timeout_ms,
                                                 struct TidingsTasksTuple **tuple,
                                                 struct TidingsTasksError *error);

// Pulls the oldest tuple that matches and writes it to `tuple`: nobody else sees it. It is there
// again, in its old turn, when it is given back and when this process ends, in whatever way. With
// a claim it belongs to that try of a task: it is consumed in the commit by which the task is
// done, and there again if the try ends otherwise. Waits as `tidings_tasks_tuple_read`.
// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; `pattern`
// is null or has `count` fields, whose bytes are as their kinds say; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_tuple_pull(const struct TidingsTasks *tasks,
                                                 const struct TidingsTasksClaim *claim,
                                                 const char *space,
                                                 const struct TidingsTasksField *pattern,
                                                 size_t count,
                                                 uint64_t timeout_ms,
                                                 struct TidingsTasksTuple **tuple,
                                                 struct TidingsTasksError *error);

// Does a statement: its ins are found, each another tuple, and all of it happens in one commit, or
// in the given time nothing does. Writes what its ins have found, in their order, to `found`,
// which has room for so many; null where nothing was. Tuples that it consumes are freed by the
// program as others. A claim is as for `tidings_tasks_tuple_pull`.
// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; the lists
// of the statement have as many values as it says, each as for the calls with one tuple; `found`
// is null or has room for `in_count` pointers; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_statement(const struct TidingsTasks *tasks,
                                                const struct TidingsTasksClaim *claim,
                                                const struct TidingsTasksStatement *statement,
                                                uint64_t timeout_ms,
                                                struct TidingsTasksTuple **found,
                                                struct TidingsTasksError *error);

// The fields of a tuple, which last until it is freed; their number is written to `count`. Null,
// if `tuple` or `count` is.
// `tuple` is null, or was found and not freed; `count` is null or valid.
const struct TidingsTasksField *tidings_tasks_tuple_fields(const struct TidingsTasksTuple *tuple,
                                                           size_t *count);

// Consumes a tuple that was pulled: it does not come back. It is freed as others.
// `TIDINGS_TASKS_STATUS_SUPERSEDED`: it was there again meanwhile.
// `tuple` is null, or was found and not freed; `error` is null or valid.
enum TidingsTasksStatus tidings_tasks_tuple_consume(struct TidingsTasksTuple *tuple,
                                                    struct TidingsTasksError *error);

// Gives a tuple's memory back. One that was pulled and not consumed is there again, unless it
// belongs to the try of a task, with which it ends. Null is allowed.
// `tuple` is null, or was found and not freed.
void tidings_tasks_tuple_free(struct TidingsTasksTuple *tuple);

// Begins a flow whose tasks lie in a queue and writes it to `flow`; null, if it cannot. Its name
// stands for what it declares and submits: a program that is started again goes on with what it
// did under it, and another computation needs another one. Free it before the store is closed.
enum TidingsTasksStatus tidings_tasks_flow(const struct TidingsTasks *tasks,
                                           const char *queue,
                                           const char *name,
                                           struct TidingsTasksFlow **flow,
                                           struct TidingsTasksError *error);

// Gives a flow's memory back, with all that it has declared; its tasks go on. What was submitted
// and not sent is dropped. Null is allowed.
// `flow` is null, or from `tidings_tasks_flow` and not freed.
void tidings_tasks_flow_free(struct TidingsTasksFlow *flow);

// Lets an instance be there that is not: bytes, which are copied and go with each task that reads
// them.
// `flow` is null, or from `tidings_tasks_flow` and not freed; `key` is null or has `key_count`
// fields, whose bytes are as their kinds say; `bytes` is null or has `count` bytes.
enum TidingsTasksStatus tidings_tasks_flow_put(struct TidingsTasksFlow *flow,
                                               struct TidingsTasksDependency dependency,
                                               const struct TidingsTasksField *key,
                                               size_t key_count,
                                               const uint8_t *bytes,
                                               size_t count,
                                               struct TidingsTasksError *error);

// The same, of what a task of the store makes: of this flow, or any other that was submitted.
// As `tidings_tasks_flow_put`; `id` is null or valid.
enum TidingsTasksStatus tidings_tasks_flow_put_task(struct TidingsTasksFlow *flow,
                                                    struct TidingsTasksDependency dependency,
                                                    const struct TidingsTasksField *key,
                                                    size_t key_count,
                                                    const struct TidingsTasksId *id,
                                                    struct TidingsTasksError *error);

// Submits a declared task for these arguments and, unless it is null, writes its id to `id`. An
// instance that is not there, or would be taken twice, is an error, and changes nothing. The task
// is durable when the next `tidings_tasks_flow_send` or `tidings_tasks_flow_get` has returned;
// each thousandth submission sends what waits.
// `flow` is null, or from `tidings_tasks_flow` and not freed; `arguments` is null or has `count`
// fields, whose bytes are as their kinds say; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_flow_submit(struct TidingsTasksFlow *flow,
                                                  struct TidingsTasksDeclared task,
                                                  const struct TidingsTasksField *arguments,
                                                  size_t count,
                                                  struct TidingsTasksId *id,
                                                  struct TidingsTasksError *error);

// Sends what was submitted: it is durable when this answers `TIDINGS_TASKS_STATUS_OK`. Else it is
// sent again with the next, and what is there already is there once. Waits while a queue is full.
// `flow` is null, or from `tidings_tasks_flow` and not freed; `error` is null or valid.
enum TidingsTasksStatus tidings_tasks_flow_send(struct TidingsTasksFlow *flow,
                                                struct TidingsTasksError *error);

// Sends what was submitted, waits until all that changes an instance is done, and writes what is
// in it. The bytes are there until this is called again, or the flow is freed.
// `TIDINGS_TASKS_STATUS_TIMEOUT`: it is not done; with a time of 0 it tells so at once.
// `TIDINGS_TASKS_STATUS_REFUSED`: a task that makes it has failed.
// `flow` is null, or from `tidings_tasks_flow` and not freed; `key` is null or has `key_count`
// fields, whose bytes are as their kinds say; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_flow_get(struct TidingsTasksFlow *flow,
                                               struct TidingsTasksDependency dependency,
                                               const struct TidingsTasksField *key,
                                               size_t key_count,
                                               uint64_t timeout_ms,
                                               const uint8_t **bytes,
                                               size_t *count,
                                               struct TidingsTasksError *error);

// Sends what was submitted, removes what the store has of tasks of the flow that have ended, and
// frees it as `tidings_tasks_flow_free`, whatever is answered. After that a flow of this name does
// all of them again.
// `flow` is null, or from `tidings_tasks_flow` and not freed; `error` is null or valid.
enum TidingsTasksStatus tidings_tasks_flow_forget(struct TidingsTasksFlow *flow,
                                                  struct TidingsTasksError *error);

// Declares a kind of data, and the kinds of the fields of its keys (`TIDINGS_TASKS_INT` to
// `TIDINGS_TASKS_BOOL`, and `TIDINGS_TASKS_HANDLE`), at most 16.
// `flow` is null, or from `tidings_tasks_flow` and not freed; `kinds` is null or has `count`
// values; the others are null or valid.
enum TidingsTasksStatus tidings_tasks_dependency_declare(struct TidingsTasksFlow *flow,
                                                         const char *name,
                                                         const uint32_t *kinds,
                                                         size_t count,
                                                         struct TidingsTasksDependency *dependency,
                                                         struct TidingsTasksError *error);

// Declares a task: a function, by its name in `tidings_tasks_work`, and the kinds of its
// arguments, at most 16. With `like` it has the group, priority, retries, need and filter of that;
// null: as usual.
// `flow` is null, or from `tidings_tasks_flow` and not freed; `kinds` is null or has `count`
// values; the others are null or valid, and so are the texts of `like`.
enum TidingsTasksStatus tidings_tasks_task_declare(struct TidingsTasksFlow *flow,
                                                   const char *function,
                                                   const uint32_t *kinds,
                                                   size_t count,
                                                   const struct TidingsTasksSubmission *like,
                                                   struct TidingsTasksDeclared *task,
                                                   struct TidingsTasksError *error);

// Lets a declared task read an instance, beside others. `context` is handed to `key`.
// `flow` is null, or from `tidings_tasks_flow` and not freed; `key` can be called with `context`
// until it is; `error` is null or valid.
enum TidingsTasksStatus tidings_tasks_append_read_dependency(struct TidingsTasksFlow *flow,
                                                             struct TidingsTasksDeclared task,
                                                             struct TidingsTasksDependency kind,
                                                             TidingsTasksKey key,
                                                             void *context,
                                                             struct TidingsTasksError *error);

// Lets a declared task change an instance, as in a reduction: what it makes is the next version.
// As `tidings_tasks_append_read_dependency`.
enum TidingsTasksStatus tidings_tasks_append_inout_dependency(struct TidingsTasksFlow *flow,
                                                              struct TidingsTasksDeclared task,
                                                              struct TidingsTasksDependency kind,
                                                              TidingsTasksKey key,
                                                              void *context,
                                                              struct TidingsTasksError *error);

// Lets a declared task take an instance, which moves on to another key of its dependency, that
// `to` computes, as in a systolic array: nothing is copied for that. With null it ends.
// As `tidings_tasks_append_read_dependency`, and so can `to` be called.
enum TidingsTasksStatus tidings_tasks_append_migrate_dependency(struct TidingsTasksFlow *flow,
                                                                struct TidingsTasksDeclared task,
                                                                struct TidingsTasksDependency kind,
                                                                TidingsTasksKey key,
                                                                TidingsTasksKey to,
                                                                void *context,
                                                                struct TidingsTasksError *error);

// Writes the arguments of a declared task; they are there until the claim is ended.
// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; the others
// are null or valid.
enum TidingsTasksStatus tidings_tasks_flow_arguments(const struct TidingsTasksClaim *claim,
                                                     const struct TidingsTasksField **arguments,
                                                     size_t *count,
                                                     struct TidingsTasksError *error);

// Writes what is in an instance that a declared task has. They are numbered from 0, in the order
// in which they were appended. The bytes are there until the claim is ended; many are mapped, not
// copied.
// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; the others
// are null or valid.
enum TidingsTasksStatus tidings_tasks_flow_instance(const struct TidingsTasksClaim *claim,
                                                    size_t number,
                                                    const uint8_t **bytes,
                                                    size_t *count,
                                                    struct TidingsTasksError *error);

// Sets the result of a function that does a declared task: the next versions of the instances that
// it changes, in the order in which those were appended. They are copied. A task that changes one
// or none may use `tidings_tasks_result` as well.
// `result` is what the function was called with; `versions` is null or has `count` values, each
// of which has as many bytes as it says.
enum TidingsTasksStatus tidings_tasks_flow_result(struct TidingsTasksResult *result,
                                                  const struct TidingsTasksBytes *versions,
                                                  size_t count,
                                                  struct TidingsTasksError *error);

// Ends a claim of a declared task, as `tidings_tasks_complete`, with versions as
// `tidings_tasks_flow_result` has them. If they are not as many as it changes, it has failed.
// `claim` is null, or from `tidings_tasks_claim` and was not ended: it is by this, whatever is
// answered. `versions` is null or has `count` values, each of which has as many bytes as it says.
enum TidingsTasksStatus tidings_tasks_flow_complete(struct TidingsTasksClaim *claim,
                                                    const struct TidingsTasksBytes *versions,
                                                    size_t count,
                                                    struct TidingsTasksError *error);

// Makes a semaphore, or changes how many permits it has.
enum TidingsTasksStatus tidings_tasks_semaphore(const struct TidingsTasks *tasks,
                                                const char *semaphore,
                                                uint32_t permits,
                                                struct TidingsTasksError *error);

// Acquires permits of a semaphore and writes what has them to `held`; null, if there were none in
// time. Nobody overtakes those that wait. When this process dies they go to others.
enum TidingsTasksStatus tidings_tasks_acquire(const struct TidingsTasks *tasks,
                                              const char *semaphore,
                                              uint32_t permits,
                                              uint64_t timeout_ms,
                                              struct TidingsTasksPermits **held,
                                              struct TidingsTasksError *error);

// Whether permits are still this process's own, as far as it knows. If it was silent for too long,
// others have them.
// `held` is null, or from `tidings_tasks_acquire` and not released.
bool tidings_tasks_is_held(const struct TidingsTasksPermits *held);

// Gives permits back. `TIDINGS_TASKS_STATUS_SUPERSEDED`: others had them meanwhile.
// `held` is null, or from `tidings_tasks_acquire` and was not released: it is by this, whatever is
// answered. `error` is null or valid.
enum TidingsTasksStatus tidings_tasks_release(struct TidingsTasksPermits *held,
                                              struct TidingsTasksError *error);

// Writes how long a queue is to `length`; all is 0 if it has no task that has not ended.
enum TidingsTasksStatus tidings_tasks_queue(const struct TidingsTasks *tasks,
                                            const char *queue,
                                            struct TidingsTasksQueue *length,
                                            struct TidingsTasksError *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDINGS_TASKS_H */
