/*
 * Tuples: put, read, pulled, consumed, given back, by two sessions of one store; in statements; and
 * with the try of a task.
 */

#include "expect.h"

static TidingsTasksField integer(int64_t value) {
    TidingsTasksField field = {0};
    field.kind = TIDINGS_TASKS_INT;
    field.integer = value;
    return field;
}

static TidingsTasksField text(const char *value) {
    TidingsTasksField field = {0};
    field.kind = TIDINGS_TASKS_TEXT;
    field.bytes = (const uint8_t *)value;
    return field;
}

static TidingsTasksField open_to(uint32_t kind) {
    TidingsTasksField field = {0};
    field.kind = kind;
    field.is_open = true;
    return field;
}

static TidingsTasksField found(int64_t in, size_t which) {
    TidingsTasksField field = {0};
    field.kind = TIDINGS_TASKS_FOUND;
    field.integer = in;
    field.count = which;
    return field;
}

static void put(TidingsTasks *tasks, const char *name, int64_t value) {
    TidingsTasksField fields[2] = {text(name), integer(value)};
    OK(tidings_tasks_tuple_put(tasks, "s", fields, 2, &error));
}

/* The second field of a tuple. */
static int64_t second(const TidingsTasksTuple *tuple) {
    size_t count = 0;
    const TidingsTasksField *fields = tidings_tasks_tuple_fields(tuple, &count);
    HOLDS(count == 2 && fields[0].kind == TIDINGS_TASKS_TEXT);
    HOLDS(fields[1].kind == TIDINGS_TASKS_INT);
    HOLDS(fields[0].count == strlen((const char *)fields[0].bytes));
    return fields[1].integer;
}

static TidingsTasksTuple *pulled(TidingsTasks *tasks, const TidingsTasksClaim *claim,
                                 const char *name, uint64_t timeout_ms) {
    TidingsTasksField wanted[2] = {text(name), open_to(TIDINGS_TASKS_INT)};
    TidingsTasksTuple *tuple = NULL;
    TidingsTasksStatus status =
        tidings_tasks_tuple_pull(tasks, claim, "s", wanted, 2, timeout_ms, &tuple, NULL);
    HOLDS(status == TIDINGS_TASKS_STATUS_OK || status == TIDINGS_TASKS_STATUS_TIMEOUT);
    HOLDS((status == TIDINGS_TASKS_STATUS_OK) == (tuple != NULL));
    return tuple;
}

static void every_kind_of_value_comes_back(TidingsTasks *tasks) {
    static const uint8_t bytes[3] = {1, 0, 2};
    TidingsTasksField fields[5] = {integer(-7), {0}, text("é"), {0}, {0}}, wanted[5] = {{0}};
    TidingsTasksTuple *tuple = NULL;
    size_t count = 0;
    fields[1].kind = TIDINGS_TASKS_FLOAT;
    fields[1].number = 0.5;
    fields[3].kind = TIDINGS_TASKS_BYTES;
    fields[3].bytes = bytes;
    fields[3].count = sizeof bytes;
    fields[4].kind = TIDINGS_TASKS_BOOL;
    fields[4].integer = 1;
    for (int i = 0; i < 5; i++) wanted[i].kind = TIDINGS_TASKS_WILDCARD;
    OK(tidings_tasks_tuple_put(tasks, "kinds", fields, 5, &error));
    OK(tidings_tasks_tuple_read(tasks, "kinds", wanted, 5, 0, &tuple, &error));
    const TidingsTasksField *back = tidings_tasks_tuple_fields(tuple, &count);
    HOLDS(count == 5 && back[0].integer == -7 && back[1].number == 0.5);
    HOLDS(strcmp((const char *)back[2].bytes, "é") == 0 && back[2].count == 2);
    HOLDS(back[3].count == 3 && memcmp(back[3].bytes, bytes, 3) == 0 && back[4].integer == 1);
    for (uint32_t i = 0; i < 5; i++) HOLDS(back[i].kind == i);
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_tuple_consume(tuple, &error));
    tidings_tasks_tuple_free(tuple);
}

