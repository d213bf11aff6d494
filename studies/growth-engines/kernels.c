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

/* O(1): a hash table that is half full, linear probing, 256 lookups of keys that are there. */
enum { LOOKUPS = 256 };

static size_t hashed(uint32_t key, size_t mask)
{
    return (key * 2654435761u >> 7) & mask;
}

static void make_table(void)
{
    keys = room(2 * size, sizeof *keys);
    for (size_t i = 0; i < size; i++) {
        uint32_t key = (uint32_t)i * 2 + 1;
        size_t at = hashed(key, 2 * size - 1);
        while (keys[at])
            at = (at + 1) & (2 * size - 1);
        keys[at] = key;
    }
}

static void hash_lookup(void)
{
    size_t found = 0;
    for (uint32_t i = 0; i < LOOKUPS; i++) {
        uint32_t key = (uint32_t)((i * 40503u) % size) * 2 + 1;
        size_t at = hashed(key, 2 * size - 1);
        while (keys[at] != key)
            at = (at + 1) & (2 * size - 1);
        found += at;
    }
    sink = (double)found;
}

/* O(log n): 256 searches of a sorted array of a power of two elements. */
static void make_sorted(void)
{
    keys = room(size, sizeof *keys);
    for (size_t i = 0; i < size; i++)
        keys[i] = (uint32_t)i * 2;
}

static void binary_search(void)
{
    size_t found = 0;
    for (uint32_t i = 0; i < LOOKUPS; i++) {
        uint32_t key = (i * 2654435761u) % (uint32_t)(2 * size);
        size_t low = 0;
        for (size_t half = size / 2; half; half /= 2)
            if (keys[low + half] <= key)
                low += half;
        found += low;
    }
    sink = (double)found;
}

/* O(log n): the largest leaves a heap and becomes the smallest, 256 times. */
static void sift(double *heap, size_t at, size_t count)
{
    double value = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[child] <= value)
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

static void heapify(double *heap, size_t count)
{
    for (size_t at = count / 2; at-- > 0;)
        sift(heap, at, count);
}

static void make_heap(void)
{
    first = numbers(size);
    heapify(first, size);
}

static void heap_replace(void)
{
    double total = 0;
    for (int i = 0; i < LOOKUPS; i++) {
        total += first[0];
        first[0] -= 1;
        sift(first, 0, size);
    }
    sink = total;
}

/* O(sqrt n): whether the largest prime below n is one, by division. */
static int divides(uint64_t number)
{
    for (uint64_t by = 2; by * by <= number; by++)
        if (number % by == 0)
            return 1;
    return 0;
}

static uint64_t prime;

static void make_prime(void)
{
    for (prime = size - 1; divides(prime); prime--)
        ;
}

static void trial_division(void)
{
    sink = divides(prime);
}

/* O(n). */
static void make_numbers(void)
{
    first = numbers(size);
}

static void sum(void)
{
    double total = 0;
    for (size_t i = 0; i < size; i++)
        total += first[i];
    sink = total;
}

/* O(n): a list in an order drawn by chance. */
static void make_list(void)
{
    links = room(size, sizeof *links);
    uint32_t *order = room(size, sizeof *order);
    for (size_t i = 0; i < size; i++)
        order[i] = (uint32_t)i;
    for (size_t i = size - 1; i > 0; i--) {
        size_t other = drawn() % (i + 1);
        uint32_t held = order[i];
        order[i] = order[other];
        order[other] = held;
    }
    for (size_t i = 0; i < size; i++)
        links[order[i]] = order[(i + 1) % size];
    free(order);
}

static void list_walk(void)
{
    uint32_t at = 0;
    for (size_t i = 0; i < size; i++)
        at = links[at];
    sink = at;
}

/* O(n log n): three of them. Sorted are other numbers in each call, lest branches be learned. */
static void refill(double *numbers_of)
{
    for (size_t i = 0; i < size; i++)
        numbers_of[i] = drawn();
}

static void make_two(void)
{
    first = numbers(size);
    second = room(size, sizeof *second);
    third = room(size, sizeof *third);
}

static void merge(const double *from, double *to, size_t half, size_t count)
{
    size_t left = 0, right = half;
    for (size_t i = 0; i < count; i++) {
        int take = right >= count || (left < half && from[left] <= from[right]);
        to[i] = take ? from[left++] : from[right++];
    }
}

static void merge_sort(void)
{
    double *from = second, *to = third;
    refill(from);
    for (size_t half = 1; half < size; half *= 2) {
        for (size_t at = 0; at < size; at += 2 * half)
            merge(from + at, to + at, half, 2 * half);
        double *held = from;
        from = to;
        to = held;
    }
    sink = from[size / 2];
}

