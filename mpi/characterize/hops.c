/*
 * Latency and bandwidth against the number of hops, on an idle network (figure 4): the first node
 * with one node at each distance there is.
 */
#include "flows.h"
#include "routes.h"
#include "tests.h"

static const double SIZES[] = { 0, 64, 1024, 65536, 1048576 };

void test_hops(Bench *bench)
{
    const Places *places = &bench->places;
    if (places->unknown[0] || places->nodes < 3) {
        skip(bench, "hops-latency", "",
             places->unknown[0] ? places->unknown : "needs 3 nodes: there are fewer");
        return;
    }
    int first = places_rank(places, 0, 0), farthest = 0;
    for (int node = 1; node < places->nodes; node++)
        if (routes_hops(places, 0, node) > farthest)
            farthest = routes_hops(places, 0, node);
    for (int hops = 1; hops <= farthest; hops++) {
        int node = 1;
        while (node < places->nodes && routes_hops(places, 0, node) != hops)
            node++;
        if (node == places->nodes)
            continue;
        Flow pair = { first, places_rank(places, node, 0), "idle network" };
        for (size_t at = 0; at < sizeof SIZES / sizeof *SIZES; at++) {
            FlowPlan plan = { .test = "hops-latency", .bytes = (size_t)SIZES[at], .count = hops };
            if (SIZES[at] > bench->settings.largest)
                continue;
            latency_measure(bench, &pair, &plan);
            plan.test = "hops-bandwidth";
            if (SIZES[at] >= 65536)
                flows_measure(bench, &pair, 1, &plan);
        }
    }
}
