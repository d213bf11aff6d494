/*
 * Two processes: ping-pong latency and bandwidth one way, in cache and out of cache, on two nodes
 * if there are two (figure 2), and inside a node core by core (figure 3).
 */
#include <stdio.h>

#include "flows.h"
#include "tests.h"

/* The most cores that the first is measured with. */
#define MOST_CORES 8

#define NO_CACHES "a simulated machine has no caches"

/* Latency and bandwidth over all sizes. */
static void sweep(Bench *bench, const char *latency, const char *bandwidth, const Flow *pair,
                  size_t beyond_cache)
{
    for (double bytes = 0; bytes <= bench->settings.largest; bytes = bench_next(bench, bytes)) {
        FlowPlan plan = { .test = latency, .bytes = (size_t)bytes, .beyond_cache = beyond_cache };
        latency_measure(bench, pair, &plan);
        plan.test = bandwidth;
        if (bytes >= 1)
            flows_measure(bench, pair, 1, &plan);
    }
}

/* Says of both figures why they are not there. */
static void skip_both(Bench *bench, const char *latency, const char *bandwidth,
                      const char *variant, const char *reason)
{
    skip(bench, latency, variant, reason);
    skip(bench, bandwidth, variant, reason);
}

void test_pair(Bench *bench)
{
    if (bench->ranks < 2) {
        skip_both(bench, "latency", "bandwidth", "in cache", "needs 2 ranks: start more");
        return;
    }
    int other = bench->places.nodes > 1 ? places_rank(&bench->places, 1, 0) : 1;
    int first = bench->places.nodes > 1 ? places_rank(&bench->places, 0, 0) : 0;
    sweep(bench, "latency", "bandwidth", &(Flow){ first, other, "in cache" }, 0);
    if (bench->simulated)
        skip_both(bench, "latency", "bandwidth", "out of cache", NO_CACHES);
    else
        sweep(bench, "latency", "bandwidth", &(Flow){ first, other, "out of cache" },
              (size_t)bench->settings.beyond_cache);
}

/* One core with another, in cache and out of cache. */
static void core_by_core(Bench *bench, int first, int other, int core)
{
    char inside[40], beyond[60];
    snprintf(inside, sizeof inside, "core 0 and core %d", core);
    snprintf(beyond, sizeof beyond, "%s, out of cache", inside);
    sweep(bench, "core-latency", "core-bandwidth", &(Flow){ first, other, inside }, 0);
    if (!bench->simulated)
        sweep(bench, "core-latency", "core-bandwidth", &(Flow){ first, other, beyond },
              (size_t)bench->settings.beyond_cache);
}

void test_cores(Bench *bench)
{
    int first = places_rank(&bench->places, 0, 0), other;
    if (places_rank(&bench->places, 0, 1) < 0)
        skip_both(bench, "core-latency", "core-bandwidth", "",
                  "needs 2 ranks on a node: start more");
    else if (places_rank(&bench->places, 0, 2) < 0)
        skip_both(bench, "core-latency", "core-bandwidth", "core 0 and further cores",
                  "needs 3 ranks on a node: start more, where there are as many cores");
    if (bench->simulated)
        skip_both(bench, "core-latency", "core-bandwidth", "out of cache", NO_CACHES);
    for (int core = 1; core <= MOST_CORES; core++) {
        if ((other = places_rank(&bench->places, 0, core)) < 0)
            break;
        core_by_core(bench, first, other, core);
    }
}