static void heap_sort(void)
{
    refill(second);
    heapify(second, size);
    for (size_t count = size; count-- > 1;) {
        double held = second[0];
        second[0] = second[count];
        second[count] = held;
        sift(second, 0, count);
    }
    sink = second[size / 2];
}

static void reverse_bits(double *real, double *imaginary)
{
    for (size_t i = 1, other = 0; i < size; i++) {
        size_t bit = size / 2;
        for (; other & bit; bit /= 2)
            other ^= bit;
        other |= bit;
        if (i < other) {
            double held = real[i];
            real[i] = real[other];
            real[other] = held;
            held = imaginary[i];
            imaginary[i] = imaginary[other];
            imaginary[other] = held;
        }
    }
}

static void fourier(void)
{
    memcpy(second, first, size * sizeof *second);
    memset(third, 0, size * sizeof *third);
    reverse_bits(second, third);
    for (size_t half = 1; half < size; half *= 2) {
        double step_real = cos(M_PI / (double)half), step_imaginary = -sin(M_PI / (double)half);
        for (size_t at = 0; at < size; at += 2 * half) {
            double real = 1, imaginary = 0;
            for (size_t i = at; i < at + half; i++) {
                double a = second[i + half] * real - third[i + half] * imaginary;
                double b = second[i + half] * imaginary + third[i + half] * real;
                second[i + half] = second[i] - a;
                third[i + half] = third[i] - b;
                second[i] += a;
                third[i] += b;
                double turned = real * step_real - imaginary * step_imaginary;
                imaginary = real * step_imaginary + imaginary * step_real;
                real = turned;
            }
        }
    }
    sink = second[1];
}

/* O(n^1.5): as many sweeps over a grid of n cells as it has rows. */
static void make_grid(void)
{
    first = numbers(size);
    second = numbers(size);
}

static void sweeps(void)
{
    size_t side = (size_t)sqrt((double)size);
    for (size_t sweep = 0; sweep < side; sweep++)
        for (size_t i = 1; i + 1 < size; i++)
            first[i] = 0.25 * (first[i - 1] + first[i + 1]) + 0.5 * second[i];
    sink = first[size / 2];
}

/* O(n^1.585): the product of two polynomials by Karatsuba's method, down to single factors. */
static void make_polynomials(void)
{
    first = numbers(size);
    second = numbers(size);
    third = room(8 * size, sizeof *third);
}

static void multiply(const double *a, const double *b, double *product, double *spare, size_t count)
{
    if (count == 1) {
        product[0] = a[0] * b[0];
        product[1] = 0;
        return;
    }
    size_t half = count / 2;
    double *sums = spare, *middle = spare + count, *rest = spare + 2 * count;
    for (size_t i = 0; i < half; i++) {
        sums[i] = a[i] + a[i + half];
        sums[i + half] = b[i] + b[i + half];
    }
    multiply(a, b, product, rest, half);
    multiply(a + half, b + half, product + count, rest, half);
    multiply(sums, sums + half, middle, rest, half);
    for (size_t i = 0; i < count; i++)
        middle[i] -= product[i] + product[i + count];
    for (size_t i = 0; i < count; i++)
        product[i + half] += middle[i];
}

static void karatsuba(void)
{
    multiply(first, second, third, third + 2 * size, size);
    sink = third[size];
}

/* O(n^2): three of them. */
static void insertion_sort(void)
{
    for (size_t i = 0; i < size; i++)
        second[i] = (double)(size - i);
    for (size_t i = 1; i < size; i++) {
        double value = second[i];
        size_t at = i;
        for (; at > 0 && second[at - 1] > value; at--)
            second[at] = second[at - 1];
        second[at] = value;
    }
    sink = second[0];
}

static void make_matrix(void)
{
    first = numbers(size * size);
    second = numbers(size);
}

static void matrix_vector(void)
{
    double total = 0;
    for (size_t i = 0; i < size; i++) {
        double row = 0;
        for (size_t j = 0; j < size; j++)
            row += first[i * size + j] * second[j];
        total += row;
    }
    sink = total;
}

static void make_texts(void)
{
    keys = room(2 * size, sizeof *keys);
    for (size_t i = 0; i < 2 * size; i++)
        keys[i] = drawn() & 3;
    links = room(size + 1, sizeof *links);
}

static void edit_distance(void)
{
    for (size_t j = 0; j <= size; j++)
        links[j] = (uint32_t)j;
    for (size_t i = 0; i < size; i++) {
        uint32_t corner = links[0];
        links[0] = (uint32_t)i + 1;
        for (size_t j = 0; j < size; j++) {
            uint32_t changed = corner + (keys[i] != keys[size + j]);
            uint32_t least = (links[j] < links[j + 1] ? links[j] : links[j + 1]) + 1;
            corner = links[j + 1];
            links[j + 1] = least < changed ? least : changed;
        }
    }
    sink = links[size];
}

