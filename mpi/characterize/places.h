/*
 * Places: where each rank is, as it says itself, and what follows: which ranks share a node, and
 * the coordinates X, Y, Z, T of each on a torus (T: which of its node's ranks).
 *
 * Nodes are numbered by the number that their names end with, X fastest, as in SimGrid.
 */
#ifndef TIDINGS_CHARACTERIZE_PLACES_H
#define TIDINGS_CHARACTERIZE_PLACES_H

#include <mpi.h>
#include <stdbool.h>

#include "rows.h"
#include "settings.h"

/* X, Y, Z and T. */
#define AXES (DIMENSIONS + 1)

typedef struct Places {
    int ranks, nodes;
    int *node;         /* of each rank */
    int *core;         /* T of each rank: how many before it are on its node */
    int each;          /* ranks on a node, if all have as many; else 0 */
    bool mesh;         /* rows are not closed to rings */
    int length[AXES];  /* of the torus or mesh; of a row of nodes where it is not known */
    char unfit[200];   /* why there are no coordinates; empty if there are */
    char unknown[200]; /* why no routes are known; empty if they are */
} Places;

/* Asks every rank where it is; writes a row that says it. Collective. */
void places_find(Places *places, const Settings *settings, MPI_Comm world, Rows *rows);
void places_free(Places *places);

/* X, Y, Z, T of a rank. */
void places_coordinates(const Places *places, int rank, int at[AXES]);

/* The rank on a node, counted from 0; -1 if there is none. */
int places_rank(const Places *places, int node, int core);

/* The node at these coordinates, each taken modulo the ring's length. */
int places_node(const Places *places, int x, int y, int z);

#endif
