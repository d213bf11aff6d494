/*
 * Flows: declared, submitted, done and read; what is wrong with them is said, and changes nothing.
 */

#include "expect.h"

static const uint32_t INT[] = {TIDINGS_TASKS_INT, TIDINGS_TASKS_INT};

static TidingsTasksField integer(int64_t value) {
    TidingsTasksField field = {0};
    field.kind = TIDINGS_TASKS_INT;
    field.integer = value;
    return field;
}

/* The key is the number that the context points to. */
static void constant(const TidingsTasksField *arguments, TidingsTasksField *key, void *context) {
    (void)arguments;
    key[0].integer = *(const int64_t *)context;
}

/* The key is the first argument. */
static void first(const TidingsTasksField *arguments, TidingsTasksField *key, void *context) {
    (void)context;
    HOLDS(arguments[0].kind == TIDINGS_TASKS_INT && key[0].kind == TIDINGS_TASKS_INT);
    key[0].integer = arguments[0].integer;
}

static void next(const TidingsTasksField *arguments, TidingsTasksField *key, void *context) {
    (void)context;
    key[0].integer = arguments[0].integer + 1;
}

/* No key: a text that is null. */
static void none(const TidingsTasksField *arguments, TidingsTasksField *key, void *context) {
    (void)arguments;
    (void)context;
    key[0].kind = TIDINGS_TASKS_TEXT;
}

static int64_t value(const TidingsTasksClaim *claim, size_t number) {
    const uint8_t *bytes = NULL;
    int64_t value = 0;
    size_t count = 0;
    OK(tidings_tasks_flow_instance(claim, number, &bytes, &count, &error));
    HOLDS(count == sizeof value);
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Each of two becomes the other, and one more. */
static int exchange(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    int64_t made[2] = {value(claim, 1) + 1, value(claim, 0) + 1};
    TidingsTasksBytes versions[2] = {{(const uint8_t *)&made[0], sizeof made[0]},
                                     {(const uint8_t *)&made[1], sizeof made[1]}};
    (void)context;
    return (int)tidings_tasks_flow_result(result, versions, 2, NULL);
}

/* The sum of all that it has, and of its argument. */
static int sum(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    const TidingsTasksField *arguments = NULL;
    size_t count = 0;
    OK(tidings_tasks_flow_arguments(claim, &arguments, &count, &error));
    HOLDS(count == 1 && arguments[0].kind == TIDINGS_TASKS_INT);
    int64_t total = arguments[0].integer;
    for (size_t number = 0; number < *(const size_t *)context; number++)
        total += value(claim, number);
    const uint8_t *bytes = NULL;
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_flow_instance(claim, *(const size_t *)context, &bytes, &count, &error));
    return (int)tidings_tasks_result(result, (const uint8_t *)&total, sizeof total, NULL);
}

/* Changes two, and makes one. */
static int less(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    (void)claim;
    (void)context;
    return (int)tidings_tasks_result(result, (const uint8_t *)"x", 1, NULL);
}

static void work(TidingsTasks *tasks, size_t instances) {
    const TidingsTasksFunction functions[] = {
        {"exchange", exchange, NULL}, {"sum", sum, &instances}, {"less", less, NULL}};
    OK(tidings_tasks_work(tasks, "q", functions, 3, TIDINGS_TASKS_FOREVER, &error));
}

static void put(TidingsTasksFlow *flow, TidingsTasksDependency item, int64_t key, int64_t value) {
    TidingsTasksField field = integer(key);
    OK(tidings_tasks_flow_put(flow, item, &field, 1, (const uint8_t *)&value, sizeof value,
                              &error));
}

static int64_t got(TidingsTasksFlow *flow, TidingsTasksDependency item, int64_t key) {
    TidingsTasksField field = integer(key);
    const uint8_t *bytes = NULL;
    int64_t value = 0;
    size_t count = 0;
    OK(tidings_tasks_flow_get(flow, item, &field, 1, TIDINGS_TASKS_FOREVER, &bytes, &count,
                              &error));
    HOLDS(count == sizeof value);
    memcpy(&value, bytes, sizeof value);
    return value;
}

static TidingsTasksFlow *begun(TidingsTasks *tasks, const char *name,
                               TidingsTasksDependency *item) {
    TidingsTasksFlow *flow = NULL;
    OK(tidings_tasks_flow(tasks, "q", name, &flow, &error));
    OK(tidings_tasks_dependency_declare(flow, "item", INT, 1, item, &error));
    return flow;
}

static TidingsTasksDeclared declared(TidingsTasksFlow *flow, const char *function, size_t count) {
    TidingsTasksDeclared task = {0};
    TidingsTasksSubmission like = {0};
    like.retries = 1;
    OK(tidings_tasks_task_declare(flow, function, INT, count, &like, &task, &error));
    return task;
}

