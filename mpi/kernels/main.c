/* tidings-mpi-kernels: one of the compute kernels on all ranks, by name. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "kernels.h"

int main(int count, char **words)
{
    int rank, status = 2;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (count > 1 && strcmp(words[1], "fft") == 0)
        status = fft_main(MPI_COMM_WORLD, count - 1, words + 1);
    else if (count > 1 && strcmp(words[1], "ptrans") == 0)
        status = ptrans_main(MPI_COMM_WORLD, count - 1, words + 1);
    else if (rank == 0)
        fprintf(stderr, "usage: tidings-mpi-kernels fft|ptrans [OPTIONS]; see fft --help\n");
    MPI_Finalize();
    return status;
}
