/*
 * What the system takes from a core, measured independently of `tidings lab noise`.
 *
 * usage: spin CORE SECONDS
 *
 * A loop reads the processor's counter of cycles (elsewhere CLOCK_MONOTONIC_RAW) and does nothing
 * else. What lies between two readings is usually the same; more than that by THRESHOLD_NS was
 * taken. Neither clock, loop, calibration nor code is that of `tidings`, so agreement is evidence.
 *
 * Prints: share of time lost, gaps, the longest in ns.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { THRESHOLD_NS = 500, CALIBRATION_NS = 50000000, SHORTEST_STEPS = 100000 };

static uint64_t raw_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t ticks(void) {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return raw_ns();
#endif
}

/* Ticks in a nanosecond. */
static double rate(void) {
    uint64_t begin = raw_ns(), first = ticks(), now;
    do {
        now = raw_ns();
    } while (now - begin < CALIBRATION_NS);
    return (double)(ticks() - first) / (double)(now - begin);
}

/* The shortest step: nothing that disturbs makes one shorter. */
static uint64_t usual_step(void) {
    uint64_t least = UINT64_MAX, last = ticks();
    for (int step = 0; step < SHORTEST_STEPS; step++) {
        uint64_t now = ticks();
        if (now - last < least) {
            least = now - last;
        }
        last = now;
    }
    return least;
}

int main(int count, char **words) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (count != 3) {
        fputs("usage: spin CORE SECONDS\n", stderr);
        return 2;
    }
    CPU_SET((unsigned)atoi(words[1]), &set);
    if (sched_setaffinity(0, sizeof set, &set)) {
        perror("spin");
        return 1;
    }
    double per_ns = rate(), seconds = atof(words[2]);
    uint64_t step = usual_step(), limit = step + (uint64_t)(THRESHOLD_NS * per_ns);
    uint64_t begin = ticks(), last = begin, lost = 0, longest = 0, gaps = 0;
    uint64_t length = (uint64_t)(seconds * 1e9 * per_ns);
    while (last - begin < length) {
        uint64_t now = ticks(), taken = now - last;
        last = now;
        if (taken > limit) {
            lost += taken - step;
            gaps++;
            longest = taken > longest ? taken : longest;
        }
    }
    printf("%.9f %llu %.0f\n", (double)lost / (double)(last - begin), (unsigned long long)gaps,
           (double)longest / per_ns);
    return 0;
}
