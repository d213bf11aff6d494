/*
 * Numbers that are collected by several processes, some of which are killed.
 * usage: collects make COUNT | collect COUNT | stop COUNT
 *
 * `make` submits tasks and does them; `collect` adds their results, and prints the sum and the
 * parameter that `make` has written; `stop` says that it combines, and never goes on.
 */

#include "expect.h"

#include <inttypes.h>
#include <unistd.h>

static int add(const TidingsTasksBytes *inputs, size_t count, TidingsTasksResult *result,
               void *stops) {
    uint64_t sum = 0, number;
    if (*(const int *)stops) {
        puts("combining");
        fflush(stdout);
        while (1) pause();
    }
    for (size_t i = 0; i < count; i++) {
        HOLDS(inputs[i].count == sizeof number);
        memcpy(&number, inputs[i].start, sizeof number);
        sum += number;
    }
    OK(tidings_tasks_result(result, (const uint8_t *)&sum, sizeof sum, &error));
    return 0;
}

static void make(TidingsTasks *tasks, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) submitted(tasks, "numbers", NULL, i, &i, sizeof i);
    for (uint64_t i = 0; i < count; i++) {
        TidingsTasksClaim *claim = claimed(tasks, "numbers");
        OK(tidings_tasks_complete(claim, claim->payload, claim->payload_bytes, &error));
    }
    OK(tidings_tasks_write(tasks, "parameter", (const uint8_t *)"seventeen", 9, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_REFUSED,
            tidings_tasks_write(tasks, "parameter", (const uint8_t *)"twelve", 6, &error));
    puts("made");
}

static void collect(TidingsTasks *tasks, uint64_t count, int stops) {
    TidingsTasksOutcome whole, parameter;
    const TidingsTasksCombine combine = {add, &stops};
    uint64_t sum;
    OK(tidings_tasks_collect(tasks, "numbers", count, &combine, TIDINGS_TASKS_FOREVER, &whole,
                             &error));
    HOLDS(whole.end == TIDINGS_TASKS_END_DONE && whole.result_bytes == sizeof sum);
    memcpy(&sum, whole.result, sizeof sum);
    tidings_tasks_outcome_free(&whole);
    OK(tidings_tasks_read(tasks, "parameter", TIDINGS_TASKS_FOREVER, &parameter, &error));
    printf("%" PRIu64 " %.*s\n", sum, (int)parameter.result_bytes, (char *)parameter.result);
    tidings_tasks_outcome_free(&parameter);
    ANSWERS(TIDINGS_TASKS_STATUS_TIMEOUT,
            tidings_tasks_read(tasks, "never written", 1, &parameter, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_NOT_FOUND,
            tidings_tasks_collect(tasks, "no numbers", count, &combine, TIDINGS_TASKS_FOREVER,
                                  &whole, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_collect(tasks, "numbers", 0, &combine, 0, &whole, &error));
}

int main(int count, char **words) {
    HOLDS(count == 3);
    TidingsTasks *tasks = opened("collects");
    uint64_t number = strtoull(words[2], NULL, 10);
    if (strcmp(words[1], "make") == 0)
        make(tasks, number);
    else
        collect(tasks, number, strcmp(words[1], "stop") == 0);
    tidings_tasks_close(tasks);
    return 0;
}
