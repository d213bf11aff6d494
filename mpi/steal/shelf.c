/* See shelf.h. */
#include "shelf.h"

#include <stdlib.h>
#include <string.h>

/* The most bytes of a message that a shelf has room for. */
#define SHELF_BYTES 65536

/* The window: how many bytes lie there, how often somebody else has gotten some, and the bytes. */
enum { WORD, GOTTEN, LAID };

bool shelf_open(Shelf *shelf, MPI_Comm comm)
{
    int *model, is_there = 0;
    *shelf = (Shelf){ .taken = malloc(SHELF_BYTES) };
    MPI_Comm_rank(comm, &shelf->rank);
    MPI_Aint bytes = LAID * (MPI_Aint)sizeof(int64_t) + SHELF_BYTES;
    if (MPI_Win_allocate(bytes, sizeof(int64_t), MPI_INFO_NULL, comm, &shelf->own, &shelf->window))
        return false;
    MPI_Win_set_errhandler(shelf->window, MPI_ERRORS_RETURN);
    MPI_Win_get_attr(shelf->window, MPI_WIN_MODEL, &model, &is_there);
    shelf->is_unified = is_there && *model == MPI_WIN_UNIFIED;
    shelf->own[WORD] = shelf->own[GOTTEN] = 0;
    shelf->is_open = true;
    MPI_Barrier(comm);
    MPI_Win_lock_all(0, shelf->window);
    return shelf->taken;
}

/* Reads or replaces a word of a shelf, and waits for what was there. */
static int64_t change(Shelf *shelf, int rank, int place, int64_t value, MPI_Op operation)
{
    int64_t was = 0;
    shelf->has_failed |= MPI_Fetch_and_op(&value, &was, MPI_INT64_T, rank, place, operation,
                                          shelf->window) ||
                         MPI_Win_flush(rank, shelf->window);
    return shelf->has_failed ? 0 : was;
}

/* A word of the own shelf. Where memory and window are one it can be read as memory, which takes a
 * fraction of the time. */
static int64_t own(Shelf *shelf, int place)
{
    if (!shelf->is_unified) return change(shelf, shelf->rank, place, 0, MPI_NO_OP);
    MPI_Win_sync(shelf->window);
    return __atomic_load_n(&shelf->own[place], __ATOMIC_ACQUIRE);
}

/* Whether something may be laid there. */
static bool is_free(Shelf *shelf)
{
    if (own(shelf, WORD)) return false;
    shelf->is_full = false;
    return own(shelf, GOTTEN) == shelf->laid;
}

/* Takes back what lies on the own shelf. */
static void clear(Shelf *shelf, TidingsStealWorker *worker)
{
    size_t bytes = (size_t)change(shelf, shelf->rank, WORD, 0, MPI_REPLACE);
    shelf->is_full = false;
    if (!bytes) return;
    shelf->laid--;
    tidings_steal_worker_take_back(worker, (const uint8_t *)(shelf->own + LAID), bytes);
}

void shelf_lay_out(Shelf *shelf, TidingsStealWorker *worker)
{
    const uint8_t *message;
    size_t bytes;
    if (!shelf->is_open) return;
    if (shelf->is_full && tidings_steal_worker_remaining_ns(worker) < shelf->least_ns)
        clear(shelf, worker);
    if (!is_free(shelf)) return;
    tidings_steal_worker_lay_out(worker, SHELF_BYTES, &message, &bytes);
    if (!bytes) return;
    memcpy(shelf->own + LAID, message, bytes);
    MPI_Win_sync(shelf->window);
    change(shelf, shelf->rank, WORD, (int64_t)bytes, MPI_REPLACE);
    shelf->laid++;
    shelf->is_full = true;
    shelf->least_ns = tidings_steal_worker_remaining_ns(worker) / 2;
}

void shelf_take_back(Shelf *shelf, TidingsStealWorker *worker)
{
    if (shelf->is_full && tidings_steal_worker_is_idle(worker)) clear(shelf, worker);
}

bool shelf_answers(Shelf *shelf, TidingsStealWorker *worker, int victim, uint64_t now_us)
{
    static const int64_t one = 1;
    if (!shelf->is_open) return false;
    int64_t said = change(shelf, victim, WORD, 0, MPI_REPLACE);
    if (said <= 0 || said > SHELF_BYTES) return false;
    int bytes = (int)said;
    shelf->has_failed |= MPI_Get(shelf->taken, bytes, MPI_BYTE, victim, LAID, bytes, MPI_BYTE,
                                 shelf->window) ||
                         MPI_Win_flush(victim, shelf->window);
    /* Nobody waits for this: the owner looks when it has something to lay there. */
    MPI_Accumulate(&one, 1, MPI_INT64_T, victim, GOTTEN, 1, MPI_INT64_T, MPI_SUM, shelf->window);
    MPI_Win_flush_local(victim, shelf->window);
    if (shelf->has_failed) return false;
    shelf->has_failed = tidings_steal_worker_receive(worker, (uint32_t)victim, shelf->taken,
                                                     (size_t)bytes, now_us);
    return true;
}

void shelf_close(Shelf *shelf)
{
    if (shelf->is_open) {
        MPI_Win_unlock_all(shelf->window);
        MPI_Win_free(&shelf->window);
    }
    free(shelf->taken);
    *shelf = (Shelf){ 0 };
}