/* O(n^2.807) by Strassen's method, down to single elements, and O(n^3) by the plain one. */
static void make_matrices(void)
{
    first = numbers(size * size);
    second = numbers(size * size);
    third = room(8 * size * size, sizeof *third);
}

static void matrix_product(void)
{
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) {
            double total = 0;
            for (size_t k = 0; k < size; k++)
                total += first[i * size + k] * second[k * size + j];
            third[i * size + j] = total;
        }
    sink = third[size];
}

/* A square part of a matrix whose rows are `stride` apart. */
struct part {
    double *at;
    size_t stride;
};

static struct part quarter(struct part whole, size_t half, int down, int right)
{
    struct part found = {whole.at + (size_t)down * half * whole.stride + (size_t)right * half,
                         whole.stride};
    return found;
}

/* to = a + factor * b; a or b may be `to`. */
static void combine(struct part to, struct part a, double factor, struct part b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            to.at[i * to.stride + j] = a.at[i * a.stride + j] + factor * b.at[i * b.stride + j];
}

static void strassen_product(struct part a, struct part b, struct part to, double *spare,
                             size_t count);

/* product = (a + f*b) * (c + g*d); f or g of 0 leaves the second of a pair out. */
static void step(struct part product, struct part a, double f, struct part b, struct part c,
                 double g, struct part d, double *spare, size_t half)
{
    struct part left = {spare, half}, right = {spare + half * half, half};
    if (f != 0)
        combine(left, a, f, b, half);
    if (g != 0)
        combine(right, c, g, d, half);
    strassen_product(f != 0 ? left : a, g != 0 ? right : c, product, spare + 2 * half * half, half);
}

static void strassen_product(struct part a, struct part b, struct part to, double *spare,
                             size_t count)
{
    if (count == 1) {
        to.at[0] = a.at[0] * b.at[0];
        return;
    }
    size_t half = count / 2;
    struct part a11 = quarter(a, half, 0, 0), a12 = quarter(a, half, 0, 1);
    struct part a21 = quarter(a, half, 1, 0), a22 = quarter(a, half, 1, 1);
    struct part b11 = quarter(b, half, 0, 0), b12 = quarter(b, half, 0, 1);
    struct part b21 = quarter(b, half, 1, 0), b22 = quarter(b, half, 1, 1);
    struct part c11 = quarter(to, half, 0, 0), c12 = quarter(to, half, 0, 1);
    struct part c21 = quarter(to, half, 1, 0), c22 = quarter(to, half, 1, 1);
    struct part made = {spare, half};
    double *rest = spare + half * half;
    step(c11, a11, 1, a22, b11, 1, b22, rest, half);
    combine(c22, c11, 0, c11, half);
    step(c21, a21, 1, a22, b11, 0, b11, rest, half);
    combine(c22, c22, -1, c21, half);
    step(c12, a11, 0, a11, b12, -1, b22, rest, half);
    combine(c22, c22, 1, c12, half);
    step(made, a22, 0, a22, b21, -1, b11, rest, half);
    combine(c11, c11, 1, made, half);
    combine(c21, c21, 1, made, half);
    step(made, a11, 1, a12, b22, 0, b22, rest, half);
    combine(c11, c11, -1, made, half);
    combine(c12, c12, 1, made, half);
    step(made, a21, -1, a11, b11, 1, b12, rest, half);
    combine(c22, c22, 1, made, half);
    step(made, a12, -1, a22, b21, 1, b22, rest, half);
    combine(c11, c11, 1, made, half);
}

static void strassen(void)
{
    struct part a = {first, size}, b = {second, size}, to = {third, size};
    strassen_product(a, b, to, third + size * size, size);
    sink = third[size];
}

/* O(2^k): the sums of all subsets of k numbers. */
static double subset_sums(size_t from, double chosen)
{
    if (from == size)
        return chosen > 1 ? 1 : 0;
    return subset_sums(from + 1, chosen) + subset_sums(from + 1, chosen + first[from]);
}

static void subsets(void)
{
    sink = subset_sums(0, 0);
}

/* O(k 2^k): the Walsh-Hadamard transform of 2^k numbers. */
static void make_power(void)
{
    first = numbers((size_t)1 << size);
}

static void walsh(void)
{
    size_t count = (size_t)1 << size;
    for (size_t half = 1; half < count; half *= 2)
        for (size_t i = 0; i < count; i++)
            if (!(i & half)) {
                double sum_of = first[i] + first[i + half];
                first[i + half] = M_SQRT1_2 * (first[i] - first[i + half]);
                first[i] = M_SQRT1_2 * sum_of;
            }
    sink = first[1];
}

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
