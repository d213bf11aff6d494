/* See grid.h. */
#include "grid.h"

#include <math.h>

#include "room.h"

static int bin_of(float coordinate)
{
    int bin = (int)(coordinate * FINE_BINS);
    return bin < FINE_BINS ? bin : FINE_BINS - 1;
}

static void count_bins(const Points *points, int dimension, long count[FINE_BINS])
{
    for (int bin = 0; bin < FINE_BINS; bin++)
        count[bin] = 0;
    for (long i = 0; i < points->count; i++)
        count[bin_of(points->coordinate[i * points->dimensions + dimension])]++;
}

/* The first bin after a window that begins at `first`; how many points it holds. */
static int window_end(const long count[FINE_BINS], int first, long *held)
{
    int end = first + 1;
    *held = count[first];
    while (end < FINE_BINS) {
        double mean = (double)*held / (end - first), next = (double)count[end];
        if (fabs(next - mean) > BETA * fmax(next, mean))
            break;
        *held += count[end++];
    }
    return end;
}

static void mark_members(const Points *points, Window *window)
{
    for (long i = 0; i < points->count; i++) {
        int bin = bin_of(points->coordinate[i * points->dimensions + window->dimension]);
        if (bin >= window->first_bin && bin < window->first_bin + window->bins)
            window->members[i / 64] |= (uint64_t)1 << (i % 64);
    }
}

static void cut(const Points *points, int dimension, Grid *grid)
{
    long count[FINE_BINS], held;
    count_bins(points, dimension, count);
    for (int first = 0, end; first < FINE_BINS; first = end) {
        end = window_end(count, first, &held);
        int bins = end - first;
        long threshold = (long)(ALPHA * (double)points->count * bins / FINE_BINS);
        if (held <= threshold)
            continue;
        Window *window = &grid->window[grid->count++];
        *window = (Window){ dimension, first, bins, threshold, NULL };
        window->members = room_for((size_t)grid->words, sizeof(uint64_t));
        mark_members(points, window);
    }
}

Grid grid_make(const Points *points)
{
    Grid grid = { .words = (points->count + 63) / 64 };
    grid.window = room_for((size_t)points->dimensions * FINE_BINS, sizeof(Window));
    for (int dimension = 0; dimension < points->dimensions; dimension++)
        cut(points, dimension, &grid);
    return grid;
}

void grid_free(Grid *grid)
{
    for (int at = 0; at < grid->count; at++)
        free(grid->window[at].members);
    free(grid->window);
}
