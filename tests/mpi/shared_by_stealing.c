/*
 * Processes of one host that share tasks by tidings_steal_host.h, and no MPI: a tree of tasks help
 * first and work first, a finish, an array, a trace, what is refused, and a retained iteration.
 *
 *     shared_by_stealing SEGMENT WORKERS SEARCH
 *
 * The program makes a segment and its other workers itself, and ends with 0 if all was right.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidings_steal_host.h"

#define EXPECT(what)                                                                            \
    do {                                                                                        \
        if (!(what)) {                                                                          \
            fprintf(stderr, "line %d: not %s: %s\n", __LINE__, #what, error.text);              \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)
#define OK(call) EXPECT((call) == TIDINGS_HOST_STATUS_OK)

enum { HELP_FIRST, WORK_FIRST, FINISH, FUNCTIONS };
enum { ELEMENTS = 6, FEW = 40 };

struct State {
    double weight; /* which has to be aligned */
    uint32_t number;
};

struct Found {
    uint64_t ran, after;
    TidingsHostArray *array;
};

static TidingsHostError error;

/* fib(number) leaves: both are spawned. */
static void help_first(TidingsHostTask *task, void *user)
{
    struct Found *found = user;
    size_t bytes = 0;
    const struct State *state = tidings_host_state(task, &bytes);
    EXPECT(bytes == sizeof *state && (uintptr_t)state % 8 == 0 && state->weight == 0.5);
    if (state->number < 2) {
        found->ran++;
        return;
    }
    for (uint32_t less = 1; less <= 2; less++) {
        struct State child = { 0.5, state->number - less };
        OK(tidings_host_spawn(task, HELP_FIRST, 0, &child, sizeof child));
    }
    uint8_t large[300] = { 0 };
    EXPECT(tidings_host_spawn(task, HELP_FIRST, 0, large, sizeof large) ==
           TIDINGS_HOST_STATUS_TASK);
    EXPECT(tidings_host_spawn(task, FUNCTIONS, 0, NULL, 0) == TIDINGS_HOST_STATUS_TASK);
    EXPECT(tidings_host_spawn(task, HELP_FIRST, 0, NULL, 1) == TIDINGS_HOST_STATUS_ARGUMENT);
    tidings_host_progress(task);
}

/* A chain: each lets its child run first, and then adds to a block. */
static void work_first(TidingsHostTask *task, void *user)
{
    struct Found *found = user;
    size_t bytes = 0;
    const struct State *state = tidings_host_state(task, &bytes);
    struct State child = { 0.5, state->number - 1 };
    const TidingsHostChild first = { WORK_FIRST, 1000, &child, sizeof child };
    if (tidings_host_step(task) == 0 && state->number > 0) {
        EXPECT(tidings_host_child_first(task, &first, 1, NULL, 1) == TIDINGS_HOST_STATUS_ARGUMENT);
        OK(tidings_host_child_first(task, &first, 1, state, bytes));
        /* The step has ended. */
        EXPECT(tidings_host_spawn(task, WORK_FIRST, 0, &child, sizeof child) ==
               TIDINGS_HOST_STATUS_TASK);
        return;
    }
    const double ones[ELEMENTS] = { 1, 1, 1, 1, 1, 1 };
    OK(tidings_host_array_accumulate(found->array, state->number % 2, 0, ones, ELEMENTS, &error));
}

/* What follows a finish sees what all of it has added, wherever that ran. */
static void finish(TidingsHostTask *task, void *user)
{
    struct Found *found = user;
    if (tidings_host_step(task) == 0) {
        struct State chain = { 0.5, FEW };
        const TidingsHostChild body = { WORK_FIRST, 0, &chain, sizeof chain };
        OK(tidings_host_finish_first(task, &body, 1, NULL, 0));
        return;
    }
    double sum = 0;
    for (size_t row = 0; row < 2; row++) {
        double block[ELEMENTS];
        OK(tidings_host_array_get(found->array, row, 0, block, ELEMENTS, &error));
        for (int at = 0; at < ELEMENTS; at++)
            sum += block[at];
    }
    EXPECT(sum == (FEW + 1) * ELEMENTS);
    found->after++;
}

static uint64_t total(TidingsHost *host, uint32_t workers, uint64_t own)
{
    uint64_t sum = 0, *shown = calloc(workers, sizeof *shown);
    OK(tidings_host_gather(host, &own, 1, shown, &error));
    for (uint32_t worker = 0; worker < workers; worker++)
        sum += shown[worker];
    free(shown);
    return sum;
}

