/*
 * HALO (figure 12): the exchange of an ocean model on sub-domains of N by N, by every protocol
 * under the first order of ranks, and by isend and irecv under every order. Before an order is
 * measured, what its messages do to the links of a torus is predicted.
 */
#include "exchange.h"
#include "orders.h"
#include "routes.h"
#include "tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_SIDE 2

typedef struct Setup {
    Halo halo;
    const Protocol *protocol;
} Setup;

static void repetition(void *context)
{
    Setup *setup = context;
    halo_exchange(&setup->halo, setup->protocol);
}

/* One protocol with one side; false if this MPI has not what it takes. */
static bool measure(Bench *bench, MPI_Comm comm, const Protocol *protocol, int side,
                    const char *variant)
{
    Setup setup = { .protocol = protocol };
    Samples samples;
    halo_open(&setup.halo, comm, side);
    bool able = all_say(comm, protocol->begin(&setup.halo));
    if (able) {
        samples_take(bench, comm, bench_repetitions(bench, 4.0 * side), repetition, &setup,
                     &samples);
        bool valid = all_say(comm, halo_is_right(&setup.halo));
        Label label = { "halo", variant, 4.0 * side, side, 1 };
        if (bench->rank == 0)
            samples_report(bench, &samples, samples.longest_s, &label, valid);
        samples_free(&samples);
        protocol->end(&setup.halo);
    }
    halo_close(&setup.halo);
    return able;
}

static void sweep(Bench *bench, MPI_Comm comm, const Protocol *protocol, const Order *order)
{
    char variant[ORDER_NAME + 40];
    double largest = bench->settings.halo_largest, factor = bench->settings.factor;
    snprintf(variant, sizeof variant, "%.40s, %.40s", order->name, protocol->name);
    for (double side = LEAST_SIDE; side <= largest;
         side = side < largest ? fmin(side * factor, largest) : INFINITY)
        if (!measure(bench, comm, protocol, (int)side, variant)) {
            skip(bench, "halo", variant, "this MPI does not have it");
            return;
        }
}

/* How long the link that takes longest needs for one byte of each message that passes it. */
static double busiest_s_a_byte(const Bench *bench, const Loads *loads)
{
    const Settings *settings = &bench->settings;
    int links = routes_links(&bench->places);
    double *byte_s = room_for((size_t)links * sizeof *byte_s);
    for (int link = 0; link < links; link++)
        byte_s[link] = 8e-6 / settings->link_mbit[link / 2 % DIMENSIONS];
    for (int at = 0; at < settings->own_link_count; at++) {
        const OwnLink *own = &settings->own_links[at];
        routes_set(&bench->places, own->between, byte_s, 8e-6 / own->mbit);
    }
    double most = loads_most(loads, byte_s);
    free(byte_s);
    return most;
}

/* What messages of each rank to its four neighbours do to the links, by their routes. */
static void predict(Bench *bench, MPI_Comm comm, const Order *order)
{
    Halo halo;
    int own[DIRECTIONS], *all = NULL, *nodes = NULL, node = bench->places.node[bench->rank], rank;
    halo_open(&halo, comm, 1);
    for (int at = 0; at < DIRECTIONS; at++)
        own[at] = halo.neighbour[at];
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        all = room_for((size_t)bench->ranks * sizeof own);
        nodes = room_for((size_t)bench->ranks * sizeof *nodes);
    }
    MPI_Gather(own, DIRECTIONS, MPI_INT, all, DIRECTIONS, MPI_INT, 0, comm);
    MPI_Gather(&node, 1, MPI_INT, nodes, 1, MPI_INT, 0, comm);
    if (rank == 0) {
        Loads loads;
        loads_open(&loads, &bench->places);
        for (int at = 0; at < bench->ranks * DIRECTIONS; at++)
            loads_add(&loads, nodes[at / DIRECTIONS], nodes[all[at]]);
        row_begin(&bench->rows, "halo-prediction");
        row_text(&bench->rows, "variant", order->name);
        row_number(&bench->rows, "messages_between_nodes", loads.messages);
        row_number(&bench->rows, "hops_a_message", loads.hops / (bench->ranks * DIRECTIONS));
        row_number(&bench->rows, "messages_of_the_busiest_link", loads_most(&loads, NULL));
        if (bench->settings.link_mbit[0] > 0)
            row_number(&bench->rows, "busiest_s_a_byte", busiest_s_a_byte(bench, &loads));
        row_end(&bench->rows);
        loads_close(&loads);
    }
    free(all);
    free(nodes);
    halo_close(&halo);
}

/* Whether a protocol is wanted: a list has hyphens for the blanks of its name, since launchers
 * divide words at blanks. */
static bool is_wanted(const Bench *bench, const Protocol *protocol)
{
    char name[40];
    snprintf(name, sizeof name, "%s", protocol->name);
    for (char *at = name; *at; at++)
        *at = *at == ' ' ? '-' : *at;
    return settings_lists(bench->settings.protocols, name);
}

/* The next protocol that is wanted, from this one on; past the last if there is none. */
static int next_wanted(const Bench *bench, int way)
{
    while (way < PROTOCOL_COUNT && !is_wanted(bench, &PROTOCOLS[way]))
        way++;
    return way;
}

/* What is wrong with links that have a rate of their own; null if nothing is. */
static const char *unlike(const Bench *bench)
{
    const Settings *settings = &bench->settings;
    if (settings->own_link_count > 0 && !(settings->link_mbit[0] > 0))
        return "--own-mbit wants --link-mbit, what the other links pass";
    for (int at = 0; !bench->places.unknown[0] && at < settings->own_link_count; at++)
        if (!routes_set(&bench->places, settings->own_links[at].between, NULL, 0))
            return "--own-mbit names nodes without a link between them: write two neighbours";
    return NULL;
}

/* Why nothing can be measured; null if something can. */
static const char *lacking(const Bench *bench, int orders, int first)
{
    if (bench->ranks < 2)
        return "needs 2 ranks: start more";
    if (first == PROTOCOL_COUNT)
        return "--protocols names no protocol of HALO";
    return orders == 0 ? "--orders names no order of this machine" : unlike(bench);
}

void test_halo(Bench *bench)
{
    Order orders[MOST_ORDERS];
    char reason[200];
    int first = next_wanted(bench, 0);
    int count = bench->ranks > 1 ? orders_list(bench, orders) : 0;
    const char *why = lacking(bench, count, first);
    if (why) {
        skip(bench, "halo", "", why);
        return;
    }
    for (int at = 0; at < count; at++) {
        MPI_Comm comm = order_comm(bench, &orders[at], reason, sizeof reason);
        if (comm == MPI_COMM_NULL) {
            skip(bench, "halo", orders[at].name, reason);
            continue;
        }
        if (!bench->places.unknown[0])
            predict(bench, comm, &orders[at]);
        sweep(bench, comm, &PROTOCOLS[first], &orders[at]);
        for (int way = next_wanted(bench, first + 1); at == 0 && way < PROTOCOL_COUNT;
             way = next_wanted(bench, way + 1))
            sweep(bench, comm, &PROTOCOLS[way], &orders[at]);
        MPI_Comm_free(&comm);
    }
}
