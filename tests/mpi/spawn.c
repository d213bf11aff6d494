/* Spawns a copy of itself, and says whether that was refused. */
#include <mpi.h>
#include <stdio.h>

int main(int count, char **words)
{
    MPI_Comm between;
    int rank, class, answer;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    answer = MPI_Comm_spawn(words[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                            MPI_ERRCODES_IGNORE);
    MPI_Error_class(answer, &class);
    if (rank == 0)
        puts(class == MPI_ERR_SPAWN ? "refused" : "spawned");
    MPI_Finalize();
    return 7 * (rank == 1);
}
