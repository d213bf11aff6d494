/* Prints that it has begun, and then runs for a minute, unless it is ended. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **words)
{
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        puts("begun");
        fflush(stdout);
    }
    sleep(60);
    MPI_Finalize();
    return 0;
}
