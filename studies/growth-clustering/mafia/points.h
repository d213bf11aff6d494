/*
 * points.h: points with planted clusters, each in a subspace of its own.
 *
 * Coordinates lie in [0, 1). A cluster is a box: in `box_dimensions` of the dimensions, chosen by
 * chance, its points lie in an interval of WIDTH fine bins, in the others anywhere. Intervals of
 * different clusters in one dimension do not touch, and begin at the edge of a fine bin, so that a
 * grid of these bins can show them exactly. A tenth of the points is noise.
 */
#ifndef POINTS_H
#define POINTS_H

#include <stdint.h>

#define FINE_BINS 50
#define WIDTH 5
#define MOST_DIMENSIONS 64
#define MOST_CLUSTERS 4

typedef struct Interval {
    int dimension;
    int first_bin, bins;
} Interval;

typedef struct Cluster {
    int dimensions;
    Interval interval[MOST_DIMENSIONS]; /* by dimension, ascending */
} Cluster;

typedef struct Points {
    long count;
    int dimensions;
    float *coordinate; /* of point i in dimension d: coordinate[i * dimensions + d] */
    int clusters;
    Cluster planted[MOST_CLUSTERS];
} Points;

/* The same seed makes the same points. Ends the program where there is no memory. */
Points points_make(long count, int dimensions, int clusters, int box_dimensions, uint64_t seed);
void points_free(Points *points);

#endif
