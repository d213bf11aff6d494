/* What a test program in C states of the calls that it makes: one that is not so ends it. */

#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidings_tasks.h>

/* The call answers this status. */
#define ANSWERS(expected, call)                                                                    \
    do {                                                                                           \
        TidingsTasksError error;                                                                   \
        TidingsTasksStatus status = (call);                                                        \
        if (status != (expected)) {                                                                \
            fprintf(stderr, "%s:%d: %s answered %d: %s\n", __FILE__, __LINE__, #call, (int)status, \
                    error.text);                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define OK(call) ANSWERS(TIDINGS_TASKS_STATUS_OK, call)

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition);                    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static inline TidingsTasks *opened(const char *name) {
    TidingsTasksOptions options = {0};
    TidingsTasks *tasks = NULL;
    options.name = name;
    OK(tidings_tasks_open(&options, &tasks, &error));
    return tasks;
}

/* Task number `number` of the queue `queue`. */
static inline TidingsTasksId submitted(TidingsTasks *tasks, const char *queue, const char *function,
                                       uint64_t number, const void *payload, size_t bytes) {
    TidingsTasksSubmission task = {0};
    size_t added = 0;
    OK(tidings_tasks_id(queue, number, &task.id, &error));
    task.queue = queue;
    task.function = function;
    task.payload = payload;
    task.payload_bytes = bytes;
    OK(tidings_tasks_submit(tasks, &task, 1, &added, &error));
    HOLDS(added == 1);
    return task.id;
}

static inline TidingsTasksClaim *claimed(TidingsTasks *tasks, const char *queue) {
    TidingsTasksClaim *claim = NULL;
    OK(tidings_tasks_claim(tasks, queue, TIDINGS_TASKS_FOREVER, &claim, &error));
    return claim;
}

/* The end of a task, whose result is given back by the caller. */
static inline TidingsTasksOutcome ended(TidingsTasks *tasks, TidingsTasksId id) {
    TidingsTasksOutcome outcome;
    OK(tidings_tasks_wait(tasks, &id, TIDINGS_TASKS_FOREVER, &outcome, &error));
    return outcome;
}

#endif
