/*
 * Flow-through traffic against local flow (section 3.1.3): while P0 sends to P2 through the node of
 * P1, two ranks of P1's node talk, and P1 sends along another of its links.
 */
#include "flows.h"
#include "tests.h"

#define BYTES 1048576u

/* Whether the network has what is needed; a reason is reported if not. */
static bool fits(Bench *bench)
{
    const Places *places = &bench->places;
    const char *reason = places->unknown[0] ? places->unknown : NULL;
    if (!reason && !places->mesh && (places->length[0] < 4 || places->length[1] < 3))
        reason = "needs a ring of 4 nodes along X and of 3 along Y";
    if (!reason && places->mesh && (places->length[0] < 3 || places->length[1] < 2))
        reason = "needs a row of 3 nodes along X and of 2 along Y";
    if (!reason && places->each < 2)
        reason = "needs 2 ranks on a node: start more";
    if (reason)
        skip(bench, "through", "", reason);
    return !reason;
}

static void against(Bench *bench, const Flow *local, const char *with, const Flow *through)
{
    size_t bytes = bench->settings.largest < BYTES ? (size_t)bench->settings.largest : BYTES;
    FlowPlan plan = { .test = "through", .bytes = bytes };
    Flow flows[2] = { *local, *through };
    flows_measure(bench, local, 1, &plan);
    flows[0].variant = with;
    flows_measure(bench, flows, 2, &plan);
}

void test_through(Bench *bench)
{
    const Places *places = &bench->places;
    if (!fits(bench))
        return;
    int middle = places_node(places, 1, 0, 0);
    int own = places_rank(places, middle, 0), beside = places_rank(places, middle, 1);
    int above = places_rank(places, places_node(places, 1, 1, 0), 0);
    Flow through = { places_rank(places, 0, 0),
                     places_rank(places, places_node(places, 2, 0, 0), 0), NULL };
    Flow inside = { own, beside, "inside the node, alone" };
    Flow link = { own, above, "another link, alone" };
    against(bench, &inside, "inside the node, with flow-through", &through);
    against(bench, &link, "another link, with flow-through", &through);
}
