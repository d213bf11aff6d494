/*
 * Datagrams over MPI: a bounded ring of nonblocking sends.
 *
 * A message is copied into a slot and sent with MPI_Isend. If every slot is still in flight it is
 * dropped and counted, as a full network would drop it; nothing waits and nothing grows. It is not
 * MPI_Bsend, because Open MPI (4.1, 5.0) never matches a later message to the same rank after one
 * Bsend has failed for want of buffer. Messages go over a communicator of the ring's own.
 *
 * At its end all ranks call ring_drain: it takes in messages until as many were received as were
 * sent, over all ranks, so that none is lost and no rank leaves early.
 */
#ifndef TIDINGS_MPI_RING_H
#define TIDINGS_MPI_RING_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidings_node.h"

/* What happened to the messages of one rank. */
typedef struct RingCounters {
    uint64_t sent;     /* handed to MPI */
    uint64_t dropped;  /* no slot was free */
    uint64_t received; /* taken in, those of ring_drain as well */
} RingCounters;

/*
 * What a ring is told on a simulated machine: beside/simulated_ring.h. On a real one there is none.
 */
struct RingMachine;

typedef struct Ring {
    MPI_Comm comm;
    int slots;
    size_t message_bytes; /* the most of one message */
    MPI_Request *requests;
    int *indices; /* room for MPI_Testsome */
    uint8_t *outgoing; /* slots, each of a message and its frame */
    uint8_t *incoming;
    double origin; /* MPI_Wtime when the ring was made */
    bool took;     /* whether a message was taken in since ring_took was asked */
    void *simulated; /* what a ring on a simulated machine has besides */
    RingCounters counters;
} Ring;

/*
 * Makes a ring over a duplicate of `comm`, with `slots` messages of at most `message_bytes` in
 * flight. Collective over `comm`. False if there is no memory for it on some rank, or the ranks
 * disagree about message_bytes; then no rank has one.
 */
bool ring_open(Ring *ring, MPI_Comm comm, int slots, size_t message_bytes,
               const struct RingMachine *machine);

/* Gives everything back. Collective, after ring_drain. */
void ring_close(Ring *ring);

/* Microseconds since the ring was made, by MPI_Wtime. */
uint64_t ring_now_us(const Ring *ring);

/* The ring as a node's transport. */
TidingsTransport ring_transport(Ring *ring);

/* Whether a message was taken in since this was last asked. */
bool ring_took(Ring *ring);

/*
 * Sleeps until a message may have arrived, and no longer than that time on ring_now_us. Where
 * nobody wakes a process for a message, it sleeps for `nap_us` microseconds at most.
 */
void ring_rest(Ring *ring, uint64_t until_us, uint64_t nap_us);

/*
 * Takes in and throws away what is still on its way until, over all ranks, as many messages were
 * received as were sent. Collective; nothing may be sent afterwards.
 */
void ring_drain(Ring *ring);

#endif
