#ifndef TIDINGS_RECOVERY_H
#define TIDINGS_RECOVERY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Selective recovery for C: phases of tasks that read before and add to blocks of arrays after, in
 * which workers may die. A participant without input and output, whose program carries messages
 * between participants and runs tasks. For ranks of an MPI program mpi/recover does both. No
 * threads, no global state; a participant must not be used by two threads at a time. Link with
 * libtidings_recovery_c.a, -lpthread, -ldl and -lm. Made by cbindgen from crates/recovery-ffi:
 * change it there.
 */


/*
 What a call answers. Only `TIDINGS_RECOVERY_STATUS_OK` is 0. Where it is another, nothing was
 done.
 */
typedef enum TidingsRecoveryStatus {
    /*
     All went well.
     */
    TIDINGS_RECOVERY_STATUS_OK = 0,
    /*
     A pointer that must not be null is null.
     */
    TIDINGS_RECOVERY_STATUS_NULL = 1,
    /*
     There is no such participant, or a number of the configuration is out of its range.
     */
    TIDINGS_RECOVERY_STATUS_CONFIGURATION = 2,
    /*
     There is no room for an array.
     */
    TIDINGS_RECOVERY_STATUS_ARRAY = 3,
    /*
     A phase is running.
     */
    TIDINGS_RECOVERY_STATUS_WITHIN_PHASE = 4,
    /*
     The others consider this participant dead.
     */
    TIDINGS_RECOVERY_STATUS_EXPELLED = 5,
    /*
     A plan has more tasks than can be numbered.
     */
    TIDINGS_RECOVERY_STATUS_TOO_MANY = 6,
    /*
     No task runs here, or its round has ended: what it adds is dropped.
     */
    TIDINGS_RECOVERY_STATUS_OUTSIDE_TASK = 7,
    /*
     The task has not declared that it adds to this block, or not so often.
     */
    TIDINGS_RECOVERY_STATUS_UNDECLARED = 8,
    /*
     What a task adds is not as long as the block.
     */
    TIDINGS_RECOVERY_STATUS_LENGTH = 9,
    /*
     The task declares more than 255 outputs, or a block that no array has.
     */
    TIDINGS_RECOVERY_STATUS_PLAN = 10,
    /*
     The block is lost.
     */
    TIDINGS_RECOVERY_STATUS_LOST = 11,
    /*
     Bytes are no message of a participant, or a text is not UTF-8.
     */
    TIDINGS_RECOVERY_STATUS_MALFORMED = 12,
    /*
     A call went wrong inside, a fault of the library; this participant does nothing any more.
     */
    TIDINGS_RECOVERY_STATUS_BROKEN = 13,
} TidingsRecoveryStatus;

/*
 What is to be done.
 */
typedef enum TidingsRecoverySays {
    /*
     Nothing.
     */
    TIDINGS_RECOVERY_SAYS_NOTHING = 0,
    /*
     Send the message to the participant `to`.
     */
    TIDINGS_RECOVERY_SAYS_SEND = 1,
    /*
     The phase is over: each block holds all that was declared, whoever died.
     */
    TIDINGS_RECOVERY_SAYS_COMPLETE = 2,
    /*
     The phase is over: `lost` blocks are lost; `tidings_recovery_explain` names them.
     */
    TIDINGS_RECOVERY_SAYS_REFUSED = 3,
    /*
     The phase is over here: the others consider this participant dead.
     */
    TIDINGS_RECOVERY_SAYS_EXPELLED = 4,
} TidingsRecoverySays;

/*
 What is done when a death is learnt of.
 */
typedef enum TidingsRecoveryScheme {
    /*
     All go on, and what is missing when nothing is left runs then.
     */
    TIDINGS_RECOVERY_SCHEME_LAZY = 0,
    /*
     All stop, and share out all that is missing.
     */
    TIDINGS_RECOVERY_SCHEME_COLLECTIVE = 1,
    /*
     Nobody stops: who began with lost tasks, or its backup, adds them again.
     */
    TIDINGS_RECOVERY_SCHEME_NON_COLLECTIVE = 2,
} TidingsRecoveryScheme;

/*
 What an element of an array is.
 */
