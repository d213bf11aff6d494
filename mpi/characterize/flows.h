/*
 * Flows: streams of messages from one rank to another, each answered by one small message, whose
 * time is subtracted (section 3.1.1 of Balaji et al., MPI on a Massive Scale Blue Gene/P).
 */
#ifndef TIDINGS_CHARACTERIZE_FLOWS_H
#define TIDINGS_CHARACTERIZE_FLOWS_H

#include "bench.h"
#include "buffers.h"

#define MOST_FLOWS 64

/* A flow between two ranks of WORLD. */
typedef struct Flow {
    int from, to;
    const char *variant; /* in its row; null: it has none, and only disturbs */
} Flow;

/* How flows are measured. */
typedef struct FlowPlan {
    const char *test;
    size_t bytes, beyond_cache; /* of a message; of all buffers: 0 for one */
    int count;                  /* in the row */
    bool is_sum; /* one row for all flows, of the time until the last has ended */
} FlowPlan;

/* Messages of a repetition. */
int flow_messages(const Bench *bench, size_t bytes);

/* Measures flows that run at once; no rank is in two. Collective over WORLD. */
void flows_measure(Bench *bench, const Flow *flows, int count, const FlowPlan *plan);

/* One-way ping-pong latency between two ranks of WORLD, as rows. Collective over WORLD. */
void latency_measure(Bench *bench, const Flow *pair, const FlowPlan *plan);

#endif
