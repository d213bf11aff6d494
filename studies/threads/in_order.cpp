// The works as calls in order, on one thread.
#include "works.hpp"

int main(int argc, char **argv)
{
    auto enter = [](auto work) { work(); };
    auto fork = [](auto one, auto other) {
        one();
        other();
    };
    return measure(argc, argv, enter, fork);
}
