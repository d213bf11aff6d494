/* Half a round trip between rank 0 and the last rank, of a number of bytes, in microseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define TRIPS 10

int main(int count, char **words)
{
    int rank, ranks, bytes;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bytes = atoi(words[1]);
    char *message = calloc((size_t)bytes + 1, 1);
    double began_s = MPI_Wtime();
    for (int trip = 0; trip < 2 * TRIPS; trip++) {
        int from = trip % 2 ? ranks - 1 : 0, to = ranks - 1 - from;
        if (rank == from)
            MPI_Send(message, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
        else if (rank == to)
            MPI_Recv(message, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        printf("%.3f\n", (MPI_Wtime() - began_s) / (2 * TRIPS) * 1e6);
    free(message);
    MPI_Finalize();
    return 0;
}
