/*
 * Messages that come in while the rank that gets them does something else: a receive begins when a
 * message was seen, and what has come whole is handed out in the order in which it was seen. A rank
 * that waited for each, a tenth of a millisecond for 49 kB, would run no task in that time.
 * Invariant: the messages from `first` on, `under_way` of them, are MPI's; all other room is free,
 * but for that of the message which was handed out last.
 */
#ifndef TIDINGS_STEAL_COMING_H
#define TIDINGS_STEAL_COMING_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many come in at a time. */
#define COMING_MOST 4

/* How long one takes to come that is no longer than those of gossip, in microseconds: on a
 * simulated machine one is waited for after this, as there it must not be tested for (mail.c). */
#define COMING_US 200

/* Room for a message, as large as the largest that was in it. */
typedef struct Room {
    uint8_t *at;
    size_t bytes;
} Room;

/* Makes it one byte long at least; false if there is no memory: then it is as it was. */
bool room_for(Room *room, size_t bytes);

/* One that comes in. */
typedef struct Incoming {
    MPI_Request request;
    int from, bytes;
    double since_s;
    Room room;
} Incoming;

typedef struct Coming {
    Incoming all[COMING_MOST + 1]; /* the one handed out last keeps its room meanwhile */
    int first, under_way;
} Coming;

/* Whether another one may begin to come in. */
bool coming_has_room(const Coming *coming);

/* Begins to take in a message that MPI_Iprobe has seen: an error of MPI, or MPI_ERR_NO_MEM. */
int coming_begin(Coming *coming, MPI_Comm comm, const MPI_Status *seen);

/* The message that was seen first, if it has come; null if not. Its bytes stay until the next one
 * is handed out. An error of MPI where it cannot come: then it is given up. */
int coming_next(Coming *coming, const Incoming **message);

/* Frees all room but that of messages which MPI may still write to. */
void coming_close(Coming *coming);

#endif
