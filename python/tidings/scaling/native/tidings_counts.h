/* Marks around the code to count, for programs in C, C++ and by foreign function calls.
 *
 * `tidings_counts_mark_begin()` and `tidings_counts_mark_end()` find the counting library when they
 * are called, and do nothing if it is not loaded: a program with marks needs no other build to
 * be counted. The library is loaded by LD_PRELOAD, as `tidings-scaling run` does it, or is linked.
 * Pairs of marks may be repeated: allocations, bytes held and PSS are summed over them, of the
 * growth of the heap the largest counts. Marks are for one thread; what other threads do between
 * them counts as well.
 *
 * What the library counts is in docs/reference/scaling.md. glibc 2.34 or newer, or link with -ldl.
 */
#ifndef TIDINGS_COUNTS_H
#define TIDINGS_COUNTS_H

#include <dlfcn.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The counts between the marks, or from start to end of a process that has none. */
struct tidings_counts {
    uint64_t marks;       /* pairs of marks */
    uint64_t allocations; /* calls of malloc, calloc, realloc and their like */
    int64_t heap_bytes;   /* how far the heap in use grew above what it was, at its highest */
    int64_t held_bytes;   /* how much more of the heap was in use at the end */
    int64_t pss_bytes;    /* growth of the proportional set size; if requested, else 0 */
};

/* The library's functions, for a program that links it. */
void tidings_counts_begin(void);
void tidings_counts_end(void);
struct tidings_counts tidings_counts_so_far(void);
void tidings_counts_reset(void); /* resets all pairs of marks so far */

/* Calls a function of the library, if the library is in this process. */
static inline void tidings_counts_call(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found)
        ((void (*)(void))(uintptr_t)found)();
}

static inline void tidings_counts_mark_begin(void) {
    tidings_counts_call("tidings_counts_begin");
}

static inline void tidings_counts_mark_end(void) {
    tidings_counts_call("tidings_counts_end");
}

#ifdef __cplusplus
}
#endif
#endif
