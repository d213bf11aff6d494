/* Every function of the interface, in one process: what it does, and what it refuses. */

#include "expect.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG_BYTES = 100000, TASKS = 40, THREADS = 4 };

static void claims_end_once(TidingsTasks *tasks) {
    TidingsTasksQueue length;
    TidingsTasksId id = submitted(tasks, "items", NULL, 1, "payload", 7);
    char text[TIDINGS_TASKS_ID_TEXT_BYTES];
    OK(tidings_tasks_id_text(&id, &text, &error));
    HOLDS(strlen(text) == 32);
    OK(tidings_tasks_queue(tasks, "items", &length, &error));
    HOLDS(length.ready == 1 && length.running == 0);
    TidingsTasksClaim *claim = claimed(tasks, "items");
    HOLDS(memcmp(claim->id.bytes, id.bytes, sizeof id.bytes) == 0);
    HOLDS(claim->attempt == 1 && claim->function == NULL && strcmp(claim->queue, "items") == 0);
    HOLDS(claim->payload_bytes == 7 && memcmp(claim->payload, "payload", 7) == 0);
    HOLDS(tidings_tasks_is_wanted(claim));
    OK(tidings_tasks_queue(tasks, "items", &length, &error));
    HOLDS(length.ready == 0 && length.running == 1);
    OK(tidings_tasks_progress(claim, 500, "half of it", &error));
    TidingsTasksOutcome outcome;
    ANSWERS(TIDINGS_TASKS_STATUS_TIMEOUT, tidings_tasks_wait(tasks, &id, 1, &outcome, &error));
    OK(tidings_tasks_give_back(claim, &error));
    claim = claimed(tasks, "items");
    HOLDS(claim->attempt == 2);
    OK(tidings_tasks_complete(claim, (const uint8_t *)"result", 6, &error));
    outcome = ended(tasks, id);
    HOLDS(outcome.end == TIDINGS_TASKS_END_DONE && outcome.attempts == 2);
    HOLDS(outcome.result_bytes == 6 && memcmp(outcome.result, "result", 6) == 0);
    tidings_tasks_outcome_free(&outcome);
    tidings_tasks_outcome_free(&outcome);
    OK(tidings_tasks_forget(tasks, &id, 1, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_NOT_FOUND,
            tidings_tasks_wait(tasks, &id, TIDINGS_TASKS_FOREVER, &outcome, &error));
}

static void long_ones_come_whole(TidingsTasks *tasks) {
    uint8_t *bytes = malloc(LONG_BYTES);
    HOLDS(bytes != NULL);
    for (size_t i = 0; i < LONG_BYTES; i++) bytes[i] = (uint8_t)(i * i >> 3);
    TidingsTasksId id = submitted(tasks, "long", NULL, 1, bytes, LONG_BYTES);
    TidingsTasksClaim *claim = claimed(tasks, "long");
    HOLDS(claim->payload_bytes == LONG_BYTES && memcmp(claim->payload, bytes, LONG_BYTES) == 0);
    OK(tidings_tasks_complete(claim, bytes, LONG_BYTES, &error));
    TidingsTasksOutcome outcome = ended(tasks, id);
    HOLDS(outcome.result_bytes == LONG_BYTES && memcmp(outcome.result, bytes, LONG_BYTES) == 0);
    tidings_tasks_outcome_free(&outcome);
    free(bytes);
}

static void values_have_revisions(TidingsTasks *tasks) {
    TidingsTasksOutcome outcome;
    uint64_t first = 1, second = 0, seen = 9;
    ANSWERS(TIDINGS_TASKS_STATUS_NOT_FOUND,
            tidings_tasks_get(tasks, "k/1", &outcome, &seen, &error));
    HOLDS(seen == 0);
    OK(tidings_tasks_set(tasks, "k/1", (const uint8_t *)"one", 3, 0, &first, &error));
    OK(tidings_tasks_get(tasks, "k/1", &outcome, &seen, &error));
    HOLDS(seen == first && outcome.result_bytes == 3 && memcmp(outcome.result, "one", 3) == 0);
    tidings_tasks_outcome_free(&outcome);
    OK(tidings_tasks_set(tasks, "k/1", (const uint8_t *)"two", 3, first, &second, &error));
    HOLDS(second > first);
    ANSWERS(TIDINGS_TASKS_STATUS_CHANGED,
            tidings_tasks_set(tasks, "k/1", (const uint8_t *)"six", 3, first, NULL, &error));
    OK(tidings_tasks_set(tasks, "k/1", NULL, 0, TIDINGS_TASKS_ANY, NULL, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_NOT_FOUND,
            tidings_tasks_get(tasks, "k/1", &outcome, NULL, &error));
}

static void children_and_effects_come_with_the_end(TidingsTasks *tasks) {
    const uint8_t value[] = "3";
    TidingsTasksQueue length;
    TidingsTasksOutcome outcome;
    TidingsTasksSubmission child = {0};
    child.queue = "children";
    TidingsTasksId id = submitted(tasks, "parents", NULL, 1, NULL, 0);
    for (int try = 0; try < 2; try++) {
        TidingsTasksClaim *claim = claimed(tasks, "parents");
        for (int i = 0; i < 2; i++) OK(tidings_tasks_child(claim, &child, &error));
        OK(tidings_tasks_effect(claim, "k/2", value, 1, 0, &error));
        OK(tidings_tasks_queue(tasks, "children", &length, &error));
        HOLDS(length.ready == 0);
        if (try == 0) OK(tidings_tasks_give_back(claim, &error));
        else OK(tidings_tasks_complete(claim, NULL, 0, &error));
    }
    HOLDS(ended(tasks, id).end == TIDINGS_TASKS_END_DONE);
    OK(tidings_tasks_queue(tasks, "children", &length, &error));
    HOLDS(length.ready == 2);
    OK(tidings_tasks_get(tasks, "k/2", &outcome, NULL, &error));
    HOLDS(outcome.result_bytes == 1 && outcome.result[0] == '3');
    tidings_tasks_outcome_free(&outcome);
    /* It expects what is not so: nothing of its completion happens. */
    id = submitted(tasks, "parents", NULL, 2, NULL, 0);
    TidingsTasksClaim *claim = claimed(tasks, "parents");
    OK(tidings_tasks_child(claim, &child, &error));
    OK(tidings_tasks_effect(claim, "k/2", value, 1, 0, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_CHANGED, tidings_tasks_complete(claim, NULL, 0, &error));
    HOLDS(ended(tasks, id).end == TIDINGS_TASKS_END_FAILED);
    OK(tidings_tasks_queue(tasks, "children", &length, &error));
    HOLDS(length.ready == 2);
}

/* A task of the queue `behind` that waits for others. */
static TidingsTasksId behind(TidingsTasks *tasks, uint64_t number, const TidingsTasksId *inputs,
                             size_t count) {
    TidingsTasksSubmission task = {0};
    OK(tidings_tasks_id("behind", number, &task.id, &error));
    task.queue = "behind";
    task.inputs = inputs;
    task.input_count = count;
    OK(tidings_tasks_submit(tasks, &task, 1, NULL, &error));
    return task.id;
}

static void tasks_read_those_that_they_wait_for(TidingsTasks *tasks) {
    uint8_t *bytes = calloc(LONG_BYTES, 1);
    HOLDS(bytes != NULL);
    bytes[LONG_BYTES - 1] = 9;
    TidingsTasksId sources[3];
    for (int i = 0; i < 3; i++) sources[i] = submitted(tasks, "sources", NULL, i, NULL, 0);
    TidingsTasksId joined = behind(tasks, 1, sources, 3);
    TidingsTasksClaim *claim = NULL;
    ANSWERS(TIDINGS_TASKS_STATUS_TIMEOUT, tidings_tasks_claim(tasks, "behind", 1, &claim, &error));
    const uint8_t *results[] = {(const uint8_t *)"short", bytes, NULL};
    const size_t counts[] = {5, LONG_BYTES, 0};
    for (int i = 0; i < 3; i++) {
        claim = claimed(tasks, "sources");
        OK(tidings_tasks_complete(claim, results[i], counts[i], &error));
    }
    claim = claimed(tasks, "behind");
    HOLDS(memcmp(claim->id.bytes, joined.bytes, sizeof joined.bytes) == 0);
    const uint8_t *read = NULL, *first = NULL;
    size_t count = 1;
    OK(tidings_tasks_input(claim, 0, &first, &count, &error));
    for (int i = 2; i >= 0; i--) {
        OK(tidings_tasks_input(claim, (size_t)i, &read, &count, &error));
        HOLDS(count == counts[i] && (count == 0 || memcmp(read, results[i], count) == 0));
    }
    HOLDS(read == first);
    const TidingsTasksStatus wrong = TIDINGS_TASKS_STATUS_ARGUMENT;
    ANSWERS(wrong, tidings_tasks_input(claim, 3, &read, &count, &error));
    ANSWERS(wrong, tidings_tasks_input(claim, 0, NULL, &count, &error));
    ANSWERS(wrong, tidings_tasks_input(NULL, 0, &read, &count, &error));
    OK(tidings_tasks_complete(claim, NULL, 0, &error));
    TidingsTasksId broken = submitted(tasks, "sources", NULL, 3, NULL, 0);
    TidingsTasksId between = behind(tasks, 2, &broken, 1), last = behind(tasks, 3, &between, 1);
    OK(tidings_tasks_fail(claimed(tasks, "sources"), "it is broken", &error));
    TidingsTasksOutcome outcome = ended(tasks, last);
    HOLDS(outcome.end == TIDINGS_TASKS_END_FAILED && outcome.attempts == 0);
    HOLDS(strstr(outcome.failure, "has failed: it is broken") != NULL);
    free(bytes);
}

static void needs_are_kept(TidingsTasks *tasks) {
    TidingsTasksOptions options = {0};
    TidingsTasksSubmission task = {0};
    TidingsTasksClaim *first = NULL, *second = NULL;
    TidingsTasks *with_gpu = NULL;
    OK(tidings_tasks_id("gpu", 1, &task.id, &error));
    task.queue = "gpu";
    task.need = "gpu=2";
    OK(tidings_tasks_submit(tasks, &task, 1, NULL, &error));
    OK(tidings_tasks_id("gpu", 2, &task.id, &error));
    OK(tidings_tasks_submit(tasks, &task, 1, NULL, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_TIMEOUT, tidings_tasks_claim(tasks, "gpu", 50, &first, &error));
    options.resources = "gpu=3";
    OK(tidings_tasks_open(&options, &with_gpu, &error));
    first = claimed(with_gpu, "gpu");
    ANSWERS(TIDINGS_TASKS_STATUS_TIMEOUT,
            tidings_tasks_claim(with_gpu, "gpu", 50, &second, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_REFUSED, tidings_tasks_withdraw(tasks, &first->id, &error));
    OK(tidings_tasks_withdraw(tasks, &task.id, &error));
    HOLDS(ended(tasks, task.id).end == TIDINGS_TASKS_END_CANCELLED);
    OK(tidings_tasks_complete(first, NULL, 0, &error));
    tidings_tasks_close(with_gpu);
    task.need = "gpu=many";
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_submit(tasks, &task, 1, NULL, &error));
}

static void failures_are_told(TidingsTasks *tasks) {
    TidingsTasksId id = submitted(tasks, "fails", NULL, 1, NULL, 0);
    OK(tidings_tasks_fail(claimed(tasks, "fails"), "no reason to be done", &error));
    TidingsTasksOutcome outcome = ended(tasks, id);
    HOLDS(outcome.end == TIDINGS_TASKS_END_FAILED && outcome.result == NULL);
    HOLDS(strcmp(outcome.failure, "no reason to be done") == 0);
    id = submitted(tasks, "fails", NULL, 2, NULL, 0);
    TidingsTasksClaim *claim = claimed(tasks, "fails");
    OK(tidings_tasks_cancel(tasks, &id, &error));
    while (tidings_tasks_is_wanted(claim)) sched_yield();
    OK(tidings_tasks_give_back(claim, &error));
    HOLDS(ended(tasks, id).end == TIDINGS_TASKS_END_CANCELLED);
}

static void permits_are_counted(TidingsTasks *tasks) {
    TidingsTasksPermits *two = NULL, *one = NULL;
    ANSWERS(TIDINGS_TASKS_STATUS_NOT_FOUND,
            tidings_tasks_acquire(tasks, "nobody's", 1, TIDINGS_TASKS_FOREVER, &two, &error));
    OK(tidings_tasks_semaphore(tasks, "licences", 2, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_acquire(tasks, "licences", 3, TIDINGS_TASKS_FOREVER, &two, &error));
    OK(tidings_tasks_acquire(tasks, "licences", 2, TIDINGS_TASKS_FOREVER, &two, &error));
    HOLDS(tidings_tasks_is_held(two));
    ANSWERS(TIDINGS_TASKS_STATUS_TIMEOUT,
            tidings_tasks_acquire(tasks, "licences", 1, 1, &one, &error));
    HOLDS(one == NULL);
    OK(tidings_tasks_release(two, &error));
    /* Whose time was up waits no longer: there are two again. */
    OK(tidings_tasks_acquire(tasks, "licences", 2, TIDINGS_TASKS_FOREVER, &two, &error));
    OK(tidings_tasks_release(two, &error));
}

static int doubles(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    uint64_t number;
    HOLDS(claim->payload_bytes == sizeof number && strcmp(claim->function, "double") == 0);
    memcpy(&number, claim->payload, sizeof number);
    number *= *(const uint64_t *)context;
    OK(tidings_tasks_result(result, (const uint8_t *)&number, sizeof number, &error));
    return 0;
}

static int refuses(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    (void)claim, (void)context;
    OK(tidings_tasks_result(result, (const uint8_t *)"as it is", 8, &error));
    return 3;
}

static atomic_bool all_ended;

static void *works(void *tasks) {
    uint64_t two = 2;
    const TidingsTasksFunction functions[] = {{"double", doubles, &two}, {NULL, refuses, NULL}};
    while (!atomic_load(&all_ended)) {
        TidingsTasksStatus status = tidings_tasks_work(tasks, "calls", functions, 2, 10, NULL);
        HOLDS(status == TIDINGS_TASKS_STATUS_OK || status == TIDINGS_TASKS_STATUS_TIMEOUT);
    }
    return NULL;
}

static void functions_do_tasks_in_threads(TidingsTasks *tasks) {
    pthread_t threads[THREADS];
    TidingsTasksId ids[TASKS];
    for (uint64_t i = 0; i < TASKS; i++)
        ids[i] = submitted(tasks, "calls", "double", i, &i, sizeof i);
    TidingsTasksId item = submitted(tasks, "calls", NULL, TASKS, NULL, 0);
    TidingsTasksId strange = submitted(tasks, "calls", "triple", TASKS + 1, NULL, 0);
    for (int i = 0; i < THREADS; i++) HOLDS(pthread_create(&threads[i], NULL, works, tasks) == 0);
    for (uint64_t i = 0; i < TASKS; i++) {
        TidingsTasksOutcome outcome = ended(tasks, ids[i]);
        uint64_t number;
        HOLDS(outcome.end == TIDINGS_TASKS_END_DONE && outcome.result_bytes == sizeof number);
        memcpy(&number, outcome.result, sizeof number);
        HOLDS(number == 2 * i);
        tidings_tasks_outcome_free(&outcome);
    }
    HOLDS(strcmp(ended(tasks, item).failure, "the function returned 3. as it is") == 0);
    HOLDS(strstr(ended(tasks, strange).failure, "no function of the name `triple`") != NULL);
    atomic_store(&all_ended, true);
    for (int i = 0; i < THREADS; i++) HOLDS(pthread_join(threads[i], NULL) == 0);
}

static void bad_arguments_are_refused(TidingsTasks *tasks) {
    const TidingsTasksStatus wrong = TIDINGS_TASKS_STATUS_ARGUMENT;
    TidingsTasksOptions options = {0};
    TidingsTasksSubmission task = {0};
    TidingsTasksClaim *claim = NULL;
    TidingsTasks *other = NULL;
    options.store = "/no/store";
    ANSWERS(wrong, tidings_tasks_open(&options, &other, &error));
    options.store = "file:/no/folder/store";
    ANSWERS(TIDINGS_TASKS_STATUS_STORE, tidings_tasks_open(&options, &other, &error));
    options.store = "tcp://127.0.0.1:1";
    options.timeout_ms = 1;
    ANSWERS(TIDINGS_TASKS_STATUS_TIMEOUT, tidings_tasks_open(&options, &other, &error));
    HOLDS(other == NULL);
    ANSWERS(wrong, tidings_tasks_open(NULL, &other, &error));
    ANSWERS(wrong, tidings_tasks_submit(NULL, &task, 1, NULL, &error));
    ANSWERS(wrong, tidings_tasks_submit(tasks, NULL, 1, NULL, &error));
    ANSWERS(wrong, tidings_tasks_submit(tasks, &task, 1, NULL, &error));
    task.queue = "";
    ANSWERS(wrong, tidings_tasks_submit(tasks, &task, 1, NULL, &error));
    task.queue = "q";
    task.payload_bytes = 1;
    ANSWERS(wrong, tidings_tasks_submit(tasks, &task, 1, NULL, &error));
    ANSWERS(wrong, tidings_tasks_submit(tasks, &task, SIZE_MAX, NULL, &error));
    ANSWERS(wrong, tidings_tasks_claim(tasks, "\xff", 0, &claim, &error));
    ANSWERS(wrong, tidings_tasks_complete(NULL, NULL, 0, &error));
    ANSWERS(wrong, tidings_tasks_release(NULL, &error));
    HOLDS(tidings_tasks_release(NULL, NULL) == wrong);
    HOLDS(!tidings_tasks_is_wanted(NULL) && !tidings_tasks_is_held(NULL));
    tidings_tasks_close(NULL);
}

static void a_child_is_refused(TidingsTasks *tasks) {
    pid_t child = fork();
    if (child == 0) {
        TidingsTasksQueue length;
        TidingsTasksStatus status = tidings_tasks_queue(tasks, "q", &length, NULL);
        tidings_tasks_close(tasks);
        _exit(status == TIDINGS_TASKS_STATUS_FORKED ? 0 : 1);
    }
    int status = 0;
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    TidingsTasks *tasks = opened("calls");
    bad_arguments_are_refused(tasks);
    claims_end_once(tasks);
    long_ones_come_whole(tasks);
    values_have_revisions(tasks);
    children_and_effects_come_with_the_end(tasks);
    tasks_read_those_that_they_wait_for(tasks);
    needs_are_kept(tasks);
    failures_are_told(tasks);
    permits_are_counted(tasks);
    functions_do_tasks_in_threads(tasks);
    a_child_is_refused(tasks);
    submitted(tasks, "left", NULL, 1, NULL, 0);
    TidingsTasksClaim *claim = claimed(tasks, "left");
    tidings_tasks_close(tasks);
    ANSWERS(TIDINGS_TASKS_STATUS_STORE, tidings_tasks_complete(claim, NULL, 0, &error));
    puts("done");
    return 0;
}
