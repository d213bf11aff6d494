/*
 * Several streams between two nodes (figure 6 a): 1, 2, 4, ... pairs of ranks, the sum of all; on
 * one node, pairs of its ranks.
 */
#include "flows.h"
#include "tests.h"

/* The pairs that there can be. */
static int pairs(const Bench *bench)
{
    const Places *places = &bench->places;
    int most = places->nodes > 1 ? places->each : bench->ranks / 2;
    return most < MOST_FLOWS ? most : MOST_FLOWS;
}

void test_streams(Bench *bench)
{
    const Places *places = &bench->places;
    int most = pairs(bench);
    if (most < 1) {
        skip(bench, "streams", "", places->unfit[0] ? places->unfit : "needs 2 ranks: start more");
        return;
    }
    Flow flows[MOST_FLOWS];
    for (int at = 0; at < most; at++) {
        bool between = places->nodes > 1;
        flows[at] = (Flow){ between ? places_rank(places, 0, at) : at,
                            between ? places_rank(places, 1, at) : most + at, "all streams" };
    }
    for (int count = 1; count <= most; count = bench_more(count, most))
        for (double bytes = 1; bytes <= bench->settings.largest; bytes = bench_next(bench, bytes)) {
            FlowPlan plan = { .test = "streams", .bytes = (size_t)bytes, .count = count,
                              .is_sum = true };
            flows_measure(bench, flows, count, &plan);
        }
}
