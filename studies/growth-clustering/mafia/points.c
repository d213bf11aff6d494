/* See points.h. */
#include "points.h"

#include "room.h"

/* SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int draw_below(uint64_t *state, int bound)
{
    return (int)(draw(state) % (uint64_t)bound);
}

static float draw_unit(uint64_t *state)
{
    return (float)(draw(state) >> 40) / (float)(1 << 24);
}

/* Chooses a cluster's box: its intervals lie in a stripe of bins that no other cluster has. */
static void plant(Points *points, int at, int box_dimensions, uint64_t *state)
{
    Cluster *cluster = &points->planted[at];
    int stripe = FINE_BINS / points->clusters, needed = box_dimensions;
    cluster->dimensions = 0;
    for (int dimension = 0; dimension < points->dimensions; dimension++) {
        int left = points->dimensions - dimension;
        if (draw_below(state, left) >= needed)
            continue;
        needed--;
        int first = at * stripe + 1 + draw_below(state, stripe - WIDTH - 1);
        cluster->interval[cluster->dimensions++] = (Interval){ dimension, first, WIDTH };
    }
}

Points points_make(long count, int dimensions, int clusters, int box_dimensions, uint64_t seed)
{
    Points points = { .count = count, .dimensions = dimensions, .clusters = clusters };
    points.coordinate = room_for((size_t)count * (size_t)dimensions, sizeof(float));
    for (int at = 0; at < clusters; at++)
        plant(&points, at, box_dimensions, &seed);
    long in_clusters = count - count / 10;
    for (long i = 0; i < count; i++) {
        float *point = points.coordinate + i * dimensions;
        for (int dimension = 0; dimension < dimensions; dimension++)
            point[dimension] = draw_unit(&seed);
        if (i >= in_clusters)
            continue;
        const Cluster *cluster = &points.planted[i % clusters];
        for (int j = 0; j < cluster->dimensions; j++) {
            Interval box = cluster->interval[j];
            float inside = draw_unit(&seed) * (float)box.bins;
            point[box.dimension] = ((float)box.first_bin + inside) / FINE_BINS;
        }
    }
    return points;
}

void points_free(Points *points)
{
    free(points->coordinate);
    points->coordinate = NULL;
}
