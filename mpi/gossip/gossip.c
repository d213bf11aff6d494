/* See gossip.h. */
#include "gossip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crowd.h"

/* The steps of a look's phase within the unit: the golden ratio spreads them evenly. */
#define PHASE_STEP 0.6180339887498949

typedef struct Process {
    const GossipOptions *options;
    Ring ring;
    Crowd crowd;
    TidingsTransport transport;
    TidingsNode *node;
    uint64_t *ages_us;
    uint64_t *payload;
    int rank;
    GossipReport *report;
} Process;

/* The entries of a full window. */
static uint32_t window_entries(const GossipOptions *options)
{
    return options->window_entries < options->nodes ? options->window_entries : options->nodes;
}

static TidingsConfig configuration(const Process *process)
{
    const GossipOptions *options = process->options;
    TidingsConfig config = tidings_config_default(options->nodes, (uint32_t)process->rank);
    size_t entry = TIDINGS_ENTRY_OVERHEAD_BYTES + options->payload_bytes;
    size_t window = (size_t)window_entries(options) * entry;
    /* Entries are not divided: the longest one may be missing at the end of each datagram. */
    size_t datagrams = window / (TIDINGS_MAX_DATAGRAM_BYTES - TIDINGS_DATAGRAM_OVERHEAD_BYTES -
                                 TIDINGS_ENTRY_OVERHEAD_BYTES - TIDINGS_MAX_PAYLOAD_BYTES) + 1;
    config.interval_us = options->interval_us;
    config.window_entries = options->window_entries;
    config.payload_bytes = options->payload_bytes;
    config.datagram_bytes = TIDINGS_MAX_DATAGRAM_BYTES;
    config.message_bytes = (uint32_t)(datagrams * TIDINGS_MAX_DATAGRAM_BYTES);
    config.strategy = options->strategy;
    config.seed = options->seed * 0x9E3779B97F4A7C15u + (uint64_t)process->rank + 1;
    return config;
}

static bool all_say(MPI_Comm comm, bool yes)
{
    int mine = yes, least;
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, comm);
    return least == 1;
}

static void end(Process *process)
{
    tidings_node_free(process->node);
    free(process->ages_us);
    free(process->payload);
}

/* Makes node and ring, or on no rank. */
static bool begin(Process *process, MPI_Comm comm, char *why, size_t why_bytes)
{
    TidingsConfig config = configuration(process);
    bool made = tidings_node_new(&config, &process->node, why, why_bytes) == TIDINGS_STATUS_OK;
    process->ages_us = malloc((size_t)config.nodes * sizeof *process->ages_us);
    process->payload = calloc(1, (size_t)process->options->payload_bytes + sizeof(uint64_t));
    if (made && !(process->ages_us && process->payload)) {
        snprintf(why, why_bytes, "no memory for %u ages", config.nodes);
        made = false;
    }
    if (!all_say(comm, made)) {
        end(process);
        return false;
    }
    if (!ring_open(&process->ring, comm, process->options->slots, config.message_bytes,
                   process->options->machine)) {
        snprintf(why, why_bytes, "no memory for %d messages of %u bytes", process->options->slots,
                 config.message_bytes);
        end(process);
        return false;
    }
    process->transport = ring_transport(&process->ring);
    if (process->crowd.nodes)
        process->transport = crowd_transport(&process->crowd, process->transport);
    return true;
}

/* Counts all ages as they are now. */
static void look(Process *process, uint64_t now_us)
{
    GossipReport *report = process->report;
    uint64_t oldest_us = 0;
    tidings_node_all_ages(process->node, now_us, process->ages_us);
    for (uint32_t node = 0; node < process->options->nodes; node++) {
        uint64_t age_us = process->ages_us[node];
        if (node == (uint32_t)process->rank)
            continue;
        if (age_us == TIDINGS_NO_AGE) {
            report->unheard++;
            continue;
        }
        report->age_sum_us += (double)age_us;
        report->ages++;
        if (age_us > oldest_us)
            oldest_us = age_us;
    }
    report->oldest_sum_us += (double)oldest_us;
    report->looks++;
}