typedef enum TidingsRecoveryKind {
    /*
     Integers of 64 bits, which wrap.
     */
    TIDINGS_RECOVERY_KIND_INTEGERS = 0,
    /*
     Doubles, whose sums differ by their rounding from order to order.
     */
    TIDINGS_RECOVERY_KIND_DOUBLES = 1,
} TidingsRecoveryKind;

/*
 A participant. Only pointers to it leave the library.
 */
typedef struct TidingsRecovery TidingsRecovery;

/*
 How a participant is made. All but `me` is the same at all; 0 is what is usual.
 */
typedef struct TidingsRecoveryConfig {
    /*
     Its number, below `workers`.
     */
    uint32_t me;
    /*
     How many there are.
     */
    uint32_t workers;
    /*
     A `TidingsRecoveryScheme`.
     */
    uint32_t scheme;
    /*
     Whether thieves ask their neighbours to send them tasks, instead of asking at random again.
     */
    bool lifelines;
    /*
     Of a message and its answer, in microseconds; 0: 10.
     */
    uint64_t round_trip_us;
    /*
     Contributions of one participant on their way, at which it takes no more tasks; 0: 64.
     */
    uint32_t most_pending;
    /*
     Of random draws.
     */
    uint64_t seed;
} TidingsRecoveryConfig;

/*
 An array of blocks, of zeros at first.
 */
typedef struct TidingsRecoveryArray {
    /*
     What errors call it, up to a null character.
     */
    const char *name;
    /*
     How many blocks it has.
     */
    uint32_t blocks;
    /*
     Elements of a block.
     */
    uint32_t words;
    /*
     A `TidingsRecoveryKind`.
     */
    uint32_t kind;
    /*
     Whether each block has a copy at another participant.
     */
    bool copied;
    /*
     Whether a block of which no copy is left begins again if it was zero when the phase began;
     else the phase is refused then.
     */
    bool recompute;
} TidingsRecoveryArray;

/*
 The place of a block.
 */
typedef struct TidingsRecoveryPlace {
    /*
     The number of its array.
     */
    uint16_t array;
    /*
     Its number in the array.
     */
    uint32_t block;
} TidingsRecoveryPlace;

/*
 What a phase declares: functions that say the same at all participants, and do not change.
 */
typedef struct TidingsRecoveryPlan {
    /*
     Passed to the functions; it stays until the next phase begins.
     */
    void *user;
    /*
     How many tasks there are; they are numbered from 0.
     */
    uint64_t tasks;
    /*
     Writes the places of the blocks to which a task adds, in an order that does not change, to
     `places`, which has room for 255; how many there are.
     */
    size_t (*outputs)(void *user, uint64_t task, struct TidingsRecoveryPlace *places);
    /*
     How long a task is predicted to run, in nanoseconds; may be null.
     */
    uint64_t (*work_ns)(void *user, uint64_t task);
} TidingsRecoveryPlan;

/*
 What is to be done next.
 */
typedef struct TidingsRecoveryOutput {
    /*
     What it says.
     */
    enum TidingsRecoverySays says;
    /*
     To whom the message goes.
     */
    uint32_t to;
    /*
     The message, until the next call with this participant.
     */
    const uint8_t *message;
    /*
     Its bytes.
     */
    size_t bytes;
    /*
     Blocks that are lost.
     */
    uint32_t lost;
} TidingsRecoveryOutput;

/*
 What a participant has done since it was made.
 */
typedef struct TidingsRecoveryCounters {
    /*
     Tasks that it ran.
     */
    uint64_t executed;
    /*
     Requests that brought tasks.
     */
    uint64_t steals;
    /*
     Rounds that it entered.
     */
    uint64_t rounds;
    /*
     Tasks that it started again.
     */
    uint64_t again;
    /*
     Contributions to its blocks that it added.
     */
    uint64_t applied;
    /*
     Those that were there already and were dropped.
     */
    uint64_t dropped;
    /*
     Blocks that it began again.
     */
    uint64_t begun_again;
    /*
     Blocks that it sent to a new copy.
     */
    uint64_t copied;
} TidingsRecoveryCounters;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 A sentence that says what a status means. It lives as long as the program.
 */
const char *tidings_recovery_status_text(uint32_t status);

/*
 Makes a participant and writes a pointer to it.

 `config` and `recovery` are null or valid.
 */
