// The works by oneTBB.
#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include "works.hpp"

int main(int argc, char **argv)
{
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, THREADS);
    tbb::task_arena arena(THREADS);
    auto enter = [&](auto work) { arena.execute(work); };
    auto fork = [](auto one, auto other) { tbb::parallel_invoke(one, other); };
    return measure(argc, argv, enter, fork);
}