static void several_are_changed_moved_and_read(TidingsTasks *tasks) {
    int64_t left = 1, right = 2;
    TidingsTasksDependency item;
    TidingsTasksFlow *flow = begun(tasks, "several", &item);
    TidingsTasksDeclared both = declared(flow, "exchange", 0), total = declared(flow, "sum", 1);
    TidingsTasksField argument = integer(1), key = integer(9);
    TidingsTasksId id;
    const uint8_t *bytes = NULL;
    size_t count = 0;
    OK(tidings_tasks_append_inout_dependency(flow, both, item, constant, &left, &error));
    OK(tidings_tasks_append_inout_dependency(flow, both, item, constant, &right, &error));
    /* One version is read twice, and one is moved on. */
    OK(tidings_tasks_append_read_dependency(flow, total, item, constant, &right, &error));
    OK(tidings_tasks_append_read_dependency(flow, total, item, constant, &right, &error));
    OK(tidings_tasks_append_migrate_dependency(flow, total, item, first, next, NULL, &error));
    put(flow, item, 1, 10);
    put(flow, item, 2, 20);
    OK(tidings_tasks_flow_submit(flow, both, NULL, 0, NULL, &error));
    /* Two would be under key 2 then. */
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_flow_submit(flow, total, &argument, 1, NULL, &error));
    argument = integer(2);
    OK(tidings_tasks_flow_submit(flow, total, &argument, 1, &id, &error));
    OK(tidings_tasks_flow_put_task(flow, item, &key, 1, &id, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_TIMEOUT,
            tidings_tasks_flow_get(flow, item, &key, 1, 0, &bytes, &count, &error));
    HOLDS(bytes == NULL && count == 0);
    work(tasks, 3);
    work(tasks, 3);
    HOLDS(got(flow, item, 1) == 21 && got(flow, item, 3) == 11);
    HOLDS(got(flow, item, 9) == 2 + 3 * 11);
    /* It was moved away. */
    key = integer(2);
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_flow_get(flow, item, &key, 1, 0, &bytes, &count, &error));
    OK(tidings_tasks_flow_forget(flow, &error));
    TidingsTasksOutcome outcome;
    ANSWERS(TIDINGS_TASKS_STATUS_NOT_FOUND, tidings_tasks_wait(tasks, &id, 0, &outcome, &error));
}

/* By a claim, which is ended with the versions. */
static void a_claim_is_ended_with_versions(TidingsTasks *tasks) {
    int64_t one = 1, other = 2;
    TidingsTasksBytes versions[2] = {{(const uint8_t *)&one, sizeof one},
                                     {(const uint8_t *)&other, sizeof other}};
    TidingsTasksDependency item;
    TidingsTasksFlow *flow = begun(tasks, "claimed", &item);
    TidingsTasksDeclared both = declared(flow, "exchange", 0);
    OK(tidings_tasks_append_inout_dependency(flow, both, item, constant, &one, &error));
    OK(tidings_tasks_append_inout_dependency(flow, both, item, constant, &other, &error));
    put(flow, item, 1, 10);
    put(flow, item, 2, 20);
    OK(tidings_tasks_flow_submit(flow, both, NULL, 0, NULL, &error));
    OK(tidings_tasks_flow_send(flow, &error));
    TidingsTasksClaim *claim = claimed(tasks, "q");
    HOLDS(strcmp(claim->function, "exchange") == 0 && value(claim, 1) == 20);
    /* It has failed by this, and is tried again as often as `like` says. */
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_flow_complete(claim, versions, 1, &error));
    claim = claimed(tasks, "q");
    HOLDS(claim->attempt == 2);
    OK(tidings_tasks_flow_complete(claim, versions, 2, &error));
    HOLDS(got(flow, item, 1) == 1 && got(flow, item, 2) == 2);
    /* Submitted again, it is there: nobody works. */
    TidingsTasksFlow *again = begun(tasks, "claimed", &item);
    both = declared(again, "exchange", 0);
    OK(tidings_tasks_append_inout_dependency(again, both, item, constant, &one, &error));
    OK(tidings_tasks_append_inout_dependency(again, both, item, constant, &other, &error));
    put(again, item, 1, 10);
    put(again, item, 2, 20);
    OK(tidings_tasks_flow_submit(again, both, NULL, 0, NULL, &error));
    HOLDS(got(again, item, 2) == 2);
    tidings_tasks_flow_free(again);
    tidings_tasks_flow_free(flow);
}

