/* See orders.h. The Hilbert curve is that of Skilling (AIP Conference Proceedings 707, 2004). */
#include "orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char LETTERS[AXES + 1] = "XYZT";

unsigned hilbert_index(unsigned bits, const unsigned place[DIMENSIONS])
{
    unsigned x[DIMENSIONS], top = 1u << (bits - 1), held = 0, index = 0;
    memcpy(x, place, sizeof x);
    for (unsigned bit = top; bit > 1; bit >>= 1) /* undo the turns of each level */
        for (int axis = 0; axis < DIMENSIONS; axis++)
            if (x[axis] & bit) {
                x[0] ^= bit - 1;
            } else {
                unsigned swapped = (x[0] ^ x[axis]) & (bit - 1);
                x[0] ^= swapped;
                x[axis] ^= swapped;
            }
    for (int axis = 1; axis < DIMENSIONS; axis++) /* Gray code */
        x[axis] ^= x[axis - 1];
    for (unsigned bit = top; bit > 1; bit >>= 1)
        if (x[DIMENSIONS - 1] & bit)
            held ^= bit - 1;
    for (int axis = 0; axis < DIMENSIONS; axis++)
        x[axis] ^= held;
    for (unsigned bit = top; bit > 0; bit >>= 1)
        for (int axis = 0; axis < DIMENSIONS; axis++)
            index = 2 * index + ((x[axis] & bit) > 0);
    return index;
}

/* The next permutation in the order of letters; false after the last. */
static bool next_permutation(int axes[AXES])
{
    int at = AXES - 2, other = AXES - 1;
    while (at >= 0 && axes[at] > axes[at + 1])
        at--;
    if (at < 0)
        return false;
    while (axes[other] < axes[at])
        other--;
    int held = axes[at];
    axes[at] = axes[other];
    axes[other] = held;
    for (int low = at + 1, high = AXES - 1; low < high; low++, high--) {
        held = axes[low];
        axes[low] = axes[high];
        axes[high] = held;
    }
    return true;
}

/* The axes that have more than one place: orders that have the same are the same. */
static void effective(const Places *places, const Order *order, char letters[AXES + 1])
{
    int length = 0;
    for (int at = 0; at < AXES; at++)
        if (places->length[order->axes[at]] > 1)
            letters[length++] = LETTERS[order->axes[at]];
    letters[length] = 0;
}

/* Whether an order is one of those that were asked for. */
static bool is_wanted(const Bench *bench, const char *name)
{
    return settings_lists(bench->settings.orders, name);
}

int orders_list(const Bench *bench, Order orders[MOST_ORDERS])
{
    int count = 0, axes[AXES] = { 0, 1, 2, 3 };
    char seen[MOST_ORDERS][AXES + 1];
    do {
        Order order = { .kind = PERMUTATION };
        bool again = false;
        memcpy(order.axes, axes, sizeof axes);
        for (int at = 0; at < AXES; at++)
            order.name[at] = LETTERS[axes[at]];
        effective(&bench->places, &order, seen[count]);
        for (int at = 0; at < count; at++)
            again = again || strcmp(seen[at], seen[count]) == 0;
        if (!again && is_wanted(bench, order.name))
            orders[count++] = order;
    } while (next_permutation(axes));
    if (bench->places.nodes > 2 && is_wanted(bench, "Hilbert"))
        orders[count++] = (Order){ .name = "Hilbert", .kind = HILBERT };
    if (bench->settings.order)
        orders[count++] = (Order){ .name = "file", .kind = FILE_OF_RANKS };
    return count;
}

/* The number of a place in an order. */
static int number_of(const Places *places, const Order *order, int rank)
{
    int at[AXES], number = 0;
    places_coordinates(places, rank, at);
    for (int axis = AXES - 1; axis >= 0 && order->kind == PERMUTATION; axis--)
        number = number * places->length[order->axes[axis]] + at[order->axes[axis]];
    if (order->kind == HILBERT) {
        unsigned bits = 1, place[DIMENSIONS];
        for (int axis = 0; axis < DIMENSIONS; axis++) {
            place[axis] = (unsigned)at[axis];
            while (1 << bits < places->length[axis])
                bits++;
        }
        number = (int)hilbert_index(bits, place) * places->length[DIMENSIONS] + at[DIMENSIONS];
    }
    return number;
}

/* Reads the place of each rank; a reason is left if the file is not one of all ranks. */
static void read_file(const Bench *bench, int *place_of, char *reason, size_t reason_bytes)
{
    const char *path = bench->settings.order;
    FILE *file = fopen(path, "r");
    int rank = -1, place = 0;
    for (int at = 0; at < bench->ranks; at++)
        place_of[at] = -1;
    if (!file) {
        snprintf(reason, reason_bytes, "%s cannot be read", path);
        return;
    }
    for (; place < bench->ranks && !*reason; place++) {
        int read = fscanf(file, "%d", &rank);
        if (read != 1 || rank < 0 || rank >= bench->ranks || place_of[rank] >= 0)
            snprintf(reason, reason_bytes, "%s:%d: write each rank from 0 to %d once, a line each",
                     path, place + 1, bench->ranks - 1);
        else
            place_of[rank] = place;
    }
    fclose(file);
}

/* The number of each rank in an order; a reason is left if there are none. Collective. */
static int *numbers_of(const Bench *bench, const Order *order, char *reason, size_t reason_bytes)
{
    int *numbers = room_for((size_t)bench->ranks * sizeof *numbers);
    if (order->kind != FILE_OF_RANKS) {
        for (int rank = 0; rank < bench->ranks; rank++)
            numbers[rank] = number_of(&bench->places, order, rank);
        return numbers;
    }
    if (bench->rank == 0)
        read_file(bench, numbers, reason, reason_bytes);
    MPI_Bcast(reason, (int)reason_bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Bcast(numbers, bench->ranks, MPI_INT, 0, MPI_COMM_WORLD);
    return numbers;
}

/* A rank, and its number in an order. */
typedef struct Numbered {
    int number, rank;
} Numbered;

static int by_number(const void *one, const void *other)
{
    return ((const Numbered *)one)->number - ((const Numbered *)other)->number;
}

MPI_Comm order_comm(const Bench *bench, const Order *order, char *reason, size_t reason_bytes)
{
    MPI_Comm comm = MPI_COMM_NULL;
    snprintf(reason, reason_bytes, "%s", bench->places.unfit);
    if (*reason)
        return comm;
    int *numbers = numbers_of(bench, order, reason, reason_bytes);
    int *ranks = numbers; /* their room serves again */
    Numbered *all = room_for((size_t)bench->ranks * sizeof *all);
    for (int rank = 0; rank < bench->ranks; rank++)
        all[rank] = (Numbered){ numbers[rank], rank };
    qsort(all, (size_t)bench->ranks, sizeof *all, by_number);
    for (int at = 0; at < bench->ranks; at++)
        ranks[at] = all[at].rank;
    if (!*reason)
        comm = bench_group(bench, ranks, bench->ranks);
    free(all);
    free(ranks);
    return comm;
}
