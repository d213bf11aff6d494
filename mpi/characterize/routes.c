/* See routes.h. */
#include "routes.h"

#include <stdlib.h>

static int coordinate(const Places *places, int node, int axis)
{
    for (int below = 0; below < axis; below++)
        node /= places->length[below];
    return node % places->length[axis];
}

/* Steps along an axis, negative downwards: on a ring the shorter way round, half-way round upwards
 * but from the middle, as in SimGrid and crates/flows. */
static int steps(const Places *places, int from, int to, int axis)
{
    int length = places->length[axis], up = (to - from + length) % length;
    if (places->mesh)
        return to - from;
    return 2 * up < length || (2 * up == length && 2 * from != length) ? up : up - length;
}

int routes_hops(const Places *places, int from, int to)
{
    int hops = 0;
    for (int axis = 0; axis < DIMENSIONS; axis++)
        hops += abs(steps(places, coordinate(places, from, axis), coordinate(places, to, axis),
                          axis));
    return hops;
}

void loads_open(Loads *loads, const Places *places)
{
    *loads = (Loads){ .places = places };
    loads->of_link = room_for((size_t)routes_links(places) * sizeof(double));
}

void loads_close(Loads *loads)
{
    free(loads->of_link);
    *loads = (Loads){ 0 };
}

void loads_add(Loads *loads, int from_node, int to_node)
{
    const Places *places = loads->places;
    int at[DIMENSIONS];
    for (int axis = 0; axis < DIMENSIONS; axis++)
        at[axis] = coordinate(places, from_node, axis);
    loads->messages += from_node != to_node;
    for (int axis = 0; axis < DIMENSIONS; axis++) {
        int length = places->length[axis];
        int left = steps(places, at[axis], coordinate(places, to_node, axis), axis);
        int step = left > 0 ? 1 : -1;
        for (; left != 0; left -= step) {
            int node = places_node(places, at[0], at[1], at[2]);
            loads->of_link[2 * (DIMENSIONS * node + axis) + (step > 0)] += 1;
            loads->hops += 1;
            at[axis] = (at[axis] + step + length) % length;
        }
    }
}

int routes_links(const Places *places)
{
    return places->nodes * 2 * DIMENSIONS;
}

bool routes_set(const Places *places, const int between[2], double *of_link, double value)
{
    for (int end = 0; end < 2; end++)
        if (between[end] < 0 || between[end] >= places->nodes)
            return false;
    if (routes_hops(places, between[0], between[1]) != 1)
        return false;
    for (int way = 0; of_link && way < 4 * DIMENSIONS; way++) {
        int from = between[way % 2], to = between[1 - way % 2], axis = way / 4, is_up = way / 2 % 2;
        int at[DIMENSIONS];
        for (int own = 0; own < DIMENSIONS; own++)
            at[own] = coordinate(places, from, own) + (own == axis ? 2 * is_up - 1 : 0);
        if (places_node(places, at[0], at[1], at[2]) == to)
            of_link[2 * (DIMENSIONS * from + axis) + is_up] = value;
    }
    return true;
}

double loads_most(const Loads *loads, const double *of_link)
{
    double most = 0;
    for (int link = 0; link < routes_links(loads->places); link++) {
        double load = loads->of_link[link] * (of_link ? of_link[link] : 1);
        if (load > most)
            most = load;
    }
    return most;
}
