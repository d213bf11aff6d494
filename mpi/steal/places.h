/*
 * Where ranks are, as far as MPI says it: which of them share a core, a cache of the last level, a
 * package or a host. Of each kind of place a rank is known by the least rank that shares it, so how
 * far two are from each other is a comparison of four numbers. What MPI does not say is shared by
 * nobody; among ranks that are equally far, those are near whose numbers are.
 * Source: MPI_Comm_split_type of MPI 3.1 (hosts), of Open MPI (OMPI_COMM_TYPE_...), and of MPI 4.0
 * (MPI_COMM_TYPE_HW_GUIDED, which MPICH has).
 */
#ifndef TIDINGS_STEAL_PLACES_H
#define TIDINGS_STEAL_PLACES_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "tidings_steal.h"

/* Kinds of places, the smallest first, and how many there are: who shares none is farthest. */
enum { PLACE_CORE, PLACE_CACHE, PLACE_PACKAGE, PLACE_HOST, PLACES };

typedef struct Places {
    int *least; /* of each rank: the least rank of each kind of its places; null: it is not known */
    int ranks;
    TidingsStealBoard shown;
} Places;

/* Has all ranks know where each is. Collective. False if MPI refuses it or there is no memory. */
bool places_open(Places *places, MPI_Comm comm);

/* How far two ranks are from each other: the kind of the smallest place that both share. */
int places_far(const Places *places, uint32_t one, uint32_t other);

/* What a worker may look at; null where it is not known. */
const TidingsStealBoard *places_shown(const Places *places);

void places_close(Places *places);

#endif
