/* See samples.h. */
#include "samples.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

static int ascending(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

double quartile(double *values, int count, int quarter)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count ? values[count * quarter / 4] : 0;
}

void exchange(int request_bytes, int answer_bytes, int rounds, Sample *exchanges)
{
    static uint8_t buffer[1 << 20];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < rounds; round++) {
        double began_s = MPI_Wtime();
        if (rank) {
            MPI_Send(buffer, request_bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(buffer, answer_bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, request_bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, answer_bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        }
        exchanges->all[exchanges->count++] = MPI_Wtime() - began_s;
    }
}
