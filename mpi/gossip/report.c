/* See report.h. */
#include "report.h"

#include "arguments.h"

/* Sums over all ranks, in their order in the report below. */
enum { AGE_SUM, AGES, OLDEST_SUM, LOOKS, UNHEARD, BUSY, MEASURED, SUMS };
enum { SENT, DROPPED, RECEIVED, DATAGRAMS, BYTES, ENTRIES, ARRIVED, NEWS, ROUNDS, SKIPPED,
       CROWD_SENT, CROWD_DROPPED, CROWD_ROUNDS, CROWD_SKIPPED, COUNTS };

/* What one rank counted. What a crowd did as a node is told apart; its messages are messages. */
static void count(const GossipReport *report, unsigned long long *own)
{
    const TidingsCounters *node = &report->node;
    const RingCounters *ring = &report->ring;
    own[SENT] = ring->sent;
    own[DROPPED] = ring->dropped;
    own[RECEIVED] = ring->received;
    if (report->is_crowd) {
        own[CROWD_SENT] = ring->sent;
        own[CROWD_DROPPED] = ring->dropped;
        own[CROWD_ROUNDS] = node->rounds;
        own[CROWD_SKIPPED] = node->rounds_skipped;
        return;
    }
    own[DATAGRAMS] = node->datagrams_sent;
    own[BYTES] = node->bytes_sent;
    own[ENTRIES] = node->entries_sent;
    own[ARRIVED] = node->entries_received;
    own[NEWS] = node->entries_news;
    own[ROUNDS] = node->rounds;
    own[SKIPPED] = node->rounds_skipped;
}

void report_print(FILE *out, MPI_Comm comm, const GossipOptions *options,
                  const GossipReport *report)
{
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    double sums[SUMS], mine[SUMS] = {
        report->age_sum_us, (double)report->ages, report->oldest_sum_us, (double)report->looks,
        (double)report->unheard, report->busy_s, report->measured_s,
    };
    unsigned long long counts[COUNTS], own[COUNTS] = { 0 };
    count(report, own);
    /* Who was stopped before its warm-up was over has counted nothing. */
    double busiest, share = report->measured_s > 0 ? report->busy_s / report->measured_s : 0;
    MPI_Reduce(mine, sums, SUMS, MPI_DOUBLE, MPI_SUM, 0, comm);
    MPI_Reduce(own, counts, COUNTS, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, comm);
    MPI_Reduce(&share, &busiest, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
    if (rank != 0)
        return;
    double unit_us = (double)options->interval_us;
    bool has_crowd = options->nodes > (uint32_t)ranks;
    fprintf(out, "{\"ranks\":%d,\"nodes\":%u,\"interval_ms\":%g,\"window_entries\":%u,"
           "\"payload_bytes\":%u,\"strategy\":\"%s\",\"mode\":\"%s\",\"slots\":%d,\"seed\":%llu,",
           ranks, options->nodes, unit_us / 1e3, options->window_entries, options->payload_bytes,
           arguments_strategy(options->strategy), options->polite ? "polite" : "busy",
           options->slots, (unsigned long long)options->seed);
    fprintf(out, "\"warmup_s\":%g,\"measured_s\":%g,", options->warmup_s,
            sums[MEASURED] / (ranks - has_crowd));
    fprintf(out, "\"age_avg_units\":%.4f,\"age_max_units\":%.4f,\"never_heard_pairs\":%.0f,",
           sums[AGES] > 0 ? sums[AGE_SUM] / sums[AGES] / unit_us : 0.0,
           sums[LOOKS] > 0 ? sums[OLDEST_SUM] / sums[LOOKS] / unit_us : 0.0, sums[UNHEARD]);
    fprintf(out, "\"busy_share\":%.6f,\"busy_share_most\":%.6f,",
            sums[MEASURED] > 0 ? sums[BUSY] / sums[MEASURED] : 0.0, busiest);
    if (has_crowd)
        fprintf(out, "\"crowd_rounds\":%llu,\"crowd_rounds_skipped\":%llu,"
                "\"crowd_messages_sent\":%llu,\"crowd_messages_dropped\":%llu,",
                counts[CROWD_ROUNDS], counts[CROWD_SKIPPED], counts[CROWD_SENT],
                counts[CROWD_DROPPED]);
    fprintf(out, "\"rounds\":%llu,\"rounds_skipped\":%llu,\"messages_sent\":%llu,"
           "\"messages_received\":%llu,\"messages_dropped\":%llu,\"datagrams_sent\":%llu,"
           "\"bytes_made\":%llu,\"entries_sent\":%llu,\"entries_received\":%llu,"
           "\"entries_news\":%llu}\n",
           counts[ROUNDS], counts[SKIPPED], counts[SENT], counts[RECEIVED], counts[DROPPED],
           counts[DATAGRAMS], counts[BYTES], counts[ENTRIES], counts[ARRIVED], counts[NEWS]);
}
