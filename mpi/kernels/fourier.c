/*
 * See fourier.h. Cooley and Tukey's decimation in time: the elements in the order of their reversed
 * bits, then butterflies of growing width.
 */
#include "fourier.h"

#include <math.h>

double complex fourier_root(unsigned long long k, unsigned long long n)
{
    double angle = -2 * M_PI * (double)(k % n) / (double)n;
    return cos(angle) + I * sin(angle);
}

void fourier_roots(double complex *roots, size_t length)
{
    for (size_t at = 0; at < length / 2; at++)
        roots[at] = fourier_root(at, length);
}

static void reverse_bits(double complex *row, size_t length)
{
    for (size_t at = 1, reversed = 0; at < length; at++) {
        size_t bit = length >> 1;
        for (; reversed & bit; bit >>= 1)
            reversed ^= bit;
        reversed ^= bit;
        if (at < reversed) {
            double complex held = row[at];
            row[at] = row[reversed];
            row[reversed] = held;
        }
    }
}

void fourier_row(double complex *row, size_t length, const double complex *roots)
{
    reverse_bits(row, length);
    for (size_t half = 1; half < length; half *= 2)
        for (size_t begin = 0; begin < length; begin += 2 * half)
            for (size_t at = 0; at < half; at++) {
                double complex *low = &row[begin + at], *high = low + half;
                double complex turned = *high * roots[at * (length / 2 / half)];
                *high = *low - turned;
                *low += turned;
            }
}
