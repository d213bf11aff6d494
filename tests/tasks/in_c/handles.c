/*
 * Large blobs by handle: shared by one session, read by another on the same host without a copy,
 * named by tuples and tasks, and gone in words.
 */

#include "expect.h"

enum { BYTES = 3000001 };

static unsigned char *content(void) {
    unsigned char *bytes = malloc(BYTES);
    HOLDS(bytes != NULL);
    for (size_t i = 0; i < BYTES; i++) bytes[i] = (unsigned char)(i / 7);
    return bytes;
}

static void is_content(const TidingsTasksBlob *blob) {
    unsigned char *expected = content();
    size_t count = 0;
    const void *bytes = tidings_tasks_blob_bytes(blob, &count);
    HOLDS(count == BYTES && memcmp(bytes, expected, BYTES) == 0);
    HOLDS(!tidings_tasks_blob_is_copy(blob));
    free(expected);
}

static TidingsTasksField of_handle(const TidingsTasksHandle *handle) {
    TidingsTasksField field = {0};
    field.kind = TIDINGS_TASKS_HANDLE;
    field.bytes = (const uint8_t *)handle;
    field.is_open = handle == NULL;
    return field;
}

static void a_tuple_carries_a_handle(TidingsTasks *one, TidingsTasks *other) {
    unsigned char *bytes = content();
    TidingsTasksHandle handle;
    TidingsTasksBlob *held = NULL, *read = NULL;
    OK(tidings_tasks_share(one, bytes, BYTES, &handle, &held, &error));
    free(bytes);
    HOLDS(handle.count == BYTES && handle.host[0] != 0);
    is_content(held);
    TidingsTasksField field = of_handle(&handle), wanted = of_handle(NULL);
    OK(tidings_tasks_tuple_put(one, "blocks", &field, 1, &error));
    /* From now on the tuple keeps it. */
    tidings_tasks_unshare(held);

    TidingsTasksTuple *tuple = NULL;
    size_t count = 0;
    OK(tidings_tasks_tuple_pull(other, NULL, "blocks", &wanted, 1, 0, &tuple, &error));
    const TidingsTasksField *found = tidings_tasks_tuple_fields(tuple, &count);
    HOLDS(count == 1 && found[0].kind == TIDINGS_TASKS_HANDLE);
    HOLDS(memcmp(found[0].bytes, &handle, sizeof handle) == 0);
    OK(tidings_tasks_fetch(other, (const TidingsTasksHandle *)found[0].bytes, &read, &error));
    OK(tidings_tasks_tuple_consume(tuple, &error));
    tidings_tasks_tuple_free(tuple);
    is_content(read);
    tidings_tasks_unshare(read);
}

static void a_task_keeps_what_it_names(TidingsTasks *one, TidingsTasks *other) {
    unsigned char *bytes = content();
    TidingsTasksHandle handle, given;
    TidingsTasksBlob *held = NULL;
    TidingsTasksId id;
    OK(tidings_tasks_share(one, bytes, BYTES, &handle, &held, &error));
    free(bytes);
    OK(tidings_tasks_id("h", 1, &id, &error));
    OK(tidings_tasks_pin(one, &handle, &id, &error));
    submitted(one, "h", NULL, 1, &handle, sizeof handle);
    tidings_tasks_unshare(held);
    TidingsTasksClaim *claim = claimed(other, "h");
    HOLDS(claim->payload_bytes == sizeof given);
    memcpy(&given, claim->payload, sizeof given);
    OK(tidings_tasks_fetch(other, &given, &held, &error));
    is_content(held);
    tidings_tasks_unshare(held);
    OK(tidings_tasks_complete(claim, NULL, 0, &error));
}

static void what_is_wrong_is_said(TidingsTasks *tasks) {
    TidingsTasksHandle none = {0};
    TidingsTasksBlob *held = NULL;
    TidingsTasksField field = of_handle(NULL);
    size_t count = 1;
    field.is_open = false;
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_tuple_put(tasks, "s", &field, 1, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_fetch(tasks, NULL, &held, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_fetch(tasks, &none, NULL, &error));
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT,
            tidings_tasks_share(tasks, NULL, 1, &none, &held, &error));
    OK(tidings_tasks_share(tasks, NULL, 0, &none, &held, &error));
    HOLDS(tidings_tasks_blob_bytes(held, &count) != NULL && count == 0);
    tidings_tasks_unshare(held);
    none.hash[0] ^= 1;
    TidingsTasksError error;
    HOLDS(tidings_tasks_fetch(tasks, &none, &held, &error) == TIDINGS_TASKS_STATUS_NOT_FOUND);
    HOLDS(held == NULL && strstr(error.text, none.host) && strstr(error.text, "is gone"));
    none.count = UINT64_MAX;
    ANSWERS(TIDINGS_TASKS_STATUS_ARGUMENT, tidings_tasks_fetch(tasks, &none, &held, &error));
    tidings_tasks_unshare(NULL);
    HOLDS(tidings_tasks_blob_bytes(NULL, NULL) == NULL && !tidings_tasks_blob_is_copy(NULL));
}

int main(void) {
    TidingsTasks *one = opened("one"), *other = opened("other");
    a_tuple_carries_a_handle(one, other);
    a_task_keeps_what_it_names(one, other);
    what_is_wrong_is_said(one);
    tidings_tasks_close(other);
    tidings_tasks_close(one);
    puts("done");
    return 0;
}
