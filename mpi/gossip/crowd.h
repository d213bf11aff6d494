/*
 * The crowd: one rank that simulates all nodes of a cluster for which there is no rank, so that the
 * others have as much to do as among thousands.
 *
 * It is node `first` itself, and each unit it says news for as many of the nodes from `first` on as
 * go into a window, in turn, so that the window which it then sends is news from end to end. What
 * the others send to nodes without a rank comes to it; it takes that in unread, and answers nobody.
 * It is a load: it gossips as no node does, and its own ages are of no interest.
 */
#ifndef TIDINGS_MPI_CROWD_H
#define TIDINGS_MPI_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "tidings_node.h"

typedef struct Crowd {
    TidingsTransport below;
    uint32_t first, nodes; /* it simulates those from `first`, whose rank it is, to below `nodes` */
    bool is_here;          /* whether this rank is it */
    uint32_t next;         /* whose turn to have news it is */
} Crowd;

/* The transport `below`, between nodes of which those from `crowd->first` on are all one rank. */
TidingsTransport crowd_transport(Crowd *crowd, TidingsTransport below);

/* Has so many nodes say this, at `now_us`. */
void crowd_speak(Crowd *crowd, TidingsNode *node, uint64_t now_us, uint32_t nodes,
                 const uint8_t *payload, size_t bytes);

#endif
