/*
 * How a rank of a simulated machine knows that a message comes, and how an idle one waits for that
 * or for a time: it sleeps until one of the two. Asking MPI again and again takes the simulator as
 * long as a task each time. All ranks are threads of control of one process, so what goes to each
 * is counted there, by who sends it, and what it takes in, so that who sent it knows.
 * Invariant: a rank's `coming` are the messages of a kind that were sent to it and not yet taken in
 * there; those of one kind from one rank are taken in in their order. Counts are changed by one
 * rank at a time, as one runs at a time.
 * On a real machine nothing of this does anything.
 */
#ifndef TIDINGS_STEAL_BELL_H
#define TIDINGS_STEAL_BELL_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Kinds of messages, which are looked for apart. A rank that waits is woken by those of tasks. */
typedef enum MailKind { MAIL_TASKS = 1, MAIL_GOSSIP = 2 } MailKind;

/* What goes to one rank, by kind, and what that rank sleeps on. */
typedef struct BellRank {
    void *semaphore;
    int coming[3];
    bool is_asleep;
    uint32_t *rung, *taken; /* messages to each other, and of each other; by kind, then rank */
} BellRank;

/* A message that was sent: the how manieth of its kind from this rank to that one. */
typedef struct BellRung {
    MailKind kind;
    int to;
    uint32_t number;
} BellRung;

/* Those of all ranks, by rank, and one's own. */
typedef struct Bell {
    BellRank *all, *own;
    int rank, ranks;
} Bell;

/* Whether mpi.h is SMPI's. */
bool bell_is_simulated(void);

/* Makes one's bell and finds those of all ranks. Collective. False if there is no memory. */
bool bell_open(Bell *bell, MPI_Comm comm);

/* Says that a message goes to a rank; before it is sent. */
BellRung bell_ring(Bell *bell, MailKind kind, int to);

/* Says that this rank has taken in a message of another. */
void bell_taken(Bell *bell, MailKind kind, int from);

/* Whether a message was taken in. */
bool bell_was_taken(const Bell *bell, const BellRung *rung);

/* Whether it is known that no message of a kind is there or comes. */
bool bell_is_silent(const Bell *bell, MailKind kind);

/* Waits until a message of tasks goes to this rank, which is true at once if one did that was not
 * taken in yet, or for so long; whether a message does. */
bool bell_wait(Bell *bell, double seconds);

/* Nobody sends anything any more. Collective. */
void bell_close(Bell *bell, MPI_Comm comm);

#endif
