/*
 * tidings_scaling.h: measurements of growth by programs in C and C++ (and Fortran, by
 * tidings_scaling.f90), for the command tidings-scaling.
 *
 *     tidings_scaling_open("sort.jsonl", "n", NULL);
 *     for (size_t n = 256; n <= 16384; n *= 2)
 *         TIDINGS_SCALING("sort", n) {
 *             sort(values, n);
 *         }
 *     tidings_scaling_close();
 *
 * Each block appends a line of JSON with its wall time, and one for each count that was added while
 * it was open; docs/reference/scaling.md has the fields. All is written after the clock was read,
 * and flushed at once, so what a program measured before it crashed is there.
 *
 * Build tidings_scaling.c with the program: it needs only C11 and POSIX. tidings_scaling_mpi.h
 * measures what the ranks of an MPI program do together.
 *
 * Blocks nest, and belong to the thread that opened them; any thread may open some. Nothing here
 * ends the program: the first fault is kept as a message and reported by tidings_scaling_close, and
 * what a block encloses is executed in any case.
 */
#ifndef TIDINGS_SCALING_H
#define TIDINGS_SCALING_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The longest name of a function or metric, in bytes. */
#define TIDINGS_SCALING_NAME 127

/* How many different counts a block may have, and how deep blocks nest. */
#define TIDINGS_SCALING_COUNTS 8
#define TIDINGS_SCALING_DEPTH 16

/*
 * Measurements go to this file from here on, appended; `parameter` names what grows, such as "n"
 * or "p". `run` names this run: random effects of a run are in all its rows, so runs must be
 * distinguished. NULL for `path` is the variable TIDINGS_SCALING_FILE, or scaling.jsonl; NULL for
 * `run` is TIDINGS_SCALING_RUN, or a name made of time and process. False if the file cannot be
 * written: tidings_scaling_fault gives the reason.
 */
bool tidings_scaling_open(const char *path, const char *parameter, const char *run);

/* Ends the file. False if anything went wrong since it was opened: not all is in it. */
bool tidings_scaling_close(void);

/* The first fault since the file was opened, as a message; "" if there was none. */
const char *tidings_scaling_fault(void);

/*
 * Measures the block that follows. It must be left at its end: by `break`, `return` or `goto` it
 * stays open, which is a fault. For a name that is used again, keep blocks on lines of their own.
 */
#define TIDINGS_SCALING(function, size)                                                            \
    for (bool TIDINGS_SCALING_ONCE(__LINE__) = tidings_scaling_begin(function, (double)(size));    \
         TIDINGS_SCALING_ONCE(__LINE__);                                                           \
         TIDINGS_SCALING_ONCE(__LINE__) = tidings_scaling_end())
#define TIDINGS_SCALING_ONCE(line) TIDINGS_SCALING_PASTED(tidings_scaling_once_, line)
#define TIDINGS_SCALING_PASTED(name, line) name##line

/* The same without a block, for other languages: begin returns true always, end false. */
bool tidings_scaling_begin(const char *function, double size);
bool tidings_scaling_end(void);

/* Adds to a count of the innermost open block, such as the comparisons of a sort. */
void tidings_scaling_count(const char *metric, double more);

/* Writes a value that the program measured itself; "" for a unit if it has none. */
void tidings_scaling_value(const char *function, const char *metric, double size, double value,
                           const char *unit);

#ifdef __cplusplus
}
#endif
#endif