static void refused(TidingsHost *host, const TidingsHostBody *functions)
{
    uint8_t large[300] = { 0 };
    struct Found none = { 0 };
    OK(tidings_host_add(host, HELP_FIRST, 0, large, sizeof large));
    EXPECT(tidings_host_phase(host, "large", functions, FUNCTIONS, &none, NULL, &error) ==
           TIDINGS_HOST_STATUS_TASK);
    EXPECT(strstr(error.text, "300 bytes"));
    EXPECT(tidings_host_add(host, 0, 0, large, 5000) == TIDINGS_HOST_STATUS_TASK);
    EXPECT(tidings_host_phase(host, NULL, functions, FUNCTIONS, &none, NULL, &error) ==
           TIDINGS_HOST_STATUS_ARGUMENT);
    EXPECT(tidings_host_phase(host, "null", (TidingsHostBody[]){ NULL }, 1, &none, NULL, &error) ==
           TIDINGS_HOST_STATUS_ARGUMENT);
    EXPECT(tidings_host_is_lost(host, 1000) && !tidings_host_is_lost(host, 0));
}

static void work(const char *path, uint32_t workers, bool retain)
{
    const TidingsHostBody functions[] = { help_first, work_first, finish };
    const TidingsHostSizes sizes = { 4, 3, 2, 3 };
    TidingsHost *host;
    TidingsHostPhase phase;
    struct Found found = { 0 };
    char trace[256];
    snprintf(trace, sizeof trace, "%s.trace", path);
    OK(tidings_host_join(path, workers, &host, &error));
    bool is_first = tidings_host_number(host) == 0;
    refused(host, functions);
    for (int iteration = 0; iteration < 2; iteration++) {
        struct State root = { 0.5, 18 };
        if (is_first) OK(tidings_host_add(host, HELP_FIRST, 0, &root, sizeof root));
        OK(tidings_host_phase(host, "help", functions, FUNCTIONS, &found, &phase, &error));
        uint32_t first = retain ? TIDINGS_HOST_SEEDING_FIRST : TIDINGS_HOST_SEEDING_GIVEN;
        uint32_t then = retain ? TIDINGS_HOST_SEEDING_RETAINED : first;
        EXPECT(phase.seeding == (iteration ? then : first) && phase.took_ns > 0);
        EXPECT(total(host, workers, phase.executed) == 8361);
        OK(tidings_host_trace(host, "help", trace, &error));
        EXPECT(!is_first || !access(trace, R_OK));
    }
    EXPECT(total(host, workers, found.ran) == 2 * 4181);
    OK(tidings_host_array_create(host, &sizes, &found.array, &error));
    EXPECT(tidings_host_array_owner(found.array, 1, 0) == 1 % workers);
    EXPECT(tidings_host_array_owner(found.array, 0, 1) == UINT32_MAX);
    double few[2] = { 0, 0 };
    EXPECT(tidings_host_array_put(found.array, 0, 0, few, 2, &error) ==
           TIDINGS_HOST_STATUS_ARGUMENT);
    if (is_first) OK(tidings_host_add(host, FINISH, 0, NULL, 0));
    OK(tidings_host_phase(host, "finish", functions, FUNCTIONS, &found, NULL, &error));
    EXPECT(total(host, workers, found.after) == 1);
    OK(tidings_host_sync(host, &error));
    tidings_host_array_free(found.array);
    tidings_host_leave(host);
}

int main(int count, char **words)
{
    if (count != 4) return 2;
    uint32_t workers = (uint32_t)atoi(words[2]);
    bool retain = workers > 1;
    TidingsHostRules rules = { .search = (uint32_t)atoi(words[3]), .retain = retain };
    TidingsHostSegment *segment;
    OK(tidings_host_segment_create(words[1], workers, &rules, &segment, &error));
    for (uint32_t worker = 1; worker < workers; worker++) {
        pid_t child = fork();
        EXPECT(child >= 0);
        if (child == 0) {
            work(words[1], workers, retain);
            _exit(0);
        }
    }
    work(words[1], workers, retain);
    for (uint32_t worker = 1; worker < workers; worker++) {
        int status;
        EXPECT(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    TidingsHostSegment *none;
    EXPECT(tidings_host_segment_create(words[1], 0, &rules, &none, &error) ==
               TIDINGS_HOST_STATUS_REFUSED && !none);
    tidings_host_segment_free(segment);
    EXPECT(access(words[1], F_OK));
    puts("right");
    return 0;
}
