/*
 * A gossip process over MPI: the process of Levy et al. (ROSS'14), section 4.2, on the core that
 * the agent has. Each rank of a communicator is a node. Once a unit a node renews its entry and
 * sends; between units it takes in what arrives.
 *
 * Busy, it looks for messages without pause, as in the paper. Polite, it sleeps between looks. Its
 * busy share is the part of its time in which it was not waiting (the paper's Figure 6).
 */
#ifndef TIDINGS_MPI_GOSSIP_H
#define TIDINGS_MPI_GOSSIP_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring.h"
#include "tidings_node.h"

typedef struct GossipOptions {
    uint64_t interval_us;
    uint32_t window_entries;
    uint16_t payload_bytes;
    uint32_t nodes;    /* of the cluster; if more than ranks: the last simulates them (crowd.h) */
    uint32_t strategy; /* a TidingsStrategy */
    bool polite;
    int slots;         /* messages in flight */
    uint64_t seed;
    double warmup_s; /* ages and shares are counted after that */
    double seconds;  /* and for so long; 0: until told to stop */
    /* Called once, when all ranks are ready to gossip; null: not. */
    void (*begun)(void *context);
    /* Asked after each turn whether to stop; null: never. */
    bool (*stop)(void *context);
    void *context;
    const struct RingMachine *machine; /* null but on a simulated machine */
} GossipOptions;

/* What one rank saw and did after its warm-up; the messages are those of its whole life. */
typedef struct GossipReport {
    double measured_s;
    double busy_s;       /* not spent waiting */
    uint64_t looks;      /* times that all ages were looked at, once a unit */
    double age_sum_us;   /* of all entries of others, over all looks */
    uint64_t ages;       /* how many that were */
    double oldest_sum_us; /* of the oldest, over all looks */
    uint64_t unheard;    /* entries never heard of, over all looks */
    bool is_crowd;       /* this rank simulates nodes: nothing above was counted */
    TidingsCounters node;
    RingCounters ring;
} GossipReport;

/*
 * Gossips among the ranks of `comm`, two at least and no more than nodes. Collective. On failure
 * false is returned on every rank, and `why` (of `why_bytes` bytes) says what is wrong on those
 * that know.
 */
bool gossip_run(MPI_Comm comm, const GossipOptions *options, GossipReport *report, char *why,
                size_t why_bytes);

#endif
