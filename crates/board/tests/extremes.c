/* Reads a board whose times may be anything: prints what opening it says, and all ages in s. */
#include "tidings.h"

int main(int argc, char **argv)
{
    static tidings_board board;
    static tidings_entry entry;
    size_t slot;
    /* Less than this machine has been up for: a heartbeat at its start is of a dead writer. */
    int status = tidings_open(&board, argc > 1 ? argv[1] : "", (int64_t)60 * 1000000000);
    printf("%d", status);
    for (slot = 0; status == TIDINGS_OK && slot < tidings_used_slots(&board); slot++)
        if (tidings_slot(&board, slot, &entry) == TIDINGS_OK)
            printf(" %.0f", tidings_age_s(&entry, tidings_now_ns()));
    printf("\n");
    tidings_close(&board);
    return 0;
}
