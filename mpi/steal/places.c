/* See places.h. */
#include "places.h"

#include <stdlib.h>

/* Within a kind of place, ranks are ordered by how far their numbers are. */
#define NUMBERS 24

/* Splits ranks by a kind of place, null where MPI does not know of it. */
static int split(MPI_Comm comm, int kind, int rank, MPI_Comm *same)
{
    *same = MPI_COMM_NULL;
    if (kind == PLACE_HOST)
        return MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, same);
#if defined(OPEN_MPI)
    static const int types[] = { OMPI_COMM_TYPE_CORE, OMPI_COMM_TYPE_L3CACHE,
                                 OMPI_COMM_TYPE_SOCKET };
    return MPI_Comm_split_type(comm, types[kind], rank, MPI_INFO_NULL, same);
#elif defined(MPI_COMM_TYPE_HW_GUIDED)
    static const char *const types[] = { "core", "l3cache", "package" };
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", types[kind]);
    int error = MPI_Comm_split_type(comm, MPI_COMM_TYPE_HW_GUIDED, rank, info, same);
    MPI_Info_free(&info);
    return error;
#else
    return MPI_SUCCESS;
#endif
}

/* The least rank that shares a kind of place with this one. That MPI refuses a kind, all know: it
 * is the same at all. */
static int least(MPI_Comm comm, int kind, int rank)
{
    MPI_Comm same;
    int found = rank;
    if (split(comm, kind, rank, &same) || same == MPI_COMM_NULL) return rank;
    MPI_Allreduce(&rank, &found, 1, MPI_INT, MPI_MIN, same);
    MPI_Comm_free(&same);
    return found;
}

int places_far(const Places *places, uint32_t one, uint32_t other)
{
    const int *here = &places->least[PLACES * (size_t)one];
    const int *there = &places->least[PLACES * (size_t)other];
    int kind = 0;
    while (kind < PLACES && here[kind] != there[kind])
        kind++;
    return kind;
}

static uint32_t distance(void *user, uint32_t one, uint32_t other)
{
    const Places *places = user;
    uint32_t most = (uint32_t)places->ranks;
    if (one >= most || other >= most) return UINT32_MAX;
    uint32_t numbers = one > other ? one - other : other - one;
    const uint32_t bound = (1u << NUMBERS) - 1;
    uint32_t far = (uint32_t)places_far(places, one, other);
    return far << NUMBERS | (numbers < bound ? numbers : bound);
}

bool places_open(Places *places, MPI_Comm comm)
{
    int rank, own[PLACES];
    *places = (Places){ 0 };
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &places->ranks);
    for (int kind = 0; kind < PLACES; kind++)
        own[kind] = least(comm, kind, rank);
    places->least = calloc((size_t)places->ranks * PLACES, sizeof *places->least);
    places->shown = (TidingsStealBoard){ .user = places, .distance = distance };
    /* All have to, also where one has no memory. */
    int has_room = places->least != NULL, have_room = 0;
    if (MPI_Allreduce(&has_room, &have_room, 1, MPI_INT, MPI_MIN, comm) || !have_room) return false;
    return !MPI_Allgather(own, PLACES, MPI_INT, places->least, PLACES, MPI_INT, comm);
}

const TidingsStealBoard *places_shown(const Places *places)
{
    return places->least ? &places->shown : NULL;
}

void places_close(Places *places)
{
    free(places->least);
    *places = (Places){ 0 };
}
