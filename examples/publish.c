/* Publishes metrics of one's own, all or none, for some seconds, or withdraws them:
 *
 *     cc -std=c11 -O2 -I crates/board/include -o publish examples/publish.c
 *     ./publish 600 gpu 3 job a17
 *     ./publish 0 gpu job
 *
 * Exits with the codes of `tidings publish`: 1 if the agent refuses, 3 without one, 2 for a wrong
 * use.
 */
#include "tidings_publish.h"

int main(int count, char **words)
{
    tidings_metric metrics[TIDINGS_METRICS];
    tidings_publish_request want;
    tidings_refusal why;
    int at, step, status;
    memset(&want, 0, sizeof want);
    want.ttl_s = count > 1 ? strtoull(words[1], NULL, 10) : 0;
    want.withdraw = want.ttl_s == 0;
    step = want.withdraw ? 1 : 2;
    for (at = 2; at + step <= count && want.count < TIDINGS_METRICS; at += step) {
        metrics[want.count].key = words[at];
        metrics[want.count++].value = words[at + step - 1];
    }
    want.metrics = metrics;
    status = tidings_publish(&want, &why);
    if (status == TIDINGS_OK)
        return 0;
    fprintf(stderr, "%s\n", why.message);
    return status == TIDINGS_BAD_REQUEST                                      ? 2
           : status == TIDINGS_REFUSED || status == TIDINGS_MALFORMED         ? 1
                                                                              : 3;
}
