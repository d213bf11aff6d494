// The header in C++: a program that is compiled, linked and run.

#include <cstdio>
#include <tidings_tasks.h>

int main() {
    TidingsTasksOptions options{};
    TidingsTasks *tasks = nullptr;
    TidingsTasksError error;
    if (tidings_tasks_open(&options, &tasks, &error) != TIDINGS_TASKS_STATUS_OK) {
        std::fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    tidings_tasks_close(tasks);
    std::puts("done");
    return 0;
}
