/*
 * The two communication patterns of the HPC Challenge that Levy et al. (ROSS'14) measure with: a
 * global FFT, whose all-to-alls load the network's bisection, and a transposition, in which each
 * rank meets few partners. Each prints one JSON object on rank 0 and returns an exit status: 0
 * done, 1 a wrong result, 2 a wrong command line. docs/reference/mpi.md has the options.
 */
#ifndef TIDINGS_MPI_KERNELS_H
#define TIDINGS_MPI_KERNELS_H

#include <mpi.h>

int fft_main(MPI_Comm comm, int count, char **words);
int ptrans_main(MPI_Comm comm, int count, char **words);

#endif
