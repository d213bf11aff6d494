/*
 * Orders: which rank of an application is at which place of the machine. XYZT means that ranks
 * are numbered along X first, then Y, Z and the cores of a node; Hilbert along a curve through the
 * torus whose steps are short, the cores of a node first; a file names the rank at each place.
 *
 * An order is taken without starting the program again: by a communicator whose ranks are numbered
 * so.
 */
#ifndef TIDINGS_CHARACTERIZE_ORDERS_H
#define TIDINGS_CHARACTERIZE_ORDERS_H

#include "bench.h"

#define ORDER_NAME 48
#define MOST_ORDERS 26

typedef struct Order {
    char name[ORDER_NAME];
    int axes[AXES]; /* the fastest first; of a permutation */
    enum { PERMUTATION, HILBERT, FILE_OF_RANKS } kind;
} Order;

/* The orders that differ on this machine; returns how many. */
int orders_list(const Bench *bench, Order orders[MOST_ORDERS]);

/* WORLD in this order; MPI_COMM_NULL, with a reason on all ranks, if it cannot be. Collective. */
MPI_Comm order_comm(const Bench *bench, const Order *order, char *reason, size_t reason_bytes);

/* The place of x, y, z on a Hilbert curve through a cube of 2^bits. */
unsigned hilbert_index(unsigned bits, const unsigned place[DIMENSIONS]);

#endif
