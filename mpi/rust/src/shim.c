/* What Rust needs of MPI beside the library: communicators as the numbers that Fortran has. */
#include "tidings_steal_mpi.h"

int tidings_rust_begin(int *is_ours);
void tidings_rust_end(void);
MPI_Fint tidings_rust_world(void);
void tidings_rust_shape(MPI_Fint comm, int *rank, int *ranks);
int tidings_rust_sum(MPI_Fint comm, uint64_t *values, int count);
void tidings_rust_free(MPI_Fint comm);
void tidings_rust_abort(int code);
size_t tidings_rust_size(int which);

int tidings_rust_begin(int *is_ours)
{
    int is_there = 0, provided = MPI_THREAD_SINGLE;
    *is_ours = 0;
    if (MPI_Initialized(&is_there)) return 1;
    if (is_there) return MPI_Query_thread(&provided) || provided < MPI_THREAD_FUNNELED;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided)) return 1;
    *is_ours = 1;
    return provided < MPI_THREAD_FUNNELED;
}

void tidings_rust_end(void)
{
    MPI_Finalize();
}

MPI_Fint tidings_rust_world(void)
{
    return MPI_Comm_c2f(MPI_COMM_WORLD);
}

void tidings_rust_shape(MPI_Fint comm, int *rank, int *ranks)
{
    MPI_Comm_rank(MPI_Comm_f2c(comm), rank);
    MPI_Comm_size(MPI_Comm_f2c(comm), ranks);
}

int tidings_rust_sum(MPI_Fint comm, uint64_t *values, int count)
{
    return MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_UINT64_T, MPI_SUM, MPI_Comm_f2c(comm));
}

void tidings_rust_free(MPI_Fint comm)
{
    MPI_Comm made = MPI_Comm_f2c(comm);
    MPI_Comm_free(&made);
}

void tidings_rust_abort(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

/* The bytes of what both languages declare, which Rust compares with its own. */
size_t tidings_rust_size(int which)
{
    switch (which) {
    case 0: return sizeof(TidingsStealOptions);
    case 1: return sizeof(TidingsStealPhase);
    case 2: return sizeof(TidingsStealError);
    default: return offsetof(TidingsStealPhase, counters);
    }
}
