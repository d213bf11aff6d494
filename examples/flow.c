/*
 * A product of matrices in C by blocks that pass through the cells of an array, as Cannon has them:
 * a flow, which says what each task reads, moves on and changes, and nothing else.
 *
 * cc -I crates/tasks-ffi/include examples/flow.c target/release/libtidings_tasks_c.a -lpthread \
 *     -ldl -lm -o flow && TIDINGS_STORE=file:product ./flow
 *
 * `./flow work` in other terminals helps it, and so does the same example in Rust
 * (crates/tasks/examples/flow.rs): a worker needs no declarations. `./flow declare` leaves all work
 * to others.
 */

#include <stdio.h>
#include <string.h>
#include <tidings_tasks.h>

enum { ORDER = 4 };
static const char QUEUE[] = "product";
static TidingsTasksError error;

/* ---- what does the tasks ---- */

/* Reads the number in an instance that a task has. */
static int number(const TidingsTasksClaim *claim, size_t which, int64_t *value) {
    const uint8_t *bytes;
    size_t count;
    if (tidings_tasks_flow_instance(claim, which, &bytes, &count, NULL) != TIDINGS_TASKS_STATUS_OK)
        return 0;
    if (count != sizeof *value) return 0;
    memcpy(value, bytes, sizeof *value);
    return 1;
}

/* Adds to a cell the product of what passes it. */
static int multiply(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    int64_t left, right, total;
    TidingsTasksBytes version = {(const uint8_t *)&total, sizeof total};
    (void)context;
    if (!number(claim, 0, &left) || !number(claim, 1, &right) || !number(claim, 2, &total))
        return 1; /* it has failed */
    total += left * right;
    return (int)tidings_tasks_flow_result(result, &version, 1, NULL);
}

static TidingsTasksStatus work(TidingsTasks *store) {
    const TidingsTasksFunction functions[] = {{"multiply", multiply, NULL}};
    return tidings_tasks_work(store, QUEUE, functions, 1, 100, &error);
}

/* ---- what is declared ---- */

static void left_of(const TidingsTasksField *n, TidingsTasksField *key, void *context) {
    (void)context;
    key[0].bytes = (const uint8_t *)"a";
    key[1].integer = n[2].integer;
    key[2].integer = n[0].integer;
    key[3].integer = n[1].integer;
}

static void to_the_west(const TidingsTasksField *n, TidingsTasksField *key, void *context) {
    left_of(n, key, context);
    key[1].integer += 1;
    key[3].integer = (key[3].integer + ORDER - 1) % ORDER;
}

static void above(const TidingsTasksField *n, TidingsTasksField *key, void *context) {
    left_of(n, key, context);
    key[0].bytes = (const uint8_t *)"b";
}

static void to_the_north(const TidingsTasksField *n, TidingsTasksField *key, void *context) {
    above(n, key, context);
    key[1].integer += 1;
    key[2].integer = (key[2].integer + ORDER - 1) % ORDER;
}

static void cell_of(const TidingsTasksField *n, TidingsTasksField *key, void *context) {
    (void)context;
    key[0].integer = n[0].integer;
    key[1].integer = n[1].integer;
}

/* The fields of a key or of arguments: integers, behind a text if there is one. */
static size_t fields(TidingsTasksField *room, const char *text, const int64_t *numbers, int count) {
    TidingsTasksField *next = room;
    if (text != NULL)
        *next++ = (TidingsTasksField){.kind = TIDINGS_TASKS_TEXT, .bytes = (const uint8_t *)text};
    for (int i = 0; i < count; i++)
        *next++ = (TidingsTasksField){.kind = TIDINGS_TASKS_INT, .integer = numbers[i]};
    return (size_t)(next - room);
}

static int put(TidingsTasksFlow *flow, TidingsTasksDependency dependency, const char *text,
               const int64_t *numbers, int count, int64_t value) {
    TidingsTasksField key[4];
    size_t key_count = fields(key, text, numbers, count);
    return tidings_tasks_flow_put(flow, dependency, key, key_count, (const uint8_t *)&value,
                                  sizeof value, &error) == TIDINGS_TASKS_STATUS_OK;
}

