/* What the files of mpi/steal share beside the headers. */
#ifndef TIDINGS_STEAL_INTERNAL_H
#define TIDINGS_STEAL_INTERNAL_H

#include "tidings_steal_mpi.h"

/* The communicator whose messages are the library's own. */
MPI_Comm tidings_steal_communicator(const TidingsSteal *steal);

#endif
