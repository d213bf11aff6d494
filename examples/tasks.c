/*
 * Durable tasks in C: squares numbers. Started several times at once, each process does a part of
 * them; killed and started again, it does what is left.
 *
 * cc -I crates/tasks-ffi/include examples/tasks.c target/release/libtidings_tasks_c.a -lpthread \
 *     -ldl -lm -o tasks && TIDINGS_STORE=file:squares ./tasks
 */

#include <stdio.h>
#include <string.h>
#include <tidings_tasks.h>

enum { TASKS = 10 };

static int square(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    double number;
    (void)context;
    if (claim->payload_bytes != sizeof number) return 1; /* it has failed */
    memcpy(&number, claim->payload, sizeof number);
    number *= number;
    return (int)tidings_tasks_result(result, (const uint8_t *)&number, sizeof number, NULL);
}

static int failed(const char *what) {
    fprintf(stderr, "tasks: %s\n", what);
    return 1;
}

int main(void) {
    const TidingsTasksFunction functions[] = {{"square", square, NULL}};
    TidingsTasksOptions options = {0}; /* the store that TIDINGS_STORE names */
    TidingsTasksSubmission tasks[TASKS];
    TidingsTasksStatus status;
    TidingsTasksError error;
    TidingsTasks *store;
    double numbers[TASKS];

    if (tidings_tasks_open(&options, &store, &error) != TIDINGS_TASKS_STATUS_OK)
        return failed(error.text);
    for (int i = 0; i < TASKS; i++) {
        numbers[i] = i;
        tasks[i] = (TidingsTasksSubmission){.queue = "squares", .function = "square",
            .payload = (const uint8_t *)&numbers[i], .payload_bytes = sizeof numbers[i]};
        tidings_tasks_id("squares", (uint64_t)i, &tasks[i].id, NULL);
    }
    if (tidings_tasks_submit(store, tasks, TASKS, NULL, &error) != TIDINGS_TASKS_STATUS_OK)
        return failed(error.text);
    for (int i = 0; i < TASKS; i++) {
        TidingsTasksOutcome outcome;
        while ((status = tidings_tasks_wait(store, &tasks[i].id, 0, &outcome, &error)) ==
               TIDINGS_TASKS_STATUS_TIMEOUT) {
            status = tidings_tasks_work(store, "squares", functions, 1, 100, &error);
            if (status > TIDINGS_TASKS_STATUS_SUPERSEDED) return failed(error.text);
        }
        if (status != TIDINGS_TASKS_STATUS_OK) return failed(error.text);
        if (outcome.end != TIDINGS_TASKS_END_DONE) return failed(outcome.failure);
        memcpy(&numbers[i], outcome.result, sizeof numbers[i]);
        tidings_tasks_outcome_free(&outcome);
        printf("%g\n", numbers[i]);
    }
    tidings_tasks_close(store);
    return 0;
}
