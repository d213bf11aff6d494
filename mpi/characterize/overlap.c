/*
 * Two flows over one link (figure 5): P0 to P3 with P1 to P2, P0 to P2 with P1 to P3, and each of
 * them alone, on four nodes in a row or, where the network is not known, on four ranks.
 */
#include <math.h>
#include <stdio.h>

#include "flows.h"
#include "tests.h"

/* A ring of this length has three hops that go one way; a row that is not closed of that one. */
#define LEAST_RING 6
#define LEAST_ROW 4

/* Finds four ranks in a row; false, with a reason, if there are none. */
static bool four(Bench *bench, int ranks[4])
{
    const Places *places = &bench->places;
    char reason[120];
    bool row = !places->unknown[0] && places->nodes > 1;
    int least = places->mesh ? LEAST_ROW : LEAST_RING;
    if (row && places->length[0] < least) {
        snprintf(reason, sizeof reason, "needs a %s of %d nodes along X, and it has %d",
                 places->mesh ? "row" : "ring", least, places->length[0]);
        skip(bench, "overlap", "", reason);
        return false;
    }
    if (bench->ranks < 4) {
        skip(bench, "overlap", "", "needs 4 ranks: start more");
        return false;
    }
    for (int at = 0; at < 4; at++)
        ranks[at] = row ? places_rank(places, at, 0)
                        : places->nodes >= 4 ? places_rank(places, at, 0) : at;
    return true;
}

static void both(Bench *bench, size_t bytes, const int ranks[4], int first_to, int second_to)
{
    char alone[2][48], together[2][48];
    int to[2] = { first_to, second_to };
    Flow flows[2];
    FlowPlan plan = { .test = "overlap", .bytes = bytes };
    for (int at = 0; at < 2; at++) {
        snprintf(alone[at], sizeof alone[at], "P%d-P%d, no overlap", at, to[at]);
        snprintf(together[at], sizeof together[at], "P%d-P%d, with P%d-P%d", at, to[at], 1 - at,
                 to[1 - at]);
        flows[at] = (Flow){ ranks[at], ranks[to[at]], alone[at] };
        flows_measure(bench, &flows[at], 1, &plan);
        flows[at].variant = together[at];
    }
    flows_measure(bench, flows, 2, &plan);
}

void test_overlap(Bench *bench)
{
    int ranks[4];
    if (!four(bench, ranks))
        return;
    double largest = bench->settings.largest;
    for (double bytes = fmin(1024, largest); bytes <= largest; bytes = bench_next(bench, bytes)) {
        both(bench, (size_t)bytes, ranks, 3, 2);
        both(bench, (size_t)bytes, ranks, 2, 3);
    }
}
