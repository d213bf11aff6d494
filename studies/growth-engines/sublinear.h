/* Kernels of O(1) to O(sqrt n): a hash table, a search, a heap, a division by trial.
 * A part of kernels.c, which alone includes it: in one unit, counts do not depend on the cut. */

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
