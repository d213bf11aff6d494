/*
 * Clocks that disagree: that of each rank is off by hours.
 * What is measured must be within the error that is stated. Rank 0 prints a line of JSON a rank.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

#include "tidings_scaling.h"
#include "tidings_scaling_mpi.h"

static int rank;

static double offset_s(void)
{
    return 3600.0 * rank - 0.125;
}

/* CLOCK_MONOTONIC is one for all ranks of a computer; MPI_Wtime may begin with each of them. */
static double wrong_clock(void *context)
{
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9 + offset_s();
}

int main(int count, char **words)
{
    int ranks;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0 && !tidings_scaling_open(words[1], "p", NULL)) {
        fprintf(stderr, "%s\n", tidings_scaling_fault());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    TidingsWindowOptions options = { .clock = wrong_clock, .spin_s = -1, .late_s = 1 };
    TidingsWindow *window = tidings_window_open(MPI_COMM_WORLD, &options);
    long done = 0;
    TIDINGS_SCALING_TOGETHER(window, "barrier", ranks, 10) {
        MPI_Barrier(MPI_COMM_WORLD);
        done++;
    }
    /* But for what was added, all clocks are one. */
    double error_s, mine[3] = { -3600.0 * rank }, all[3 * 64];
    mine[1] = tidings_window_offset(window, &error_s);
    mine[2] = error_s;
    MPI_Gather(mine, 3, MPI_DOUBLE, all, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    TidingsWindowReport report = tidings_window_report(window);
    int token = rank == ranks - 1 ? 42 : 0;
    tidings_litmus_bcast(&token, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD);
    int sum;
    MPI_Reduce(&token, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int at = 0; rank == 0 && at < ranks; at++)
        printf("{\"true_s\":%.9f,\"measured_s\":%.9f,\"error_s\":%.9f,\"done\":%ld,"
               "\"written\":%ld,\"late\":%ld,\"start_error_s\":%.9f,\"tokens\":%d}\n",
               all[3 * at], all[3 * at + 1], all[3 * at + 2], done, report.measured, report.late,
               report.start_error_s, sum);
    tidings_window_close(window);
    int closed = rank != 0 || tidings_scaling_close();
    MPI_Finalize();
    return closed ? 0 : 1;
}
