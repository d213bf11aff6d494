/*
 * kernels.h: the four kernels of MAFIA, which find the units of one dimension more.
 *
 * A unit is a set of windows of different dimensions; it is dense if it holds more points than each
 * of its windows asks for. All subsets of a dense unit are dense, so units of l + 1 dimensions are
 * joined from dense ones of l. A cluster of k dimensions has C(k, l) units of l, 2^k of all, and
 * what a kernel does with each gives its expected growth (Adinetz, Kraus, Meinke and Pleiter,
 * "GPUMAFIA", Euro-Par 2013; Shudler et al., ICS 2015, table 4):
 *
 *   gen     joins each two units that differ in one window: k^2 pairs a unit, of k windows each:
 *           k^3 2^k
 *   dedup   sorts the candidates, k^2 2^k with repetitions: k comparisons each, of k windows:
 *           k^4 2^k
 *   pcount  counts the points of each candidate, by the bitmaps of its k windows: k 2^k
 *   unjoin  looks for each subset of a dense unit, k of them, among the units of one dimension
 *           less, by k comparisons of k windows: k^3 2^k
 *
 * Each kernel counts its steps: windows compared or copied, of pcount words of bitmaps.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdbool.h>

#include "grid.h"

/* Units of the same number of dimensions: rows of numbers of windows, ascending in each row. */
typedef struct Units {
    int dimensions;
    long count;
    uint16_t *row;
} Units;

/* Candidates of one dimension more than `units`, which are sorted; some come several times. */
Units mafia_gen(const Units *units, const Grid *grid, long long *steps);

/* Sorts candidates and leaves each once. */
void mafia_dedup(Units *candidates, long long *steps);

/* Leaves the dense ones. */
void mafia_pcount(Units *candidates, const Grid *grid, long long *steps);

/* Marks the units that lie in a unit of one dimension more. */
void mafia_unjoin(const Units *units, const Units *larger, bool *absorbed, long long *steps);

#endif
