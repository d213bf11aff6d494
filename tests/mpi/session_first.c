/*
 * Begins with a session and opens another; with the word `world` it calls MPI_Init beside them.
 * What each has of ranks is printed; with the shim it must be that of a plain run of as many.
 */
#include <mpi.h>
#include <stdio.h>

static void print_ranks(MPI_Session session, const char *name)
{
    MPI_Group group;
    MPI_Comm comm;
    int rank, size, sum, is_initialized;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Initialized(&is_initialized);
    if (rank == 0)
        printf("%s: %d ranks, sum %d, initialized %d\n", name, size, sum, is_initialized);
    MPI_Comm_free(&comm);
}

static void world(int *count, char ***words)
{
    int rank, size, is_initialized;
    MPI_Init(count, words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Initialized(&is_initialized);
    if (rank == 0)
        printf("the world: %d ranks, initialized %d\n", size, is_initialized);
    MPI_Finalize();
}

int main(int count, char **words)
{
    MPI_Session first, second;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
    print_ranks(first, "first");
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    print_ranks(second, "second");
    if (count > 1)
        world(&count, &words);
    print_ranks(first, "first again");
    MPI_Session_finalize(&second);
    MPI_Session_finalize(&first);
    return 0;
}
