/*
 * Collective operations on unsigned numbers whose results are known, so that each can be checked.
 */
#ifndef TIDINGS_CHARACTERIZE_OPERATIONS_H
#define TIDINGS_CHARACTERIZE_OPERATIONS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "../machine/networks.h"

/* What an operation needs; on ranks outside of the communicator it does nothing. */
typedef struct Collective {
    MPI_Comm comm;      /* MPI_COMM_NULL outside */
    Networks *networks; /* for collectives of all ranks, or null */
    int rank, ranks, words;
    unsigned *mine, *all;
} Collective;

typedef struct CollectiveKind {
    const char *name, *parallel; /* in rows, alone and on several communicators at once */
    void (*run)(Collective *);
    bool (*is_right)(const Collective *);
    bool has_size, of_all; /* messages have a size; a rank has one for each other */
} CollectiveKind;

extern const CollectiveKind COLLECTIVES[];
extern const int COLLECTIVE_COUNT;

/* What a rank needs for an operation with messages of so many bytes. */
double collective_memory(const CollectiveKind *kind, int ranks, double bytes);

/* Makes room, and fills it. */
void collective_open(Collective *collective, MPI_Comm comm, Networks *networks,
                     const CollectiveKind *kind, int words);
void collective_close(Collective *collective);

#endif
