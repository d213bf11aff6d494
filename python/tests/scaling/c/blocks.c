/* Blocks of tidings_scaling.h: nested, counted, and faulty ones. usage: blocks FILE CASE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidings_scaling.h"

static void work(long steps)
{
    for (volatile long step = 0; step < steps; step++) {
    }
    tidings_scaling_count("steps", (double)steps);
}

static void measure_all(void)
{
    for (long n = 64; n <= 1024; n *= 2) {
        TIDINGS_SCALING("outer \"quoted\"", n) {
            work(n);
            TIDINGS_SCALING("inner", n)
                work(2 * n);
            work(n);
        }
        tidings_scaling_value("given", "depth", n, (double)n, "m");
    }
}

int main(int count, char **words)
{
    const char *kind = count > 2 ? words[2] : "good";
    if (!tidings_scaling_open(words[1], "n", strcmp(kind, "good") == 0 ? "a run" : NULL)) {
        fprintf(stderr, "%s\n", tidings_scaling_fault());
        return 2;
    }
    if (strcmp(kind, "good") == 0)
        measure_all();
    if (strcmp(kind, "break") == 0)
        TIDINGS_SCALING("left", 8) { break; }
    if (strcmp(kind, "zero") == 0)
        tidings_scaling_value("nothing", "depth", 8, 0, "m");
    if (strcmp(kind, "outside") == 0)
        tidings_scaling_count("steps", 1);
    if (strcmp(kind, "deep") == 0)
        for (int at = 0; at < 40; at++)
            tidings_scaling_begin("deep", 8);
    if (strcmp(kind, "control") == 0)
        tidings_scaling_value("a\nb", "depth", 8, 1, "m");
    if (!tidings_scaling_close()) {
        fprintf(stderr, "%s\n", tidings_scaling_fault());
        return 1;
    }
    return 0;
}