static void what_is_not_made_is_said(TidingsTasks *tasks) {
    int64_t one = 1, other = 2;
    TidingsTasksDependency item;
    TidingsTasksFlow *flow = begun(tasks, "less", &item);
    TidingsTasksDeclared both = declared(flow, "less", 0);
    TidingsTasksField key = integer(1);
    const uint8_t *bytes = NULL;
    size_t count = 0;
    TidingsTasksError said;
    OK(tidings_tasks_append_inout_dependency(flow, both, item, constant, &one, &error));
    OK(tidings_tasks_append_inout_dependency(flow, both, item, constant, &other, &error));
    put(flow, item, 1, 10);
    put(flow, item, 2, 20);
    OK(tidings_tasks_flow_submit(flow, both, NULL, 0, NULL, &error));
    OK(tidings_tasks_flow_send(flow, &error));
    work(tasks, 0);
    work(tasks, 0);
    HOLDS(tidings_tasks_flow_get(flow, item, &key, 1, TIDINGS_TASKS_FOREVER, &bytes, &count,
                                 &said) == TIDINGS_TASKS_STATUS_REFUSED);
    HOLDS(strstr(said.text, "less changes 2 instances") != NULL);
    tidings_tasks_flow_free(flow);
}

/* The call is refused, with a text that begins so. */
#define SAYS(begins, call)                                                                         \
    do {                                                                                           \
        TidingsTasksError error;                                                                   \
        HOLDS((call) == TIDINGS_TASKS_STATUS_ARGUMENT);                                            \
        if (strncmp(error.text, begins, strlen(begins)) != 0) {                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, error.text);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void what_is_wrong_is_said_and_changes_nothing(TidingsTasks *tasks) {
    static const uint32_t kinds[17] = {TIDINGS_TASKS_WILDCARD};
    int64_t one = 1;
    TidingsTasksDependency item, foreign;
    TidingsTasksFlow *flow = begun(tasks, "wrong", &item), *other = begun(tasks, "o", &foreign);
    TidingsTasksDeclared move = declared(flow, "sum", 1), twice = declared(flow, "sum", 0);
    TidingsTasksDeclared keyless = declared(flow, "sum", 0);
    TidingsTasksField field = integer(5), two[2] = {integer(1), integer(2)};
    TidingsTasksFlow *nothing = flow;
    OK(tidings_tasks_append_migrate_dependency(flow, move, item, first, NULL, NULL, &error));
    OK(tidings_tasks_append_inout_dependency(flow, twice, item, constant, &one, &error));
    OK(tidings_tasks_append_inout_dependency(flow, twice, item, constant, &one, &error));
    OK(tidings_tasks_append_read_dependency(flow, keyless, item, none, NULL, &error));
    put(flow, item, 1, 10);
    SAYS("item is declared already",
         tidings_tasks_dependency_declare(flow, "item", INT, 1, &foreign, &error));
    SAYS("a field of kind 5 has no type",
         tidings_tasks_dependency_declare(flow, "open", kinds, 1, &item, &error));
    SAYS("the kinds is null", tidings_tasks_task_declare(flow, "f", NULL, 1, NULL, &move, &error));
    SAYS("the dependency is declared by another flow",
         tidings_tasks_append_read_dependency(other, declared(other, "sum", 0), item, constant,
                                              &one, &error));
    SAYS("the task is declared by another flow",
         tidings_tasks_flow_submit(other, move, NULL, 0, NULL, &error));
    SAYS("the key is null",
         tidings_tasks_append_read_dependency(flow, move, item, NULL, NULL, &error));
    SAYS("there is no item(5): nothing has put it",
         tidings_tasks_flow_submit(flow, move, &field, 1, NULL, &error));
    SAYS("sum is declared with (int), not (int, int)",
         tidings_tasks_flow_submit(flow, move, two, 2, NULL, &error));
    SAYS("item(1) is taken or changed twice at once",
         tidings_tasks_flow_submit(flow, twice, NULL, 0, NULL, &error));
    SAYS("the text of a field is null",
         tidings_tasks_flow_submit(flow, keyless, NULL, 0, NULL, &error));
    SAYS("item(1) is there already",
         tidings_tasks_flow_put(flow, item, two, 1, NULL, 0, &error));
    SAYS("the name is null", tidings_tasks_flow(tasks, "q", NULL, &nothing, &error));
    SAYS("the flow is null", tidings_tasks_flow_send(NULL, &error));
    HOLDS(nothing == NULL && got(flow, item, 1) == 10);
    /* A task that was not declared is given nothing. */
    submitted(tasks, "other", NULL, 1, "x", 1);
    TidingsTasksClaim *claim = claimed(tasks, "other");
    const uint8_t *bytes = NULL;
    size_t count = 0;
    SAYS("the task was not declared by a flow",
         tidings_tasks_flow_instance(claim, 0, &bytes, &count, &error));
    OK(tidings_tasks_complete(claim, NULL, 0, &error));
    tidings_tasks_flow_free(other);
    tidings_tasks_flow_free(flow);
    tidings_tasks_flow_free(NULL);
}

int main(void) {
    TidingsTasks *tasks = opened("flows");
    several_are_changed_moved_and_read(tasks);
    a_claim_is_ended_with_versions(tasks);
    what_is_not_made_is_said(tasks);
    what_is_wrong_is_said_and_changes_nothing(tasks);
    tidings_tasks_close(tasks);
    puts("done");
    return 0;
}
