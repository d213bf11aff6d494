/*
 * See tidings_scaling_mpi.h.
 *
 * Invariants: whether to repeat and when to start is decided from what all ranks agreed on, so all
 * do the same number of repetitions; nothing is sent between a start and the end of a repetition.
 */
#define _POSIX_C_SOURCE 200809L
#include "tidings_scaling_mpi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidings_scaling.h"

/* Messages to each other rank that bound a clock's offset. */
#define PINGPONGS 40

/* Repetitions between two agreements of all ranks. */
#define BATCH 32

/* A start window is this many times as long as the operation. */
#define ROOM 3.0
#define LEAST_WIDTH_S 20e-6
#define LARGEST_WIDTH_S 1.0

#define TAG 1

/* The litmus test's messages are on the program's own communicator: a tag that it is unlikely to
 * use, and that every MPI has. */
#define LITMUS_TAG 32767

typedef struct Offset {
    double s, error_s;
} Offset;

struct TidingsWindow {
    MPI_Comm comm;
    int rank, ranks;
    TidingsWindowOptions options;
    char function[TIDINGS_SCALING_NAME + 1];
    double size;
    long wanted, attempts;
    bool warming, open;
    int batch, at; /* repetitions of this batch, and those done */
    double stretch; /* of the width, beyond the room that it has anyway */
    Offset offset;
    double first_start_s; /* of this batch, by rank 0's clock */
    double began_s;       /* this repetition, by this rank's clock */
    double took_s[BATCH], late_s[BATCH];
    TidingsWindowReport report;
};

static double wall(void *context)
{
    (void)context;
    return MPI_Wtime();
}

static double now_s(const TidingsWindow *window)
{
    return window->options.clock(window->options.clock_context);
}

static TidingsWindowOptions filled(const TidingsWindowOptions *given)
{
    TidingsWindowOptions options = { 0 };
    if (given)
        options = *given;
    if (!options.clock)
        options.clock = wall;
    if (options.warmups <= 0)
        options.warmups = 4;
    if (options.spin_s == 0)
        options.spin_s = 100e-6;
    if (options.late_s <= 0)
        options.late_s = 5e-6;
    if (options.most_attempts <= 0)
        options.most_attempts = 20;
    return options;
}

TidingsWindow *tidings_window_open(MPI_Comm comm, const TidingsWindowOptions *options)
{
    TidingsWindow *window = calloc(1, sizeof *window);
    if (!window) {
        fprintf(stderr, "tidings_scaling_mpi: there is no memory for a window\n");
        MPI_Abort(comm, 1);
        exit(1);
    }
    MPI_Comm_dup(comm, &window->comm);
    MPI_Comm_rank(window->comm, &window->rank);
    MPI_Comm_size(window->comm, &window->ranks);
    window->options = filled(options);
    return window;
}

void tidings_window_close(TidingsWindow *window)
{
    MPI_Comm_free(&window->comm);
    free(window);
}

/* Replies to the messages of a rank with this rank's clock. */
static void answer(const TidingsWindow *window, int client)
{
    double reading[3] = { 0, window->offset.s, window->offset.error_s };
    for (int at = 0; at < PINGPONGS; at++) {
        double question[3];
        MPI_Recv(question, 3, MPI_DOUBLE, client, TAG, window->comm, MPI_STATUS_IGNORE);
        reading[0] = now_s(window);
        MPI_Send(reading, 3, MPI_DOUBLE, client, TAG, window->comm);
    }
}

/* Queries a reference's clock; returns the offset to rank 0's. */
static Offset asked(const TidingsWindow *window, int reference)
{
    /* Request and reply are equally long, so that they take equally long. */
    double least = -INFINITY, most = INFINITY, reading[3], question[3] = { 0 };
    for (int at = 0; at < PINGPONGS; at++) {
        double sent_s = now_s(window);
        MPI_Send(question, 3, MPI_DOUBLE, reference, TAG, window->comm);
        MPI_Recv(reading, 3, MPI_DOUBLE, reference, TAG, window->comm, MPI_STATUS_IGNORE);
        double received_s = now_s(window);
        least = fmax(least, reading[0] - received_s);
        most = fmin(most, reading[0] - sent_s);
    }
    double middle_s = least + (most - least) / 2;
    return (Offset){ middle_s + reading[1], fabs(most - least) / 2 + reading[2] };
}

/* Measures all offsets to rank 0's clock, along a binomial tree from the root on. */
static void synchronise(TidingsWindow *window)
{
    int step = 1;
    while (step < window->ranks)
        step *= 2;
    window->offset = (Offset){ 0, 0 };
    if (window->options.one_clock)
        return;
    for (step /= 2; step >= 1; step /= 2) {
        int place = window->rank % (2 * step);
        if (place == 0 && window->rank + step < window->ranks)
            answer(window, window->rank + step);
        else if (place == step)
            window->offset = asked(window, window->rank - step);
    }
}

double tidings_window_offset(const TidingsWindow *window, double *error_s)
{
    if (error_s)
        *error_s = window->offset.error_s;
    return window->offset.s;
}

TidingsWindowReport tidings_window_report(const TidingsWindow *window)
{
    return window->report;
}

static void sleep_for(double seconds)
{
    /* Up to the next nanosecond: less would leave a remainder that never passes where only sleeping
     * advances time. */
    long long ns = (long long)ceil(seconds * 1e9);
    struct timespec sleep = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
    nanosleep(&sleep, NULL);
}

/* Waits until a moment of rank 0's clock; returns by how much it is late then. No start of a batch
 * is as far away as a clock that was set back says: its rank does not wait, and counts as late. */
