/*
 * grid.h: the adaptive grid. Each dimension is cut into windows where the density of points
 * changes; those that are dense are what clusters are made of.
 *
 * Fine bins that hold about equally many points are merged. A window is dense if it holds more than
 * ALPHA times what evenly spread points would give it. For each dense window there is a bitmap of
 * the points in it. (Nagesh, Goil and Choudhary, "MAFIA", 1999.)
 */
#ifndef GRID_H
#define GRID_H

#include "points.h"

#define ALPHA 1.5
/* Neighbouring bins whose counts differ by less than this share are one window. */
#define BETA 0.35

typedef struct Window {
    int dimension, first_bin, bins;
    long threshold; /* a unit with this window must hold more points */
    uint64_t *members;
} Window;

typedef struct Grid {
    int count; /* dense windows, by dimension and place, ascending */
    long words; /* of a bitmap */
    Window *window;
} Grid;

Grid grid_make(const Points *points);
void grid_free(Grid *grid);

#endif
