// The three works of the study for pools in C++, and the clock around them: as in Rust, one program
// with a fork between any two children. A fork is a function of two closures; `enter` calls what is
// to run in the pool.
#pragma once

#include <openssl/sha.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

constexpr int THREADS = 2;

template <class Fork> uint64_t fibonacci(uint64_t n, Fork fork)
{
    if (n < 2)
        return n;
    uint64_t one = 0, other = 0;
    fork([&] { one = fibonacci(n - 1, fork); }, [&] { other = fibonacci(n - 2, fork); });
    return one + other;
}

// Queens on the first rows: which columns of the next one they attack.
struct Placed {
    uint32_t columns, falling, rising;
};

template <class Fork> uint64_t squares(uint32_t all, Placed placed, uint32_t free, Fork fork);

template <class Fork> uint64_t rows(uint32_t all, Placed placed, Fork fork)
{
    uint32_t attacked = placed.columns | placed.falling | placed.rising;
    return placed.columns == all ? 1 : squares(all, placed, all & ~attacked, fork);
}

template <class Fork> uint64_t squares(uint32_t all, Placed placed, uint32_t free, Fork fork)
{
    int count = __builtin_popcount(free);
    if (count == 0)
        return 0;
    if (count == 1)
        return rows(all,
                    Placed{placed.columns | free, (placed.falling | free) << 1,
                           (placed.rising | free) >> 1},
                    fork);
    uint32_t far = free;
    for (int at = 0; at < count / 2; at++)
        far &= far - 1;
    uint64_t one = 0, other = 0;
    fork([&] { one = squares(all, placed, free ^ far, fork); },
         [&] { other = squares(all, placed, far, fork); });
    return one + other;
}

// A node of the tree T1 of UTS: the state is the SHA-1 of the parent's state and the number.
struct Node {
    uint32_t state[5];
    uint32_t depth;
};

inline void hash(const uint32_t *words, int count, uint32_t *state)
{
    unsigned char block[64] = {};
    for (int at = 0; at < count; at++) {
        uint32_t word = __builtin_bswap32(words[at]);
        memcpy(block + 4 * at, &word, 4);
    }
    block[4 * count] = 0x80;
    uint32_t bits = __builtin_bswap32(32 * count);
    memcpy(block + 60, &bits, 4);
    SHA_CTX sum;
    SHA1_Init(&sum);
    SHA1_Transform(&sum, block);
    const uint32_t found[5] = {sum.h0, sum.h1, sum.h2, sum.h3, sum.h4};
    memcpy(state, found, sizeof found);
}

inline Node root()
{
    const uint32_t words[5] = {0, 0, 0, 0, 19};
    Node node = {{}, 0};
    hash(words, 5, node.state);
    return node;
}

inline uint32_t children_of(const Node &node)
{
    if (node.depth >= 10)
        return 0;
    double number = (node.state[4] & 0x7fffffff) / 2147483648.0;
    double drawn = std::log(1 - number) / std::log(1 - 1 / (1 + 4.0));
    return std::min<uint32_t>(100, static_cast<uint32_t>(std::floor(drawn)));
}

template <class Fork> uint64_t below(const Node &node, Fork fork);

template <class Fork> uint64_t among(const Node *nodes, size_t count, Fork fork)
{
    if (count == 1)
        return below(*nodes, fork);
    uint64_t one = 0, other = 0;
    size_t half = count / 2;
    fork([&] { one = among(nodes, half, fork); },
         [&] { other = among(nodes + half, count - half, fork); });
    return one + other;
}

template <class Fork> uint64_t below(const Node &node, Fork fork)
{
    std::vector<Node> children(children_of(node));
    uint32_t words[6];
    memcpy(words, node.state, sizeof node.state);
    for (uint32_t at = 0; at < children.size(); at++) {
        words[5] = at;
        hash(words, 6, children[at].state);
        children[at].depth = node.depth + 1;
    }
    return 1 + (children.empty() ? 0 : among(children.data(), children.size(), fork));
}

// Runs a work once to warm caches up, then three times, and prints a line for each: milliseconds,
// and milliseconds of all processors together. Exit status: 0 right, 1 wrong, 2 no such work.
template <class Enter, class Fork> int measure(int argc, char **argv, Enter enter, Fork fork)
{
    const char *work = argc == 2 ? argv[1] : "";
    bool fib = !strcmp(work, "fib"), queens = !strcmp(work, "queens");
    if (!fib && !queens && strcmp(work, "tree")) {
        fprintf(stderr, "usage: %s fib|queens|tree\n", argv[0]);
        return 2;
    }
    uint64_t right = fib ? 832040 : queens ? 14200 : 4130071;
    for (int at = 0; at <= 3; at++) {
        uint64_t found = 0;
        auto began = std::chrono::steady_clock::now();
        std::clock_t spent = std::clock();
        enter([&] {
            found = fib      ? fibonacci(30, fork)
                    : queens ? rows((1u << 12) - 1, Placed{0, 0, 0}, fork)
                             : below(root(), fork);
        });
        spent = std::clock() - spent;
        std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - began;
        if (found != right)
            return 1;
        if (at > 0)
            printf("%.4f %.4f\n", wall.count(), spent * 1e3 / CLOCKS_PER_SEC);
    }
    return 0;
}
