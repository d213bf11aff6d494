/* tidings_publish.h: adds metrics of your own to this node's entry, as `tidings publish` does.
 *
 * Headers only, C11 or C++, no library, beside tidings.h, tidings_pick.h and tidings_wire.h:
 * include it first, or define _POSIX_C_SOURCE yourself.
 *
 *     tidings_metric metrics[] = {{"gpu", "3"}, {"job", "a17"}};
 *     tidings_publish_request want = {.metrics = metrics, .count = 2, .ttl_s = 600};
 *     tidings_refusal why;
 *     if (tidings_publish(&want, &why) != TIDINGS_OK) fprintf(stderr, "%s\n", why.message);
 *
 * All are published at once or none is, and no node ever sees some without the others. They go to
 * the agent by its control socket (docs/reference/control.md), which only operators may write to.
 */
#ifndef TIDINGS_PUBLISH_H
#define TIDINGS_PUBLISH_H

#include "tidings_pick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most that an agent keeps. */
#define TIDINGS_METRICS 64u

/* A metric of one's own, which readers find as user.KEY. */
typedef struct tidings_metric {
    const char *key;   /* 1 to 32 of a-z 0-9 _ . -, first a letter or digit */
    const char *value; /* at most 255 bytes of UTF-8, without control characters */
} tidings_metric;

/* What to publish. Zeros are the defaults, but for metrics and their count. */
typedef struct tidings_publish_request {
    const tidings_metric *metrics; /* the last of those with one key is taken */
    size_t count;                  /* how many, 1 to TIDINGS_METRICS */
    uint64_t ttl_s;                /* seconds until they are withdrawn; 0: an hour */
    int withdraw;                  /* not 0: withdraw them now; their values do not matter */
    const char *runtime_dir;       /* the agent's; NULL: the usual place */
    int64_t timeout_ns;            /* for the whole call; 0: 5 s */
} tidings_publish_request;

static inline void tidings_send_metrics_(tidings_wire_ *wire,
                                         const tidings_publish_request *request)
{
    char tail[48];
    uint64_t ttl_s = request->withdraw ? 0 : request->ttl_s ? request->ttl_s : 3600;
    int bytes = snprintf(tail, sizeof tail, "},\"ttl_s\":%llu}\n", (unsigned long long)ttl_s);
    size_t at;
    tidings_put_(wire, "{\"op\":\"publish-all\",\"metrics\":{", 31);
    for (at = 0; at < request->count; at++) {
        tidings_put_(wire, ",", at > 0);
        tidings_put_text_(wire, request->metrics[at].key);
        tidings_put_(wire, ":", 1);
        tidings_put_text_(wire, request->withdraw ? "" : request->metrics[at].value);
    }
    tidings_put_(wire, tail, (size_t)bytes);
    tidings_flush_(wire);
}

/* Publishes all metrics of the request, or none. Returns TIDINGS_OK, or what went wrong, which why
 * (not NULL) says in words: TIDINGS_REFUSED where a key, a value or their room does not do,
 * TIDINGS_FORBIDDEN where this user is no operator. */
static inline int tidings_publish(const tidings_publish_request *request, tidings_refusal *why)
{
    tidings_wire_ wire;
    tidings_pick_request none;
    char path[sizeof why->message];
    memset(&wire, 0, sizeof wire);
    memset(&none, 0, sizeof none);
    wire.request = &none; /* no nodes come back */
    wire.why = why;
    tidings_begin_(&wire, request->runtime_dir, request->timeout_ns, path);
    if (wire.status == TIDINGS_OK && (request->count < 1 || request->count > TIDINGS_METRICS))
        wire.status = TIDINGS_BAD_REQUEST;
    if (wire.status == TIDINGS_OK)
        tidings_send_metrics_(&wire, request);
    return tidings_end_(&wire, path);
}

#ifdef __cplusplus
}
#endif

#endif
