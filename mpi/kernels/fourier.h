/* The discrete Fourier transform of a vector in one rank's memory. */
#ifndef TIDINGS_MPI_FOURIER_H
#define TIDINGS_MPI_FOURIER_H

#include <complex.h>
#include <stddef.h>

/* exp(-2 pi i k / n), with k reduced first, so that large k lose no digits. */
double complex fourier_root(unsigned long long k, unsigned long long n);

/*
 * Transforms a row of `length` elements, a power of two, in place; `roots` has length / 2 of them.
 */
void fourier_row(double complex *row, size_t length, const double complex *roots);

/* Writes the roots that fourier_row needs. */
void fourier_roots(double complex *roots, size_t length);

#endif
