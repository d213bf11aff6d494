/* Kernels of known growth, to be counted by callgrind or timed: `kernels NAME SIZE [count]`.
 *
 * Timed, a kernel is called again and again, and the seconds of processor time of one call are
 * printed: the least of a few blocks, since whatever else runs here only adds. With `count` it is
 * called once, inside measured(), which callgrind is told to count alone
 * (--toggle-collect=measured). What a kernel needs is made before, from a generator of its own, so
 * that counts are the same every time; a call leaves it such that the next one has as much to do.
 * Sums go to a sink, lest the compiler leave the work out.
 *
 * `copy` is no kernel of known growth: its count jumps where memcpy changes its method.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK_S 3e-4
#define BLOCKS 7

static volatile double sink;
static size_t size;
static double *first, *second, *third;
static uint32_t *keys;
static uint32_t *links;

static uint32_t drawn(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static void *room(size_t count, size_t each)
{
    void *made = calloc(count ? count : 1, each);
    if (!made) {
        fprintf(stderr, "kernels: no memory for %zu elements\n", count);
        exit(1);
    }
    return made;
}

static double *numbers(size_t count)
{
    double *made = room(count, sizeof *made);
    for (size_t i = 0; i < count; i++)
        made[i] = drawn() / 4294967296.0;
    return made;
}

#include "sublinear.h"
#include "linear.h"
#include "polynomial.h"
#include "exponential.h"

static void copy(void)
{
    memcpy(second, first, size * sizeof *second);
    sink = second[size - 1];
}

struct kernel {
    const char *name;
    void (*make)(void);
    void (*run)(void);
};

static const struct kernel kernels[] = {
    {"hash_lookup", make_table, hash_lookup},
    {"binary_search", make_sorted, binary_search},
    {"heap_replace", make_heap, heap_replace},
    {"trial_division", make_prime, trial_division},
    {"sum", make_numbers, sum},
    {"list_walk", make_list, list_walk},
    {"merge_sort", make_two, merge_sort},
    {"heap_sort", make_two, heap_sort},
    {"fourier", make_two, fourier},
    {"sweeps", make_grid, sweeps},
    {"karatsuba", make_polynomials, karatsuba},
    {"insertion_sort", make_two, insertion_sort},
    {"matrix_vector", make_matrix, matrix_vector},
    {"edit_distance", make_texts, edit_distance},
    {"matrix_product", make_matrices, matrix_product},
    {"strassen", make_matrices, strassen},
    {"subsets", make_numbers, subsets},
    {"walsh", make_power, walsh},
    {"copy", make_two, copy},
};

/* Not static, so that callgrind finds it by its name. */
void measured(const struct kernel *kernel);

__attribute__((noinline, noclone)) void measured(const struct kernel *kernel)
{
    kernel->run();
    __asm__ volatile("" ::: "memory");
}

static double now(void)
{
    struct timespec read;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &read);
    return (double)read.tv_sec + 1e-9 * (double)read.tv_nsec;
}

static double seconds_of(const struct kernel *kernel, size_t calls)
{
    double began = now();
    for (size_t i = 0; i < calls; i++)
        measured(kernel);
    return now() - began;
}

/* Return the seconds of one call: the least of blocks that take a third of a millisecond each. */
static double timed(const struct kernel *kernel)
{
    size_t calls = 1;
    while (seconds_of(kernel, calls) < BLOCK_S)
        calls *= 2;
    double least = seconds_of(kernel, calls);
    for (int i = 1; i < BLOCKS; i++)
        least = fmin(least, seconds_of(kernel, calls));
    return least / (double)calls;
}

int main(int count, char **words)
{
    const struct kernel *chosen = NULL;
    for (size_t i = 0; count >= 3 && i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(words[1], kernels[i].name))
            chosen = &kernels[i];
    size = count >= 3 ? strtoull(words[2], NULL, 10) : 0;
    if (!chosen || size < 2 || size > 1u << 26) {
        fprintf(stderr, "usage: kernels NAME SIZE [count]; the names are in kernels.c\n");
        return 2;
    }
    chosen->make();
    if (count > 3) {
        measured(chosen);
        return 0;
    }
    printf("%.9g\n", timed(chosen));
    return 0;
}