/* The product of two matrices: declared, submitted and, unless others do it, done. */
static int product(TidingsTasks *store, int works) {
    const uint32_t kinds[] = {TIDINGS_TASKS_TEXT, TIDINGS_TASKS_INT, TIDINGS_TASKS_INT,
                              TIDINGS_TASKS_INT};
    TidingsTasksFlow *flow;
    TidingsTasksDependency block, cell;
    TidingsTasksDeclared task;
    int is_fine =
        !tidings_tasks_flow(store, QUEUE, "two matrices", &flow, &error) &&
        !tidings_tasks_dependency_declare(flow, "block", kinds, 4, &block, &error) &&
        !tidings_tasks_dependency_declare(flow, "cell", kinds + 1, 2, &cell, &error) &&
        !tidings_tasks_task_declare(flow, "multiply", kinds + 1, 3, NULL, &task, &error) &&
        !tidings_tasks_append_migrate_dependency(flow, task, block, left_of, to_the_west, NULL,
                                                 &error) &&
        !tidings_tasks_append_migrate_dependency(flow, task, block, above, to_the_north, NULL,
                                                 &error) &&
        !tidings_tasks_append_inout_dependency(flow, task, cell, cell_of, NULL, &error);
    for (int64_t i = 0; is_fine && i < ORDER; i++)
        for (int64_t j = 0; is_fine && j < ORDER; j++) {
            int64_t k = (i + j) % ORDER;
            is_fine = put(flow, block, "a", (int64_t[]){0, i, j}, 3, i + k) &&
                      put(flow, block, "b", (int64_t[]){0, i, j}, 3, k - j) &&
                      put(flow, cell, NULL, (int64_t[]){i, j}, 2, 0);
        }
    for (int64_t n = 0; is_fine && n < ORDER * ORDER * ORDER; n++) {
        TidingsTasksField arguments[3];
        const int64_t place[] = {n / ORDER % ORDER, n % ORDER, n / ORDER / ORDER};
        size_t count = fields(arguments, NULL, place, 3);
        is_fine = !tidings_tasks_flow_submit(flow, task, arguments, count, NULL, &error);
    }
    for (int64_t n = 0; is_fine && n < ORDER * ORDER; n++) {
        TidingsTasksField key[2];
        TidingsTasksStatus status;
        const uint8_t *bytes;
        int64_t total = 0;
        size_t count = fields(key, NULL, (int64_t[]){n / ORDER, n % ORDER}, 2), size;
        while ((status = tidings_tasks_flow_get(flow, cell, key, count, works ? 0 : 100, &bytes,
                                                &size, &error)) == TIDINGS_TASKS_STATUS_TIMEOUT)
            if (works && work(store) > TIDINGS_TASKS_STATUS_SUPERSEDED) return 0;
        if (status != TIDINGS_TASKS_STATUS_OK) return 0;
        if (size == sizeof total) memcpy(&total, bytes, sizeof total);
        printf("%lld%c", (long long)total, n % ORDER == ORDER - 1 ? '\n' : ' ');
    }
    return is_fine && !tidings_tasks_flow_forget(flow, &error);
}

int main(int argc, char **argv) {
    const char *role = argc > 1 ? argv[1] : "";
    TidingsTasksOptions options = {0}; /* the store that TIDINGS_STORE names */
    TidingsTasks *store;
    int is_fine;

    if (tidings_tasks_open(&options, &store, &error) != TIDINGS_TASKS_STATUS_OK) {
        fprintf(stderr, "flow: %s\n", error.text);
        return 1;
    }
    if (strcmp(role, "work") == 0)
        while ((is_fine = work(store) <= TIDINGS_TASKS_STATUS_SUPERSEDED)) continue;
    else
        is_fine = product(store, strcmp(role, "declare") != 0);
    if (!is_fine) fprintf(stderr, "flow: %s\n", error.text);
    tidings_tasks_close(store);
    return is_fine ? 0 : 1;
}
