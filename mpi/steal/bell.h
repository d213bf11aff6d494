/*
 * How an idle rank of a simulated machine waits for a message and for a time: it sleeps until one
 * of the two, where MPI has it look again and again, and each look takes the simulator as long as a
 * task. All ranks are threads of control of one process, so each has a bell there that the others
 * ring when they send to it.
 * Invariant: a bell has rung as often as messages were sent to its rank and not yet taken in there.
 * On a real machine nothing of this does anything.
 */
#ifndef TIDINGS_STEAL_BELL_H
#define TIDINGS_STEAL_BELL_H

#include <mpi.h>
#include <stdbool.h>

/* The bells of all ranks, by rank, and one's own. */
typedef struct Bell {
    void **all, *own;
} Bell;

/* Whether mpi.h is SMPI's. */
bool bell_is_simulated(void);

/* Makes one's bell and finds those of all ranks. Collective. False if there is no memory. */
bool bell_open(Bell *bell, MPI_Comm comm);

/* Says that a message goes to a rank; before it is sent. */
void bell_ring(Bell *bell, int to);

/* Says that this rank has taken in a message. */
void bell_taken(Bell *bell);

/* Waits until a message goes to this rank, which is true at once if one did that was not taken in
 * yet, or for so long; whether a message does. */
bool bell_wait(Bell *bell, double seconds);

/* Nobody sends anything any more. Collective. */
void bell_close(Bell *bell, MPI_Comm comm);

#endif
