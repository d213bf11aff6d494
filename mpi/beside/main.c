/*
 * tidings-mpi-beside: an application with gossip beside it on every node of a simulated machine.
 *
 * World ranks come in threes, a node each: the application's, the gossip process, and its alarm.
 * The application starts when the gossip has run for its warm-up, so that windows are full; when
 * it has ended, the gossip processes are told to stop. With --idle they sleep all the time: the
 * control.
 *
 * Exit status: the application's; 2 for a wrong command line.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gossip/arguments.h"
#include "../gossip/report.h"
#include "../kernels/kernels.h"
#include "../machine/machine.h"
#include "../proxy/proxy.h"
#include "simulated_ring.h"

#define STOP_TAG 3
#define RANKS_A_NODE 3
enum { APPLICATION, GOSSIP, ALARM };

/* A node's payload holds when it was made, and no more; the wire has what was asked for. */
#define OWN_PAYLOAD_BYTES 8

/* Units before the application starts; by then windows of a thousand nodes are full. */
#define WARMUP_UNITS 12

#define MAX_WORDS 64

/* An entry fits into a datagram. */
#define MOST_WIRE_ENTRY_BYTES 60000

typedef struct Beside {
    char *gossip[MAX_WORDS], **application; /* words of either */
    int gossip_words, application_words;
    const char *report;
    double entry_us, wire_entry; /* wire_entry: bytes of a payload on the wire; 0: as --entry */
    bool idle;
    char why[256];
} Beside;

static void keep(Beside *beside, char *word)
{
    if (beside->gossip_words < MAX_WORDS)
        beside->gossip[beside->gossip_words++] = word;
    else
        snprintf(beside->why, sizeof beside->why, "more than %d words", MAX_WORDS);
}

/* Reads the number after an option; answers where it stands. */
static int number(Beside *beside, char **words, int at, double most, double *value)
{
    char *rest;
    *value = strtod(words[at + 1], &rest);
    if (rest == words[at + 1] || *rest || !(*value >= 0 && *value <= most))
        snprintf(beside->why, sizeof beside->why, "%s cannot be '%.60s'", words[at],
                 words[at + 1]);
    return at + 1;
}

static int (*application(const char *name))(MPI_Comm, int, char **)
{
    if (strcmp(name, "fft") == 0)
        return fft_main;
    if (strcmp(name, "ptrans") == 0)
        return ptrans_main;
    return strcmp(name, "proxy") == 0 ? proxy_main : NULL;
}

/* Takes the words before the application's name; those it does not know are the gossip's. */
static void read_words(Beside *beside, int count, char **words)
{
    int at = 1;
    keep(beside, words[0]);
    for (; at < count && !application(words[at]); at++) {
        if (strcmp(words[at], "--idle") == 0)
            beside->idle = true;
        else if (strcmp(words[at], "--report") == 0 && at + 1 < count)
            beside->report = words[++at];
        else if (strcmp(words[at], "--entry-us") == 0 && at + 1 < count)
            at = number(beside, words, at, 1e6, &beside->entry_us);
        else if (strcmp(words[at], "--wire-entry") == 0 && at + 1 < count)
            at = number(beside, words, at, MOST_WIRE_ENTRY_BYTES, &beside->wire_entry);
        else
            keep(beside, words[at]);
    }
    beside->application = words + at;
    beside->application_words = count - at;
}

static bool stopped(void *context)
{
    return *(MPI_Request *)context == MPI_REQUEST_NULL;
}

static GossipOptions options_of(const Arguments *arguments, int nodes)
{
    GossipOptions options = arguments_options(arguments, nodes);
    if (arguments->options.warmup_s < 0)
        options.warmup_s = WARMUP_UNITS * arguments->interval_ms / 1e3;
    options.seconds = 0; /* until told to stop */
    return options;
}

static void write_report(const Beside *beside, MPI_Comm nodes, const GossipOptions *options,
                         const GossipReport *seen, int rank)
{
    FILE *out = beside->report && rank == 0 ? fopen(beside->report, "w") : NULL;
    if (beside->report && rank == 0 && !out)
        perror(beside->report);
    int wanted = out != NULL;
    MPI_Bcast(&wanted, 1, MPI_INT, 0, nodes);
    if (wanted)
        report_print(out, nodes, options, seen);
    if (out)
        fclose(out);
}

