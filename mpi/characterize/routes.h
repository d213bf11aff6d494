/*
 * Routes on a torus, dimension by dimension, the shorter way round, or on a mesh: how many links a
 * message passes, and how loaded each link is. What a mapping is predicted from, before it is
 * measured.
 */
#ifndef TIDINGS_CHARACTERIZE_ROUTES_H
#define TIDINGS_CHARACTERIZE_ROUTES_H

#include "places.h"

/* Links between two nodes. */
int routes_hops(const Places *places, int from, int to);

/* The loads of all links, in messages: six for each node. */
typedef struct Loads {
    const Places *places;
    double *of_link;
    double messages, hops; /* between nodes, and the links that they passed */
} Loads;

void loads_open(Loads *loads, const Places *places);
void loads_close(Loads *loads);
/* One more message; inside a node it passes no link. */
void loads_add(Loads *loads, int from_node, int to_node);
/* The messages of the link that has most, each taken for so many as the link says, if it does. */
double loads_most(const Loads *loads, const double *of_link);

/* Gives a value to the links between two nodes, in both directions; on a ring of two there are two
 * each way. Gives none if they are no neighbours, and is false. */
bool routes_set(const Places *places, const int between[2], double *of_link, double value);
/* How many links there are, of which a mesh does not use all. */
int routes_links(const Places *places);

#endif
