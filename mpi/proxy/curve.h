/*
 * Hilbert's curve through a square of side 2^k: neighbours on the curve are neighbours in the
 * square, so a range of it is a patch with a short edge.
 */
#ifndef TIDINGS_MPI_CURVE_H
#define TIDINGS_MPI_CURVE_H

/* The place of a square on the curve. */
int curve_index(int side, int x, int y);

/* And back. */
void curve_place(int side, int index, int *x, int *y);

#endif