static int gossip_life(const Beside *beside, const Arguments *arguments, MPI_Comm nodes)
{
    int world_rank, rank, count;
    char why[256] = "";
    MPI_Request stop;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_rank(nodes, &rank);
    MPI_Comm_size(nodes, &count);
    GossipOptions options = options_of(arguments, count);
    uint16_t asked = options.payload_bytes;
    if (beside->wire_entry > 0)
        asked = (uint16_t)beside->wire_entry;
    if (options.payload_bytes > OWN_PAYLOAD_BYTES)
        options.payload_bytes = OWN_PAYLOAD_BYTES;
    RingMachine machine = { .world = MPI_COMM_WORLD, .alarm = world_rank + 1, .stop = &stop,
                            .window_entries = options.window_entries,
                            .payload_bytes = options.payload_bytes, .wire_payload_bytes = asked,
                            .entry_us = beside->entry_us };
    MPI_Irecv(NULL, 0, MPI_BYTE, world_rank - 1, STOP_TAG, MPI_COMM_WORLD, &stop);
    options.stop = stopped;
    options.context = &stop;
    options.machine = &machine;
    GossipReport seen;
    bool ran = !beside->idle && gossip_run(nodes, &options, &seen, why, sizeof why);
    if (ran) {
        options.payload_bytes = asked;
        seen.node.bytes_sent = machine.wire_bytes;
        write_report(beside, nodes, &options, &seen, rank);
    } else if (!beside->idle && rank == 0) {
        fprintf(stderr, "tidings-mpi-beside: %s\n", why);
    }
    if (stop != MPI_REQUEST_NULL)
        MPI_Wait(&stop, MPI_STATUS_IGNORE);
    alarm_end(MPI_COMM_WORLD, machine.alarm);
    return ran || beside->idle ? 0 : 1;
}

static int live(const Beside *beside, const Arguments *arguments)
{
    int rank, status = 0;
    MPI_Comm alike;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int role = rank % RANKS_A_NODE;
    MPI_Comm_split(MPI_COMM_WORLD, role, rank, &alike);
    if (role == GOSSIP)
        status = gossip_life(beside, arguments, alike);
    else if (role == ALARM)
        alarm_live(MPI_COMM_WORLD, rank - 1);
    else {
        int nodes;
        MPI_Comm_size(alike, &nodes);
        if (!beside->idle)
            machine_rest(options_of(arguments, nodes).warmup_s);
        status = application(beside->application[0])(alike, beside->application_words,
                                                     beside->application);
        MPI_Send(NULL, 0, MPI_BYTE, rank + 1, STOP_TAG, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&alike);
    return status;
}

static const char USAGE[] =
    "usage: smpirun -n RANKS tidings-mpi-beside [OPTIONS] fft|ptrans|proxy [OPTIONS]\n\n"
    "Three ranks a node: the application, the gossip process, its alarm.\n\n"
    "  --idle             the gossip processes sleep: the control\n"
    "  --entry-us US      work of an entry sent or received (default 0.35)\n"
    "  --wire-entry BYTES an entry's payload on the wire, if not that of --entry\n"
    "  --report FILE      what the gossip processes saw and did, as JSON\n";

int main(int count, char **words)
{
    int rank, ranks, status = 2;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    /* studies/busy-share/README.md, 1,024 nodes, entries of 1 KiB: 70 and 73 µs for 204 entries. */
    Beside beside = { .entry_us = 0.35 };
    read_words(&beside, count, words);
    Arguments arguments = arguments_read(beside.gossip_words, beside.gossip);
    char *why = beside.why;
    if (!*why && arguments.wrong[0])
        snprintf(why, sizeof beside.why, "%.200s", arguments.wrong);
    else if (!*why && arguments.options.nodes)
        snprintf(why, sizeof beside.why, "--nodes is not for it: each node has a rank");
    else if (!*why && ranks % RANKS_A_NODE)
        snprintf(why, sizeof beside.why, "%d ranks are not three a node", ranks);
    else if (!*why && !beside.idle && ranks < 2 * RANKS_A_NODE)
        snprintf(why, sizeof beside.why, "gossip takes two nodes or more");
    else if (!*why && !arguments.help &&
             beside.application_words < 1)
        snprintf(why, sizeof beside.why, "no application is named: fft, ptrans or proxy");
    if (arguments.help && rank == 0)
        printf("%s%s", USAGE, ARGUMENTS_USAGE);
    else if (*why && rank == 0)
        fprintf(stderr, "tidings-mpi-beside: %s; see --help\n", why);
    if (!*why)
        status = arguments.help ? 0 : live(&beside, &arguments);
    MPI_Finalize();
    return status;
}
