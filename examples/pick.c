/* Picks nodes for work and prints them, the best first, or which need failed and by how much:
 *
 *     cc -std=c11 -O2 -I crates/board/include -o pick examples/pick.c
 *     ./pick 4 8 17179869184            four nodes with 8 processors and 16 GiB free
 *     ./pick [--timeout SECONDS] [NODES [CPUS [MEM_BYTES [AVOID...]]]]
 *
 * Exits with the codes of `tidings pick`: 4 if too few nodes have what is needed, 3 without an
 * agent, 2 for a wrong use.
 */
#include "tidings_pick.h"

static void tell(const char *what, const tidings_lack *lack)
{
    if (lack->nodes > 0)
        fprintf(stderr, "%s: %g short on the best of %llu nodes\n", what, lack->lacks,
                (unsigned long long)lack->nodes);
}

static int fail(int status, const tidings_refusal *why)
{
    fprintf(stderr, "%s\n", why->message);
    switch (status) {
    case TIDINGS_UNSATISFIED:
        tell("cpus", &why->cpus);
        tell("mem_bytes", &why->mem_bytes);
        return 4;
    case TIDINGS_BAD_REQUEST: return 2;
    case TIDINGS_REFUSED:
    case TIDINGS_MALFORMED: return 1;
    default: return 3;
    }
}

int main(int count, char **words)
{
    tidings_pick_request want;
    tidings_picked nodes[64];
    tidings_refusal why;
    uint32_t at;
    int status;
    memset(&want, 0, sizeof want);
    if (count > 2 && strcmp(words[1], "--timeout") == 0) {
        want.timeout_ns = (int64_t)(atof(words[2]) * 1e9);
        count -= 2, words += 2;
    }
    want.count = count > 1 ? (uint32_t)strtoul(words[1], NULL, 10) : 1;
    want.cpus = count > 2 ? atof(words[2]) : 0;
    want.mem_bytes = count > 3 ? strtoull(words[3], NULL, 10) : 0;
    if (want.count < 1 || want.count > 64) {
        fputs("name 1 to 64 nodes\n", stderr);
        return 2;
    }
    if (count > 4) {
        want.avoid = (const char *const *)(words + 4);
        want.avoid_count = (size_t)(count - 4);
    }
    status = tidings_pick(&want, nodes, &why);
    if (status != TIDINGS_OK)
        return fail(status, &why);
    for (at = 0; at < want.count; at++)
        printf("%s %.3f s old, %.1f of %.0f processors free\n", nodes[at].name, nodes[at].age_s,
               nodes[at].free_cpus, nodes[at].cpus);
    return 0;
}
