/* Time in MPI calls, summed up: STOPWATCH(&seconds, MPI_Barrier(comm)). */
#ifndef TIDINGS_MPI_STOPWATCH_H
#define TIDINGS_MPI_STOPWATCH_H

#include <mpi.h>

#define STOPWATCH(seconds, call)                  \
    do {                                          \
        double stopwatch_began_s = MPI_Wtime();   \
        call;                                     \
        *(seconds) += MPI_Wtime() - stopwatch_began_s; \
    } while (0)

#endif
