/*
 * The ring on a simulated machine: messages of true size on the wire, of which only what a node
 * needs to read is copied, and a sleep that ends at once when a message arrives.
 *
 * Nodes here hold payloads of a few bytes; the wire carries `wire_payload_bytes` for each. The
 * work of making and of merging an entry is charged at a stated figure (machine_work), on a core
 * of the gossip process's own. Looking for messages again and again would make the simulator do
 * nothing else, so the ring waits for a message, for word to stop, or for its alarm: a rank that
 * answers at a given time. This file's functions stand in for those of gossip/ring.c, declared in
 * gossip/ring.h.
 */
#ifndef TIDINGS_MPI_SIMULATED_RING_H
#define TIDINGS_MPI_SIMULATED_RING_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct RingMachine {
    MPI_Comm world;          /* has the gossip ranks, their alarms, and whoever says stop */
    int alarm;               /* the rank of this node's alarm */
    MPI_Request *stop;       /* ends when the node is to stop */
    uint32_t window_entries; /* the most of one message */
    uint32_t payload_bytes, wire_payload_bytes; /* of an entry: in the node, and on the wire */
    double entry_us;         /* work of an entry sent or received */
    uint64_t wire_bytes;     /* counted: bytes that were sent */
} RingMachine;

/* The life of an alarm rank: answers node rank `node` of `world` at the times it asks for. */
void alarm_live(MPI_Comm world, int node);

/* Ends an alarm rank. */
void alarm_end(MPI_Comm world, int alarm);

#endif
