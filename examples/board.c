/* Prints each node that the board of this machine's agent knows, with its age and some readings, or
 * the named ones:
 *
 *     cc -std=c11 -O2 -I crates/board/include -o board examples/board.c
 *     ./board [--path FILE] [--limit SECONDS] [NAME...]
 */
#include "tidings_readings.h"

static const char *const states[] = {"", "unheard", "alive", "suspected", "dead", "left"};

static void print(const tidings_entry *entry)
{
    tidings_readings of;
    char job[TIDINGS_VALUE];
    printf("%s %s %u.%u %.3f", entry->name, states[entry->state], entry->incarnation,
           entry->sequence, tidings_age_s(entry, tidings_now_ns()));
    tidings_readings_of(entry, &of);
    if (!isnan(of.cores))
        printf(" cores=%.0f", of.cores);
    if (!isnan(of.mem_available_bytes))
        printf(" mem_available_mib=%.0f", of.mem_available_bytes / (1 << 20));
    if (tidings_metric_of(entry, "job", job) == TIDINGS_OK)
        printf(" job=%s", job);
    putchar('\n');
}

static int fail(const tidings_board *board, int status)
{
    char text[8192];
    fprintf(stderr, "%s\n", tidings_message(board, status, text, sizeof text));
    return 1;
}

int main(int count, char **words)
{
    tidings_board board;
    tidings_entry entry;
    const char *path = NULL;
    int64_t limit_ns = 5000000000;
    int at = 1, status;
    size_t slot;
    for (; at + 1 < count && words[at][0] == '-'; at += 2) {
        if (strcmp(words[at], "--path") == 0)
            path = words[at + 1];
        else
            limit_ns = (int64_t)(atof(words[at + 1]) * 1e9);
    }
    status = tidings_open(&board, path, limit_ns);
    if (status != TIDINGS_OK)
        return fail(&board, status);
    for (slot = 0; at == count && slot < tidings_used_slots(&board); slot++) {
        status = tidings_slot(&board, slot, &entry);
        if (status < 0)
            return fail(&board, status);
        if (status == TIDINGS_OK)
            print(&entry);
    }
    for (; at < count; at++) {
        status = tidings_entry_of(&board, words[at], &entry);
        if (status != TIDINGS_OK)
            return fail(&board, status);
        print(&entry);
    }
    tidings_close(&board);
    return 0;
}