/* Renews what is said of this node, and of those that it simulates. */
static void publish(Process *process, uint64_t now_us)
{
    const GossipOptions *options = process->options;
    memcpy(process->payload, &now_us, sizeof now_us);
    tidings_node_publish(process->node, (uint8_t *)process->payload, options->payload_bytes);
    if (process->crowd.is_here)
        /* One place in the window is for its own entry. */
        crowd_speak(&process->crowd, process->node, now_us, window_entries(options) - 1,
                    (uint8_t *)process->payload, options->payload_bytes);
}

/* The moment of a look: one in each unit, at another phase of each. */
static uint64_t look_at_us(const Process *process, uint64_t begin_us, uint64_t number)
{
    double phase = PHASE_STEP * (double)(number + (uint64_t)process->rank);
    phase -= (double)(uint64_t)phase;
    return begin_us + (uint64_t)(((double)number + phase) * (double)process->options->interval_us);
}

/*
 * How long a polite process sleeps between two looks for messages, at most: a sixty-fourth of a
 * unit makes no news noticeably older, and each look takes the core from an application for a
 * moment where they share it (studies/overhead-here/local.md).
 */
static uint64_t nap_us(const GossipOptions *options)
{
    uint64_t part_us = options->interval_us / 64;
    return part_us < 200 ? 200 : part_us > 4000 ? 4000 : part_us;
}

static void live(Process *process)
{
    const GossipOptions *options = process->options;
    uint64_t begin_us = (uint64_t)(options->warmup_s * 1e6);
    uint64_t end_us = options->seconds > 0 ? begin_us + (uint64_t)(options->seconds * 1e6)
                                           : UINT64_MAX;
    uint64_t due_us = 0, number = 0, busy_us = 0, now_us = ring_now_us(&process->ring);
    uint64_t look_us = look_at_us(process, begin_us, number);
    while (now_us < end_us && !(options->stop && options->stop(options->context))) {
        uint64_t began_us = now_us;
        bool due = now_us >= due_us;
        if (due)
            publish(process, now_us);
        tidings_node_turn(process->node, &process->transport, &due_us);
        now_us = ring_now_us(&process->ring);
        if ((ring_took(&process->ring) || due) && began_us >= begin_us)
            busy_us += now_us - began_us;
        if (now_us >= look_us) {
            if (!process->crowd.is_here)
                look(process, now_us);
            /* Looks that were missed are left out: what is seen late is seen once. */
            while (look_us <= now_us)
                look_us = look_at_us(process, begin_us, ++number);
            now_us = ring_now_us(&process->ring);
        } else if (options->polite) {
            ring_rest(&process->ring, due_us < look_us ? due_us : look_us, nap_us(options));
            now_us = ring_now_us(&process->ring);
        }
    }
    process->report->is_crowd = process->crowd.is_here;
    if (process->crowd.is_here)
        return;
    process->report->busy_s = (double)busy_us / 1e6;
    if (now_us > begin_us)
        process->report->measured_s = (double)(now_us - begin_us) / 1e6;
}

bool gossip_run(MPI_Comm comm, const GossipOptions *options, GossipReport *report, char *why,
                size_t why_bytes)
{
    Process process = { .options = options, .report = report };
    int ranks;
    MPI_Comm_rank(comm, &process.rank);
    MPI_Comm_size(comm, &ranks);
    *report = (GossipReport){ 0 };
    if (options->nodes > (uint32_t)ranks)
        process.crowd = (Crowd){ .first = (uint32_t)ranks - 1, .nodes = options->nodes,
                                 .is_here = process.rank == ranks - 1 };
    if (!begin(&process, comm, why, why_bytes))
        return false;
    /* The ranks begin together, so the clock that counts from here is one that all share. */
    MPI_Barrier(process.ring.comm);
    if (options->begun)
        options->begun(options->context);
    process.ring.origin = MPI_Wtime();
    tidings_node_set_clock(process.node, 0, 0);
    live(&process);
    ring_drain(&process.ring);
    tidings_node_counters(process.node, &report->node);
    report->ring = process.ring.counters;
    ring_close(&process.ring);
    end(&process);
    return true;
}
