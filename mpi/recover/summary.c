/* See summary.h. */
#include "summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sums.h"
#include "tidings_tasks.h"

/* The bytes of a value, below the 16 KiB that one may have, and what the first key names. */
#define VALUE_BYTES 16000
#define KEY "tidings-recover"

/* Tags are above those of sums. */
enum { MAGIC = 0x534d4d31, COUNT_TAG = 4097, BLOCKS_TAG = 4098 };

/* What the first key says. */
typedef struct Head {
    uint32_t magic, place, blocks, words;
    uint64_t step, hash;
} Head;

static TidingsTasks *tasks; /* null: not opened */

static bool fail(Saved *saved, const char *store, const char *why)
{
    snprintf(saved->trouble, sizeof saved->trouble, "the summary in %.100s: %.300s", store, why);
    return false;
}

static bool open_store(const char *store, Saved *saved)
{
    TidingsTasksOptions options = { .store = store, .name = "recover" };
    TidingsTasksError error;
    if (tasks || tidings_tasks_open(&options, &tasks, &error) == TIDINGS_TASKS_STATUS_OK)
        return true;
    return fail(saved, store, error.text);
}

static void name_key(char key[64], uint32_t place, size_t number)
{
    snprintf(key, 64, KEY "/%u/%zu", place, number);
}

/* Reads the first key; a step of 0 if there is none. */
static bool read_head(const char *store, Saved *saved, Head *head, uint64_t *revision)
{
    TidingsTasksOutcome outcome;
    TidingsTasksError error;
    *head = (Head){ 0 };
    *revision = 0;
    TidingsTasksStatus status = tidings_tasks_get(tasks, KEY, &outcome, revision, &error);
    if (status == TIDINGS_TASKS_STATUS_NOT_FOUND) return true;
    if (status != TIDINGS_TASKS_STATUS_OK) return fail(saved, store, error.text);
    bool is_whole = outcome.result && outcome.result_bytes == sizeof *head;
    if (is_whole) memcpy(head, outcome.result, sizeof *head);
    tidings_tasks_outcome_free(&outcome);
    if (!is_whole || head->magic != MAGIC || head->place > 1 || !head->step)
        return fail(saved, store, "its first key is torn");
    return true;
}

/* Reads the blocks of a place. */
static bool read_blocks(const char *store, Saved *saved, uint32_t place)
{
    size_t bytes = saved_bytes(saved);
    for (size_t at = 0; at < bytes; at += VALUE_BYTES) {
        char key[64];
        TidingsTasksOutcome outcome;
        TidingsTasksError error;
        size_t count = bytes - at < VALUE_BYTES ? bytes - at : VALUE_BYTES;
        name_key(key, place, at / VALUE_BYTES);
        if (tidings_tasks_get(tasks, key, &outcome, NULL, &error) != TIDINGS_TASKS_STATUS_OK)
            return fail(saved, store, error.text);
        bool is_whole = outcome.result && outcome.result_bytes == count;
        if (is_whole) memcpy((char *)saved->elements + at, outcome.result, count);
        tidings_tasks_outcome_free(&outcome);
        if (!is_whole) return fail(saved, store, "a part of it is torn");
    }
    return true;
}

/* The first rank reads. */
static bool read_store(const char *store, Saved *saved)
{
    Head head;
    uint64_t revision;
    saved->step = 0;
    if (!open_store(store, saved) || !read_head(store, saved, &head, &revision)) return false;
    if (!head.step) return true;
    if (head.blocks != saved->blocks || head.words != saved->words)
        return fail(saved, store, "it is of an array of another shape: name another store");
    if (!saved_room(saved) || !read_blocks(store, saved, head.place)) return false;
    if (saved_hash(0, saved->elements, saved_bytes(saved)) != head.hash)
        return fail(saved, store, "it does not fit its hash: remove the store to begin anew");
    saved->step = head.step;
    return true;
}

bool summary_read(MPI_Comm comm, const char *store, Saved *saved)
{
    int rank, is_read = 1;
    MPI_Comm_rank(comm, &rank);
    if (!rank) is_read = read_store(store, saved);
    if (MPI_Bcast(&is_read, 1, MPI_INT, 0, comm) || !is_read) return false;
    if (MPI_Bcast(&saved->step, 1, MPI_UINT64_T, 0, comm)) return false;
    if (!saved->step) return true;
    int has_room = saved_room(saved), all_have = 0;
    if (MPI_Allreduce(&has_room, &all_have, 1, MPI_INT, MPI_MIN, comm) || !all_have) return false;
    for (uint32_t block = 0; block < saved->blocks; block++) {
        uint64_t *elements = saved->elements + (size_t)block * saved->words;
        if (MPI_Bcast(elements, (int)saved->words, MPI_UINT64_T, 0, comm)) return false;
    }
    return true;
}

