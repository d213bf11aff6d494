/*
 * How far apart two processors are: the nanoseconds that a cache line takes to another one and
 * back, best of some series. A hypervisor moves a guest's processors, from two threads of a core to
 * two cores and back, and all latencies between them change with it, by a factor of five.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define SERIES 20
#define TRIPS 1000

static _Alignas(128) atomic_int ball;

static cpu_set_t only(int number)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(number, &set);
    return set;
}

static void await(int value)
{
    while (atomic_load_explicit(&ball, memory_order_acquire) != value)
        ;
}

static void *other(void *unused)
{
    for (int at = 0; at < SERIES * TRIPS; at++) {
        await(2 * at + 1);
        atomic_store_explicit(&ball, 2 * at + 2, memory_order_release);
    }
    return unused;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(void)
{
    cpu_set_t here = only(0), there = only(1);
    pthread_t thread;
    pthread_attr_t attributes;
    double best_ns = 1e12;
    pthread_attr_init(&attributes);
    if (pthread_attr_setaffinity_np(&attributes, sizeof there, &there) != 0
        || sched_setaffinity(0, sizeof here, &here) != 0
        || pthread_create(&thread, &attributes, other, NULL) != 0)
        return 1;
    for (int at = 0; at < SERIES * TRIPS;) {
        double began_ns = now_ns();
        for (int end = at + TRIPS; at < end; at++) {
            atomic_store_explicit(&ball, 2 * at + 1, memory_order_release);
            await(2 * at + 2);
        }
        double took_ns = (now_ns() - began_ns) / TRIPS;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    pthread_join(thread, NULL);
    printf("%.1f\n", best_ns);
    return 0;
}