enum TidingsRecoveryStatus tidings_recovery_new(const struct TidingsRecoveryConfig *config,
                                                struct TidingsRecovery **recovery);

/*
 Frees a participant; null is allowed.

 `recovery` is null or from `tidings_recovery_new`, was not freed, and nobody else uses it.
 */
void tidings_recovery_free(struct TidingsRecovery *recovery);

/*
 Makes an array, between phases, and writes its number. All make the same in the same order.

 `array` and `number` are null or valid, and the name ends with a
 null character.
 */
enum TidingsRecoveryStatus tidings_recovery_create(struct TidingsRecovery *recovery,
                                                   const struct TidingsRecoveryArray *array,
                                                   uint16_t *number);

/*
 Sets all elements of an array to zero when the next phase begins. All do so.
 */
enum TidingsRecoveryStatus tidings_recovery_zero(struct TidingsRecovery *recovery,
                                                 uint16_t array);

/*
 Enters the next phase. Name and plan are the same at all participants.

 `name` has `bytes` bytes, and `plan` is null or valid; what it
 names stays as it is until the next phase begins, or the participant is freed.
 */
enum TidingsRecoveryStatus tidings_recovery_begin(struct TidingsRecovery *recovery,
                                                  const uint8_t *name,
                                                  size_t bytes,
                                                  const struct TidingsRecoveryPlan *plan,
                                                  uint64_t now_us);

/*
 Writes the number of the task to be run; false if there is none. Without one the participant
 does what an idle one has to.

 `task` is null or valid.
 */
bool tidings_recovery_next(struct TidingsRecovery *recovery, uint64_t now_us, uint64_t *task);

/*
 Whether the task that runs was started again, after a death.
 */
bool tidings_recovery_is_again(struct TidingsRecovery *recovery);

/*
 The task that runs will add these elements, which are copied, to a block.

 `elements` has `words` elements of 64 bits.
 */
enum TidingsRecoveryStatus tidings_recovery_add(struct TidingsRecovery *recovery,
                                                struct TidingsRecoveryPlace place,
                                                const uint64_t *elements,
                                                size_t words);

/*
 The task that ran took this long, and adds what was said. After another status than
 `TIDINGS_RECOVERY_STATUS_OK` and `_OUTSIDE_TASK` it still runs, and has said nothing.
 */
enum TidingsRecoveryStatus tidings_recovery_finished(struct TidingsRecovery *recovery,
                                                     uint64_t took_ns,
                                                     uint64_t now_us);

/*
 Takes in a message.

 `message` is null or has `bytes` bytes.
 */
enum TidingsRecoveryStatus tidings_recovery_receive(struct TidingsRecovery *recovery,
                                                    uint32_t from,
                                                    const uint8_t *message,
                                                    size_t bytes,
                                                    uint64_t now_us);

/*
 A participant has died: nothing comes from it any more.
 */
enum TidingsRecoveryStatus tidings_recovery_died(struct TidingsRecovery *recovery,
                                                 uint32_t dead,
                                                 uint64_t now_us);

/*
 Writes what is to be done next to `output`. Call it until it says
 `TIDINGS_RECOVERY_SAYS_NOTHING`, after each other call.

 `output` is null or valid.
 */
enum TidingsRecoveryStatus tidings_recovery_output(struct TidingsRecovery *recovery,
                                                   struct TidingsRecoveryOutput *output);

/*
 Writes where the elements of a block are until the next call with this participant, and how
 many, after a phase; null if another owns the block.

 `elements` and `words` are null or valid.
 */
enum TidingsRecoveryStatus tidings_recovery_block(struct TidingsRecovery *recovery,
                                                  struct TidingsRecoveryPlace place,
                                                  const uint64_t **elements,
                                                  size_t *words);

/*
 Writes what was lost when the last phase ended, in words, up to a null character.

 `text` has `bytes` bytes.
 */
enum TidingsRecoveryStatus tidings_recovery_explain(struct TidingsRecovery *recovery,
                                                    char *text,
                                                    size_t bytes);

/*
 Writes what it has done.

 `counters` is null or valid.
 */
enum TidingsRecoveryStatus tidings_recovery_counters(struct TidingsRecovery *recovery,
                                                     struct TidingsRecoveryCounters *counters);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDINGS_RECOVERY_H */
