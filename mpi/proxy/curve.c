/* See curve.h. Each level of the curve is four smaller ones, turned so that their ends meet. */
#include "curve.h"

static void turn(int side, int *x, int *y, int right, int up)
{
    if (up)
        return;
    if (right) {
        *x = side - 1 - *x;
        *y = side - 1 - *y;
    }
    int held = *x;
    *x = *y;
    *y = held;
}

int curve_index(int side, int x, int y)
{
    int index = 0;
    for (int half = side / 2; half > 0; half /= 2) {
        int right = (x & half) > 0, up = (y & half) > 0;
        index += half * half * ((3 * right) ^ up);
        turn(side, &x, &y, right, up);
    }
    return index;
}

void curve_place(int side, int index, int *x, int *y)
{
    *x = *y = 0;
    for (int width = 1; width < side; width *= 2) {
        int right = 1 & (index / 2), up = 1 & (index ^ right);
        turn(width, x, y, right, up);
        *x += width * right;
        *y += width * up;
        index /= 4;
    }
}
