/*
 * What a rank knows of the work of others: each publishes how much it has, and the ranks gossip
 * (tidings_node.h) in the pauses of a phase, over the same mail. Entries are as old as gossip has
 * it; between phases nothing is sent.
 */
#ifndef TIDINGS_STEAL_BOARD_H
#define TIDINGS_STEAL_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "mail.h"
#include "tidings_node.h"
#include "tidings_steal.h"

/* What a rank had as it was looked up last, which is believed for half a unit. */
typedef struct Said {
    uint64_t work_ns, age_us, looked_us;
} Said;

typedef struct Board {
    Mail *mail;
    TidingsNode *node;
    TidingsTransport transport;
    double origin_s;
    uint64_t unit_us, due_us;
    uint64_t at_us; /* when a rank looks whom to ask: set before the board is shown */
    uint64_t *message; /* room for one, behind its segment */
    size_t room;
    Said *said; /* by each rank */
    TidingsStealBoard shown;
} Board;

/* Opens the board. False if there is no memory. */
bool board_open(Board *board, Mail *mail, uint64_t unit_us, uint64_t seed, double origin_s);

void board_close(Board *board);

/* Whether it is time for a turn, now or to take in what may have come. */
bool board_is_due(const Board *board, uint64_t now_us);

/* A turn: says how much work this rank has, sends and takes in. */
void board_turn(Board *board, uint64_t work_ns);

#endif
