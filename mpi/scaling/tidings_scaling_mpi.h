/*
 * tidings_scaling_mpi.h: how long an operation takes that all ranks do together, started at the
 * same moment.
 *
 *     TidingsWindow *window = tidings_window_open(MPI_COMM_WORLD, NULL);
 *     TIDINGS_SCALING_TOGETHER(window, "allreduce", ranks, 400) {
 *         MPI_Allreduce(mine, all, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
 *     }
 *     tidings_window_close(window);
 *
 * A barrier releases ranks one after the other, and the operation is then measured with the skew it
 * left. Here ranks measure how their clocks differ from that of rank 0, agree on a moment, and each
 * waits for it by its own clock: a start window, as in SKaMPI (Worsch, Reussner and Augustin,
 * EuroPVM/MPI 2002) and Hoefler, Schneider and Lumsdaine (IPDPS 2008). A value is the longest
 * duration of any rank, in seconds, written by rank 0 with tidings_scaling_value. Repetitions for
 * which any rank was late to its start are omitted and counted.
 *
 * Clocks: each rank sends a reference, which knows its own offset already, PINGPONGS messages, in a
 * binomial tree of log2(p) levels, as HCA does (Hunold and Carpen-Amarie). The time in a message
 * was read between its sending and its answer, so each bounds the offset from both sides; the
 * offset is the middle of the closest bounds, and half their distance the greatest error. Errors
 * add up along the tree. Offsets are measured before and after the repetitions; `start_error_s` is
 * the larger of both errors and the drift between.
 *
 * All functions are collective over the window's communicator.
 */
#ifndef TIDINGS_SCALING_MPI_H
#define TIDINGS_SCALING_MPI_H

#include <mpi.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A clock in seconds that only goes forward; it need not agree with those of other ranks. */
typedef double (*TidingsClock)(void *context);

/* Takes the times of a repetition: those of this rank, and the longest of any. Called on every
 * rank, between repetitions; of a warm-up, whose starts are not synchronised, with `warming`. */
typedef void (*TidingsEach)(void *context, double own_s, double longest_s, bool warming);

/* All 0, or NULL in the place of it: the default, which is in brackets. */
typedef struct TidingsWindowOptions {
    TidingsClock clock; /* [MPI_Wtime] */
    void *clock_context;
    bool one_clock; /* all ranks read the same clock, as in virtual time: nothing is measured */
    int warmups; /* repetitions before any is measured [4] */
    /* How long before its start a rank stops sleeping and looks at the clock: more is more exact,
     * and takes a processor from others. Negative: it only sleeps, as where virtual time passes,
     * or where ranks are more than processors [0.0001]. */
    double spin_s;
    double late_s;     /* a start later than this invalidates the repetition [0.000005] */
    int most_attempts; /* repetitions tried for each that is wanted [20] */
    TidingsEach each;  /* takes the times, in place of the file [rank 0 writes the longest] */
    void *each_context;
} TidingsWindowOptions;

typedef struct TidingsWindow TidingsWindow;

/* The results of the last repetitions; the same on all ranks. */
typedef struct TidingsWindowReport {
    long measured; /* written */
    long late;     /* omitted: a rank was late */
    double width_s;       /* from one start to the next, at the end */
    double start_error_s; /* how far starts may be apart because of the clocks */
} TidingsWindowReport;

/* Makes a window, with a communicator of its own. Never NULL; without memory it aborts. */
TidingsWindow *tidings_window_open(MPI_Comm comm, const TidingsWindowOptions *options);
void tidings_window_close(TidingsWindow *window);

/* Repeats the block that follows until this many values are written. Leave it at its end only. */
#define TIDINGS_SCALING_TOGETHER(window, function, size, repetitions)                              \
    for (tidings_window_begin(window, function, (double)(size), repetitions);                      \
         tidings_window_next(window);)

/* The same without a block: do the operation while `next` returns true. */
void tidings_window_begin(TidingsWindow *window, const char *function, double size,
                          long repetitions);
bool tidings_window_next(TidingsWindow *window);

TidingsWindowReport tidings_window_report(const TidingsWindow *window);

/* The offset from this rank's clock to that of rank 0, as last measured, and its
 * greatest error. */
double tidings_window_offset(const TidingsWindow *window, double *error_s);

/*
 * The litmus test: a broadcast along a binary tree, of sends and receives alone. On a machine that
 * behaves as expected, it takes O(log p) for a small message; where it does not, the
 * machine deviates, not a library. Returns an MPI error code.
 */
int tidings_litmus_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);

#ifdef __cplusplus
}
#endif
#endif
