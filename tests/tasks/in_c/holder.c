/*
 * A process that has tasks and permits, and is killed with them: says what it has, and goes on line
 * by line of its standard input.
 * usage: holder claim QUEUE | hold SEMAPHORE
 */

#include "expect.h"

#include <unistd.h>

static void next_line(void) {
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {}
}

int main(int count, char **words) {
    HOLDS(count == 3);
    TidingsTasks *tasks = opened("holder");
    if (strcmp(words[1], "claim") == 0) {
        TidingsTasksClaim *claim = claimed(tasks, words[2]);
        printf("attempt %u\n", (unsigned)claim->attempt);
        fflush(stdout);
        next_line();
        OK(tidings_tasks_complete(claim, claim->payload, claim->payload_bytes, &error));
    } else {
        TidingsTasksPermits *permits = NULL;
        OK(tidings_tasks_semaphore(tasks, words[2], 1, &error));
        OK(tidings_tasks_acquire(tasks, words[2], 1, TIDINGS_TASKS_FOREVER, &permits, &error));
        puts("held");
        fflush(stdout);
        next_line();
        OK(tidings_tasks_release(permits, &error));
    }
    tidings_tasks_close(tasks);
    puts("done");
    return 0;
}
