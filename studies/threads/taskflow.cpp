// The works by Taskflow: tasks of a task, and a wait for them, as its own example of Fibonacci has it.
#include <taskflow/taskflow.hpp>

#include "works.hpp"

// The task that runs on this thread: what forks there is its child.
static thread_local tf::Runtime *running;

template <class Work> void within(tf::Runtime &task, Work &work)
{
    tf::Runtime *before = running;
    running = &task;
    work();
    running = before;
}

int main(int argc, char **argv)
{
    tf::Executor executor(THREADS);
    auto enter = [&](auto work) {
        executor.async([&](tf::Runtime &task) { within(task, work); }).get();
    };
    auto fork = [](auto one, auto other) {
        running->silent_async([&](tf::Runtime &task) { within(task, one); });
        other();
        running->corun_all();
    };
    return measure(argc, argv, enter, fork);
}