/* Sends the blocks of this rank to the first. */
static bool give(MPI_Comm comm, int first, int tag, const Saved *saved, CheckpointBlock block,
                 void *user)
{
    size_t words = 1 + (size_t)saved->words;
    uint64_t *room = malloc(words * sizeof *room), count = 0;
    bool is_sent = room != NULL;
    for (uint32_t number = 0; number < saved->blocks; number++)
        count += block(user, number) != NULL;
    if (!room) count = 0;
    is_sent &= !MPI_Send(&count, 1, MPI_UINT64_T, first, tag + COUNT_TAG, comm);
    for (uint32_t number = 0; is_sent && number < saved->blocks; number++) {
        const uint64_t *elements = block(user, number);
        if (!elements) continue;
        *room = number;
        memcpy(room + 1, elements, saved->words * sizeof *room);
        is_sent = !MPI_Send(room, (int)words, MPI_UINT64_T, first, tag + BLOCKS_TAG, comm);
    }
    free(room);
    return is_sent;
}

/* Takes the blocks of a rank, of which `room` has place for one; how many came. */
static uint64_t take(MPI_Comm comm, int from, int tag, Saved *saved, uint64_t *room)
{
    uint64_t count = 0, taken = 0;
    int words = 1 + (int)saved->words;
    if (MPI_Recv(&count, 1, MPI_UINT64_T, from, tag + COUNT_TAG, comm, MPI_STATUS_IGNORE)) return 0;
    for (; taken < count; taken++) {
        if (MPI_Recv(room, words, MPI_UINT64_T, from, tag + BLOCKS_TAG, comm, MPI_STATUS_IGNORE))
            break;
        if (*room < saved->blocks)
            memcpy(saved->elements + *room * saved->words, room + 1, saved->words * sizeof *room);
    }
    return taken;
}

/* The first rank takes the blocks of all; whether it has each. Who dies leaves some out. */
static bool collect(MPI_Comm comm, const bool *lives, int tag, Saved *saved, CheckpointBlock block,
                    void *user)
{
    int ranks;
    uint64_t taken = 0;
    uint64_t *room = malloc((1 + (size_t)saved->words) * sizeof *room);
    MPI_Comm_size(comm, &ranks);
    if (!room || !saved_room(saved)) MPI_Abort(MPI_COMM_WORLD, 3);
    for (uint32_t number = 0; number < saved->blocks; number++) {
        const uint64_t *elements = block(user, number);
        if (!elements) continue;
        memcpy(saved->elements + (size_t)number * saved->words, elements,
               saved->words * sizeof *elements);
        taken++;
    }
    for (int rank = sums_first(lives) + 1; rank < ranks; rank++)
        if (lives[rank]) taken += take(comm, rank, tag, saved, room);
    free(room);
    return taken == saved->blocks;
}

/* The first rank writes. */
static bool write_store(const char *store, Saved *saved)
{
    Head before;
    uint64_t revision;
    TidingsTasksError error;
    size_t bytes = saved_bytes(saved);
    if (!open_store(store, saved) || !read_head(store, saved, &before, &revision)) return false;
    Head head = { MAGIC, !before.place, saved->blocks, saved->words, saved->step,
                  saved_hash(0, saved->elements, bytes) };
    for (size_t at = 0; at < bytes; at += VALUE_BYTES) {
        char key[64];
        size_t count = bytes - at < VALUE_BYTES ? bytes - at : VALUE_BYTES;
        name_key(key, head.place, at / VALUE_BYTES);
        if (tidings_tasks_set(tasks, key, (const uint8_t *)saved->elements + at, count,
                              TIDINGS_TASKS_ANY, NULL, &error) != TIDINGS_TASKS_STATUS_OK)
            return fail(saved, store, error.text);
    }
    if (tidings_tasks_set(tasks, KEY, (const uint8_t *)&head, sizeof head, revision, NULL,
                          &error) != TIDINGS_TASKS_STATUS_OK)
        return fail(saved, store, error.text);
    return true;
}

SummaryEnd summary_write(MPI_Comm comm, const bool *lives, const char *store, Saved *saved,
                   CheckpointBlock block, void *user)
{
    static int calls;
    int me, first = sums_first(lives), tag = 2 * (calls++ % 1024);
    MPI_Comm_rank(comm, &me);
    bool is_there = me == first ? collect(comm, lives, tag, saved, block, user)
                                : give(comm, first, tag, saved, block, user);
    if (!sums_agree(comm, is_there)) return SUMMARY_AGAIN;
    bool is_kept = sums_agree(comm, me != first || write_store(store, saved));
    return is_kept ? SUMMARY_KEPT : SUMMARY_FAILED;
}

void summary_close(void)
{
    tidings_tasks_close(tasks);
    tasks = NULL;
}
