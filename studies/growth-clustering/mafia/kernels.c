/* See kernels.h. */
#include "kernels.h"

#include <string.h>

#include "room.h"

/* What qsort's comparison cannot be told. */
static int row_windows;
static long long compared;

/* Lexicographic order of rows; it ends at the first window that differs. */
static int order(const void *left, const void *right)
{
    const uint16_t *a = left, *b = right;
    int at = 0;
    while (at < row_windows && a[at] == b[at])
        at++;
    compared += at < row_windows ? at + 1 : at;
    return at < row_windows ? (int)a[at] - (int)b[at] : 0;
}

static void sort_rows(uint16_t *row, long count, int windows, long long *steps)
{
    row_windows = windows;
    compared = 0;
    qsort(row, (size_t)count, (size_t)windows * sizeof *row, order);
    *steps += compared;
}

/* Each unit as often as it has windows: one of them last, the others before. */
static uint16_t *split(const Units *units, long long *steps)
{
    int width = units->dimensions;
    uint16_t *parts = room_for((size_t)units->count * (size_t)(width * width), sizeof *parts);
    uint16_t *part = parts;
    for (long at = 0; at < units->count; at++) {
        const uint16_t *unit = units->row + at * width;
        for (int last = 0; last < width; last++, part += width) {
            memcpy(part, unit, (size_t)last * sizeof *part);
            memcpy(part + last, unit + last + 1, (size_t)(width - 1 - last) * sizeof *part);
            part[width - 1] = unit[last];
            *steps += width;
        }
    }
    return parts;
}

/* The first part after `first` whose windows but the last are others. */
static long group_end(const uint16_t *parts, long count, int width, long first)
{
    long end = first + 1;
    size_t shared = (size_t)(width - 1) * sizeof *parts;
    while (end < count && memcmp(parts + first * width, parts + end * width, shared) == 0)
        end++;
    return end;
}

/* Writes shared windows and two more as one ascending row. */
static void join(uint16_t *row, const uint16_t *shared, int count, uint16_t low, uint16_t high)
{
    int from = 0;
    while (from < count && shared[from] < low)
        *row++ = shared[from++];
    *row++ = low;
    while (from < count && shared[from] < high)
        *row++ = shared[from++];
    *row++ = high;
    while (from < count)
        *row++ = shared[from++];
}

/* Joins all pairs of a group; with no room, only counts them. */
static long join_group(const uint16_t *group, long members, int width, const Grid *grid,
                       uint16_t *row)
{
    long joined = 0;
    for (long a = 0; a < members; a++)
        for (long b = a + 1; b < members; b++) {
            uint16_t low = group[a * width + width - 1], high = group[b * width + width - 1];
            if (grid->window[low].dimension == grid->window[high].dimension)
                continue;
            if (row)
                join(row + joined * (width + 1), group, width - 1, low, high);
            joined++;
        }
    return joined;
}

static long join_all(const uint16_t *parts, long count, int width, const Grid *grid, uint16_t *row)
{
    long joined = 0;
    for (long first = 0, end; first < count; first = end) {
        end = group_end(parts, count, width, first);
        joined += join_group(parts + first * width, end - first, width, grid,
                             row ? row + joined * (width + 1) : NULL);
    }
    return joined;
}

__attribute__((noinline)) Units mafia_gen(const Units *units, const Grid *grid, long long *steps)
{
    int width = units->dimensions;
    long parts_count = units->count * width;
    uint16_t *parts = split(units, steps);
    sort_rows(parts, parts_count, width, steps);
    Units candidates = { .dimensions = width + 1 };
    candidates.count = join_all(parts, parts_count, width, grid, NULL);
    candidates.row = room_for((size_t)candidates.count * (size_t)(width + 1), sizeof *parts);
    join_all(parts, parts_count, width, grid, candidates.row);
    *steps += (long long)candidates.count * (width + 1);
    free(parts);
    return candidates;
}

__attribute__((noinline)) void mafia_dedup(Units *candidates, long long *steps)
{
    int width = candidates->dimensions;
    size_t bytes = (size_t)width * sizeof *candidates->row;
    long kept = 0;
    sort_rows(candidates->row, candidates->count, width, steps);
    for (long at = 0; at < candidates->count; at++) {
        uint16_t *row = candidates->row + at * width;
        if (kept > 0 && memcmp(row, candidates->row + (kept - 1) * width, bytes) == 0)
            continue;
        memmove(candidates->row + kept++ * width, row, bytes);
    }
    *steps += (long long)candidates->count * width;
    candidates->count = kept;
}

/* How many points are in all windows of a unit. */
static long points_in(const uint16_t *unit, int width, const Grid *grid)
{
    long held = 0;
    for (long word = 0; word < grid->words; word++) {
        uint64_t members = ~(uint64_t)0;
        for (int at = 0; at < width; at++)
            members &= grid->window[unit[at]].members[word];
        held += __builtin_popcountll(members);
    }
    return held;
}

__attribute__((noinline)) void mafia_pcount(Units *candidates, const Grid *grid, long long *steps)
{
    int width = candidates->dimensions;
    long kept = 0;
    for (long at = 0; at < candidates->count; at++) {
        uint16_t *unit = candidates->row + at * width;
        long held = points_in(unit, width, grid), threshold = 0;
        *steps += (long long)grid->words * width;
        for (int i = 0; i < width; i++)
            if (grid->window[unit[i]].threshold > threshold)
                threshold = grid->window[unit[i]].threshold;
        if (held > threshold)
            memmove(candidates->row + kept++ * width, unit, (size_t)width * sizeof *unit);
    }
    candidates->count = kept;
}

__attribute__((noinline)) void mafia_unjoin(const Units *units, const Units *larger,
                                            bool *absorbed, long long *steps)
{
    int width = units->dimensions;
    size_t bytes = (size_t)width * sizeof *units->row;
    uint16_t subset[MOST_DIMENSIONS];
    row_windows = width;
    compared = 0;
    for (long at = 0; at < larger->count; at++) {
        const uint16_t *unit = larger->row + at * (width + 1);
        for (int without = 0; without <= width; without++) {
            memcpy(subset, unit, (size_t)without * sizeof *unit);
            memcpy(subset + without, unit + without + 1,
                   (size_t)(width - without) * sizeof *unit);
            *steps += width;
            const uint16_t *found = bsearch(subset, units->row, (size_t)units->count, bytes, order);
            if (found)
                absorbed[(found - units->row) / width] = true;
        }
    }
    *steps += compared;
}