static void what_is_pulled_is_ones_own(TidingsTasks *one, TidingsTasks *other) {
    put(one, "job", 1);
    put(one, "job", 2);
    TidingsTasksTuple *first = pulled(one, NULL, "job", 0), *next = pulled(other, NULL, "job", 0);
    HOLDS(second(first) == 1 && second(next) == 2);
    HOLDS(pulled(other, NULL, "job", 0) == NULL);
    /* Given back it has its old turn. */
    tidings_tasks_tuple_free(first);
    first = pulled(other, NULL, "job", TIDINGS_TASKS_FOREVER);
    HOLDS(second(first) == 1);
    OK(tidings_tasks_tuple_consume(first, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_tuple_consume(first, &error));
    OK(tidings_tasks_tuple_consume(next, &error));
    tidings_tasks_tuple_free(first);
    tidings_tasks_tuple_free(next);
    HOLDS(pulled(one, NULL, "job", 10) == NULL);
}

/* What was pulled is consumed in the commit that puts what was made of it. */
static void a_statement_is_done_whole_or_not_at_all(TidingsTasks *tasks) {
    TidingsTasksField sum[2] = {text("sum"), found(0, 1)};
    TidingsTasksField left[2] = {text("left"), open_to(TIDINGS_TASKS_INT)};
    TidingsTasksField right[2] = {text("right"), open_to(TIDINGS_TASKS_INT)};
    TidingsTasksIn ins[2] = {{"s", left, 2, true}, {"s", right, 2, false}};
    TidingsTasksOut out = {"s", sum, 2};
    TidingsTasksStatement statement = {0};
    TidingsTasksTuple *got[2] = {NULL, NULL}, *token;
    put(tasks, "token", 9);
    token = pulled(tasks, NULL, "token", 0);
    statement.ins = ins;
    statement.in_count = 2;
    statement.outs = &out;
    statement.out_count = 1;
    statement.consumed = &token;
    statement.consumed_count = 1;
    statement.consumes = true;
    put(tasks, "left", 4);
    ANSWERS(TIDINGS_TASKS_STATUS_TIMEOUT,
            tidings_tasks_statement(tasks, NULL, &statement, 0, got, &error));
    HOLDS(got[0] == NULL && got[1] == NULL);
    put(tasks, "right", 5);
    OK(tidings_tasks_statement(tasks, NULL, &statement, 0, got, &error));
    HOLDS(second(got[0]) == 4 && second(got[1]) == 5);
    tidings_tasks_tuple_free(got[0]);
    tidings_tasks_tuple_free(got[1]);
    tidings_tasks_tuple_free(token);
    HOLDS(pulled(tasks, NULL, "left", 0) == NULL && pulled(tasks, NULL, "token", 0) == NULL);
    got[0] = pulled(tasks, NULL, "sum", 0);
    HOLDS(second(got[0]) == 4);
    tidings_tasks_tuple_free(got[0]);
}

static void a_claim_ends_with_the_try_of_its_task(TidingsTasks *tasks) {
    TidingsTasksId id = submitted(tasks, "q", NULL, 1, "x", 1);
    put(tasks, "part", 1);
    TidingsTasksClaim *claim = claimed(tasks, "q");
    TidingsTasksTuple *tuple = pulled(tasks, claim, "part", 0);
    HOLDS(second(tuple) == 1);
    tidings_tasks_tuple_free(tuple);
    HOLDS(pulled(tasks, NULL, "part", 0) == NULL);
    OK(tidings_tasks_give_back(claim, &error));
    claim = claimed(tasks, "q");
    tuple = pulled(tasks, claim, "part", TIDINGS_TASKS_FOREVER);
    tidings_tasks_tuple_free(tuple);
    OK(tidings_tasks_complete(claim, NULL, 0, &error));
    TidingsTasksOutcome outcome = ended(tasks, id);
    tidings_tasks_outcome_free(&outcome);
    HOLDS(pulled(tasks, NULL, "part", 0) == NULL);
}

/* What a try puts comes with its completion, in place of what it has pulled, and from no other. */
static void what_a_task_puts_comes_with_its_completion(TidingsTasks *tasks) {
    TidingsTasksField next[2] = {text("cell"), integer(1)};
    TidingsTasksId id = submitted(tasks, "q", NULL, 2, "x", 1);
    put(tasks, "cell", 0);
    TidingsTasksClaim *claim = claimed(tasks, "q");
    tidings_tasks_tuple_free(pulled(tasks, claim, "cell", 0));
    OK(tidings_tasks_tuple_effect(claim, "s", next, 2, &error));
    OK(tidings_tasks_give_back(claim, &error));
    TidingsTasksTuple *tuple = pulled(tasks, NULL, "cell", TIDINGS_TASKS_FOREVER);
    HOLDS(second(tuple) == 0);
    tidings_tasks_tuple_free(tuple);
    claim = claimed(tasks, "q");
    tidings_tasks_tuple_free(pulled(tasks, claim, "cell", TIDINGS_TASKS_FOREVER));
    OK(tidings_tasks_tuple_effect(claim, "s", next, 2, &error));
    OK(tidings_tasks_complete(claim, NULL, 0, &error));
    TidingsTasksOutcome outcome = ended(tasks, id);
    tidings_tasks_outcome_free(&outcome);
    tuple = pulled(tasks, NULL, "cell", 0);
    HOLDS(second(tuple) == 1);
    OK(tidings_tasks_tuple_consume(tuple, &error));
    tidings_tasks_tuple_free(tuple);
    HOLDS(pulled(tasks, NULL, "cell", 0) == NULL);
}

static void what_a_task_cannot_put_is_refused(TidingsTasks *tasks) {
    TidingsTasksField value = integer(1), other = found(0, 0);
    submitted(tasks, "q", NULL, 3, "x", 1);
    TidingsTasksClaim *claim = claimed(tasks, "q");
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_tuple_effect(claim, "s", &other, 1, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_tuple_effect(claim, "s", &value, 0, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_tuple_effect(NULL, "s", &value, 1, &error));
    for (int i = 0; i < 16; i++) OK(tidings_tasks_tuple_effect(claim, "s", &value, 1, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_tuple_effect(claim, "s", &value, 1, &error));
    OK(tidings_tasks_fail(claim, "it is not wanted", &error));
}

static void what_is_wrong_is_said(TidingsTasks *tasks) {
    TidingsTasksField fields[17] = {{0}}, odd = {0};
    TidingsTasksTuple *tuple;
    odd.kind = 99;
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_tuple_put(tasks, "s", fields, 17, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_tuple_put(tasks, "s", fields, 0, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_tuple_put(tasks, "s", &odd, 1, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_tuple_put(tasks, NULL, fields, 1, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_tuple_read(tasks, "s", &odd, 1, 0, &tuple, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_tuple_read(tasks, "s", fields, 1, 0, NULL, &error));
    tidings_tasks_tuple_free(NULL);
}

int main(void) {
    TidingsTasks *one = opened("one"), *other = opened("other");
    every_kind_of_value_comes_back(one);
    what_is_pulled_is_ones_own(one, other);
    a_statement_is_done_whole_or_not_at_all(one);
    what_a_task_puts_comes_with_its_completion(one);
    what_a_task_cannot_put_is_refused(one);
    a_claim_ends_with_the_try_of_its_task(one);
    what_is_wrong_is_said(one);
    tidings_tasks_close(other);
    tidings_tasks_close(one);
    puts("done");
    return 0;
}