static double wait_until(const TidingsWindow *window, double moment_s)
{
    double own_s = moment_s - window->offset.s, left_s = own_s - now_s(window);
    double spin_s = fmax(window->options.spin_s, 0);
    if (left_s > 2 * BATCH * LARGEST_WIDTH_S)
        return INFINITY;
    while ((left_s = own_s - now_s(window)) > spin_s)
        sleep_for(left_s - spin_s);
    while (now_s(window) < own_s) {
    }
    return now_s(window) - own_s;
}

/* All ranks agree on the first start of a batch: in a width, by rank 0's clock. */
static void agree_on_start(TidingsWindow *window)
{
    double start_s = now_s(window) + window->report.width_s;
    MPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, window->comm);
    window->first_start_s = start_s;
}

static void begin_batch(TidingsWindow *window, int repetitions)
{
    window->batch = repetitions;
    window->at = 0;
    if (window->warming)
        MPI_Barrier(window->comm);
    else
        agree_on_start(window);
}

void tidings_window_begin(TidingsWindow *window, const char *function, double size,
                          long repetitions)
{
    snprintf(window->function, sizeof window->function, "%s", function);
    window->size = size;
    window->wanted = repetitions;
    window->attempts = 0;
    window->report = (TidingsWindowReport){ .width_s = LEAST_WIDTH_S };
    window->warming = true;
    window->open = false;
    window->stretch = 1;
    synchronise(window);
    int warmups = window->options.warmups;
    begin_batch(window, warmups < BATCH ? warmups : BATCH);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sets the width by the median of a batch: a disturbed repetition takes arbitrarily long,
 * and invalidates only the next. If many are invalid all the same, the width doubles for good. */
static void set_width(TidingsWindow *window, const double *took_s, bool too_many_late)
{
    double sorted_s[BATCH];
    memcpy(sorted_s, took_s, (size_t)window->batch * sizeof *sorted_s);
    qsort(sorted_s, (size_t)window->batch, sizeof *sorted_s, ascending);
    if (too_many_late)
        window->stretch *= 2;
    double width_s = ROOM * window->stretch * sorted_s[window->batch / 2];
    window->report.width_s = fmin(fmax(width_s, LEAST_WIDTH_S), LARGEST_WIDTH_S);
}

/* Hands on the times of a repetition. */
static void tell(const TidingsWindow *window, double own_s, double longest_s)
{
    const TidingsWindowOptions *options = &window->options;
    if (options->each)
        options->each(options->each_context, own_s, longest_s, window->warming);
    else if (window->rank == 0)
        tidings_scaling_value(window->function, "time", window->size, longest_s, "s");
}

/* Collects a batch: all ranks see the longest durations and delays, rank 0 writes. */
static void take_batch(TidingsWindow *window)
{
    double mine[2 * BATCH], all[2 * BATCH];
    int count = window->batch, late = 0;
    memcpy(mine, window->took_s, (size_t)count * sizeof *mine);
    memcpy(mine + count, window->late_s, (size_t)count * sizeof *mine);
    MPI_Allreduce(mine, all, 2 * count, MPI_DOUBLE, MPI_MAX, window->comm);
    for (int at = 0; at < count && !window->warming; at++) {
        bool spoilt = all[count + at] > window->options.late_s;
        late += spoilt;
        if (spoilt || window->report.measured == window->wanted)
            continue;
        window->report.measured++;
        tell(window, mine[at], all[at]);
    }
    for (int at = 0; at < count && window->warming && window->options.each; at++)
        tell(window, mine[at], all[at]);
    window->report.late += late;
    window->attempts += window->warming ? 0 : count;
    set_width(window, all, 4 * late > count);
}

/* Measures the offsets once more, and the uncertainty from them and their drift. */
static void state_error(TidingsWindow *window)
{
    Offset before = window->offset;
    synchronise(window);
    double error_s = fmax(before.error_s, window->offset.error_s);
    error_s += fabs(window->offset.s - before.s);
    MPI_Allreduce(&error_s, &window->report.start_error_s, 1, MPI_DOUBLE, MPI_MAX, window->comm);
}

/* Whether another batch is to be done; all ranks return the same. */
static bool more(TidingsWindow *window)
{
    long missing = window->wanted - window->report.measured;
    long left = window->wanted * window->options.most_attempts - window->attempts;
    if (missing <= 0 || left <= 0) {
        state_error(window);
        return false;
    }
    window->warming = false;
    begin_batch(window, (int)(missing < BATCH ? missing : BATCH));
    return true;
}

bool tidings_window_next(TidingsWindow *window)
{
    if (window->open) {
        double took_s = now_s(window) - window->began_s;
        window->took_s[window->at++] = took_s > 1e-9 ? took_s : 1e-9;
        if (window->at == window->batch) {
            take_batch(window);
            if (!more(window))
                return window->open = false;
        }
    }
    window->open = true;
    window->late_s[window->at] = 0;
    if (!window->warming) {
        double start_s = window->first_start_s + window->at * window->report.width_s;
        window->late_s[window->at] = wait_until(window, start_s);
    }
    window->began_s = now_s(window);
    return true;
}

/* A rank's place in the tree: 0 is the root, and the children of v are 2 v + 1 and 2 v + 2. */
int tidings_litmus_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int rank, ranks, status = MPI_SUCCESS;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int place = (rank - root + ranks) % ranks;
    if (place > 0) {
        int parent = ((place - 1) / 2 + root) % ranks;
        status = MPI_Recv(buffer, count, type, parent, LITMUS_TAG, comm, MPI_STATUS_IGNORE);
    }
    for (int child = 2 * place + 1; child <= 2 * place + 2 && status == MPI_SUCCESS; child++)
        if (child < ranks)
            status = MPI_Send(buffer, count, type, (child + root) % ranks, LITMUS_TAG, comm);
    return status;
}
