/* Kernels of O(2^k) and O(k 2^k): subsets and the Walsh-Hadamard transform.
 * A part of kernels.c, which alone includes it: in one unit, counts do not depend on the cut. */

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
