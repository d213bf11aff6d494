/* Kernels of O(n) and O(n log n): a sum, a list, two sorts and a Fourier transform.
 * A part of kernels.c, which alone includes it: in one unit, counts do not depend on the cut. */

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
