/* See bench.h. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* From this size on a message is repeated less often. */
#define LARGE_BYTES 65536.0

/* How long those who take no part sleep between two looks. */
#define NAP_NS 500000

/* Repetitions before starts are synchronised, by which the width of starts is set. */
#define WARMUPS 4

MPI_Comm bench_group(const Bench *bench, const int *ranks, int count)
{
    MPI_Group world, group = MPI_GROUP_EMPTY;
    MPI_Comm comm;
    bool takes_part = false;
    for (int at = 0; at < count; at++)
        takes_part |= ranks[at] == bench->rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (takes_part)
        MPI_Group_incl(world, count, ranks, &group);
    /* Not split: that sends messages to all ranks, and thousands of them wait for a pair. */
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    if (takes_part)
        MPI_Group_free(&group);
    MPI_Group_free(&world);
    return comm;
}

void bench_together(const Bench *bench, MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
    if (bench->simulated) { /* no one is disturbed there, and looking would take the longest */
        networks_barrier(bench->networks, MPI_COMM_WORLD);
        return;
    }
    const struct timespec nap = { 0, NAP_NS };
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        nanosleep(&nap, NULL);
}

long bench_repetitions(const Bench *bench, double bytes)
{
    double wanted = bench->settings.repetitions;
    return (long)fmax(1, bytes >= LARGE_BYTES ? ceil(wanted / 4) : wanted);
}

double bench_next(const Bench *bench, double bytes)
{
    double next = bytes < 1 ? 1 : bytes * bench->settings.factor, most = bench->settings.largest;
    return bytes < most ? fmin(next, most) : INFINITY;
}

int bench_more(int count, int most)
{
    return count < most && 2 * count > most ? most : 2 * count;
}

/* Keeps the times of a repetition: the window calls it on every rank. */
static void keep(void *context, double own_s, double longest_s, bool warming)
{
    Samples *samples = context;
    if (samples->count == samples->room)
        return;
    samples->own_s[samples->count] = own_s;
    samples->longest_s[samples->count] = longest_s;
    samples->count++;
    samples->warmups += warming;
}

void samples_take(const Bench *bench, MPI_Comm comm, long wanted, Operation *run, void *context,
                  Samples *samples)
{
    long warmups = bench->simulated ? 1 : WARMUPS;
    *samples = (Samples){ .room = wanted + warmups, .wanted = wanted };
    samples->own_s = room_for((size_t)samples->room * sizeof(double));
    samples->longest_s = room_for((size_t)samples->room * sizeof(double));
    TidingsWindowOptions options = {
        .one_clock = bench->simulated,
        .warmups = (int)warmups,
        .spin_s = bench->simulated || bench->settings.sleeps ? -1 : 0,
        .late_s = bench->settings.late_s,
        .most_attempts = 4,
        .each = keep,
        .each_context = samples,
    };
    TidingsWindow *window = tidings_window_open(comm, &options);
    tidings_window_begin(window, "characterize", 0, wanted);
    while (tidings_window_next(window))
        run(context);
    samples->report = tidings_window_report(window);
    tidings_window_close(window);
}

void samples_free(Samples *samples)
{
    free(samples->own_s);
    free(samples->longest_s);
    *samples = (Samples){ 0 };
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double median_of(double *values, long count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : 0;
}

void samples_report(Bench *bench, const Samples *samples, const double *values_s,
                    const Label *label, bool valid)
{
    Rows *rows = &bench->rows;
    row_begin(rows, label->test);
    row_text(rows, "variant", label->variant);
    row_number(rows, "bytes", label->bytes);
    row_number(rows, "count", label->count);
    row_number(rows, "messages", label->messages);
    row_truth(rows, "valid", valid);
    row_number(rows, "warmups", (double)samples->warmups);
    row_number(rows, "wanted", (double)samples->wanted);
    row_number(rows, "late", (double)samples->report.late);
    row_number(rows, "late_limit_s", bench->settings.late_s);
    row_number(rows, "start_error_s", samples->report.start_error_s);
    row_list(rows, "samples_s", values_s, samples->count);
    row_end(rows);
}

bool all_say(MPI_Comm comm, bool own)
{
    int mine = own, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

void skip(Bench *bench, const char *test, const char *variant, const char *reason)
{
    if (bench->rank != 0)
        return;
    row_begin(&bench->rows, test);
    row_text(&bench->rows, "variant", variant);
    row_text(&bench->rows, "skipped", reason);
    row_end(&bench->rows);
}
