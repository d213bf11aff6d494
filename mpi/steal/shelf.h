/*
 * Shelves: a place at each rank where it lays tasks out that others take by one-sided
 * communication, whatever it does meanwhile. On a shelf lies one message or none, in a window: a
 * word says how many bytes it has, and who swaps that word for 0 has the message, gets it, and adds
 * one to a second word when it has. The owner lays something there only when all before it was
 * taken and gotten.
 * Invariant: a message is taken by one rank, once.
 * Source: Cartier, Dinan, Larkins, "Optimizing work stealing communication with structured atomic
 * operations", ICPP 2021.
 */
#ifndef TIDINGS_STEAL_SHELF_H
#define TIDINGS_STEAL_SHELF_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidings_steal.h"

typedef struct Shelf {
    MPI_Win window;
    int rank;
    int64_t *own;   /* its words and bytes */
    int64_t laid;   /* messages of this rank that others were to take, without those taken back */
    bool is_open, is_unified, is_full, has_failed; /* full as far as this rank knows */
    /* With less than this, a half of what it had then, this rank divides again: who takes all that
     * lies there would leave it nothing. */
    uint64_t least_ns;
    uint8_t *taken; /* the last message that this rank took */
} Shelf;

/* Opens a shelf at each rank of a communicator. Collective. False if there is no memory. Without
 * one the functions below do nothing. */
bool shelf_open(Shelf *shelf, MPI_Comm comm);

/* Lays tasks of a worker on this rank's shelf, if nothing lies there, or too large a part of what
 * the worker has, and it has some to give. */
void shelf_lay_out(Shelf *shelf, TidingsStealWorker *worker);

/* A worker that has nothing else takes back what lies on this rank's shelf. */
void shelf_take_back(Shelf *shelf, TidingsStealWorker *worker);

/* Gives a worker that is about to ask a rank for tasks what lies on that rank's shelf; whether
 * anything does. */
bool shelf_answers(Shelf *shelf, TidingsStealWorker *worker, int victim, uint64_t now_us);

/* Ends them. Collective; nothing if there are none. */
void shelf_close(Shelf *shelf);

#endif
