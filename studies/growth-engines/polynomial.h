/* Kernels of O(n^1.5) to O(n^3): sweeps, products of polynomials and matrices, an edit distance.
 * A part of kernels.c, which alone includes it: in one unit, counts do not depend on the cut. */

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
