// The works by tasks of OpenMP.
#include "works.hpp"

int main(int argc, char **argv)
{
    auto enter = [](auto work) {
#pragma omp parallel num_threads(THREADS)
#pragma omp single
        work();
    };
    auto fork = [](auto one, auto other) {
#pragma omp task shared(one)
        one();
        other();
#pragma omp taskwait
    };
    return measure(argc, argv, enter, fork);
}
