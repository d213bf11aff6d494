/*
 * tidings-mpi-collectives: how long the collective operations of an MPI take on this many ranks,
 * and the litmus test beside them, appended to a file for tidings-scaling. Table 2 of Shudler et
 * al., ICS 2015.
 *
 * Every operation moves the same bytes between two ranks: Gather, Allgather and Alltoall that many
 * from each rank to each that gets them. Operations are started in a common window.
 *
 * Exit status: 0 when done, 1 if not all could be measured, 2 for a wrong command line.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/long_options.h"
#include "tidings_scaling.h"
#include "tidings_scaling_mpi.h"

static const char USAGE[] =
    "usage: mpirun -n RANKS tidings-mpi-collectives [OPTIONS]\n\n"
    "  --file FILE        where measurements are appended (default scaling.jsonl)\n"
    "  --run NAME         the name of this run (default: made of time and process)\n"
    "  --repetitions N    of each operation (default 400)\n"
    "  --warmups N        of each operation first (default 4)\n"
    "  --bytes N          of a message, a multiple of 8 (default 128)\n"
    "  --late SECONDS     by how much a rank may miss a start (default 0.000005)\n"
    "  --sleep            wait for starts only by sleep, if there are more ranks than processors\n"
    "  --virtual          time is virtual: one clock, which advances only in sleep\n"
    "  --only NAME        only this operation; repeat the option for more\n"
    "  --help             this text\n";

typedef struct Study {
    const char *file, *run;
    unsigned only; /* a bit for each operation; 0: all */
    double repetitions, bytes;
    TidingsWindowOptions window;
    bool help;
    char wrong[160];
} Study;

/* The data of the operations: `each` has room for a message of every rank. */
typedef struct Buffers {
    int rank, ranks, words;
    double *one, *sum, *each, *to_each;
} Buffers;

typedef void (*Operation)(Buffers *);

static void barrier(Buffers *b)
{
    (void)b;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(Buffers *b)
{
    MPI_Bcast(b->one, b->words, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void reduce(Buffers *b)
{
    MPI_Reduce(b->one, b->sum, b->words, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(Buffers *b)
{
    MPI_Allreduce(b->one, b->sum, b->words, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(Buffers *b)
{
    MPI_Gather(b->one, b->words, MPI_DOUBLE, b->each, b->words, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void allgather(Buffers *b)
{
    MPI_Allgather(b->one, b->words, MPI_DOUBLE, b->each, b->words, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void alltoall(Buffers *b)
{
    MPI_Alltoall(b->to_each, b->words, MPI_DOUBLE, b->each, b->words, MPI_DOUBLE, MPI_COMM_WORLD);
}

/* The broadcast of the guideline Allgather <= Gather + Bcast: of all that was gathered. */
static void bcast_all(Buffers *b)
{
    MPI_Bcast(b->each, b->words * b->ranks, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void litmus(Buffers *b)
{
    tidings_litmus_bcast(b->one, b->words, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    Operation run;
} OPERATIONS[] = {
    { "barrier", barrier },     { "bcast", bcast },         { "reduce", reduce },
    { "allreduce", allreduce }, { "gather", gather },       { "allgather", allgather },
    { "alltoall", alltoall },   { "bcast_all", bcast_all }, { "bcast_tree", litmus },
};
#define OPERATION_COUNT ((int)(sizeof OPERATIONS / sizeof *OPERATIONS))

/* The index of an operation, or -1. */
static int place_of(const char *name)
{
    for (int at = 0; at < OPERATION_COUNT; at++)
        if (strcmp(OPERATIONS[at].name, name) == 0)
            return at;
    return -1;
}

static bool number(const char *text, double least, double most, double *value)
{
    char *rest;
    *value = strtod(text, &rest);
    return rest != text && *rest == 0 && *value >= least && *value <= most;
}

/* Handles one option; false if its value is wrong. */
static bool option(void *into, int letter, const char *text)
{
    Study *study = into;
    switch (letter) {
    case 'f': study->file = text; return *text != 0;
    case 'r': study->run = text; return *text != 0;
    case 'n': return number(text, 1, 1e6, &study->repetitions);
    case 'w': {
        double warmups;
        bool fits = number(text, 1, 1000, &warmups);
        study->window.warmups = (int)warmups;
        return fits;
    }
    case 'b': return number(text, 8, 1 << 20, &study->bytes) && (int)study->bytes % 8 == 0;
    case 'l': return number(text, 1e-9, 10, &study->window.late_s);
    case 'v': study->window.one_clock = true; /* fall through */
    case 's': study->window.spin_s = -1; return true;
    case 'o':
        if (place_of(text) < 0)
            return false;
        study->only |= 1u << place_of(text);
        return true;
    default: study->help = true; return true;
    }
}

static Study study_read(int count, char **words)
{
    static const struct option NAMES[] = {
        { "file", required_argument, NULL, 'f' },  { "run", required_argument, NULL, 'r' },
        { "repetitions", required_argument, NULL, 'n' },
        { "warmups", required_argument, NULL, 'w' },
        { "bytes", required_argument, NULL, 'b' }, { "late", required_argument, NULL, 'l' },
        { "sleep", no_argument, NULL, 's' },       { "virtual", no_argument, NULL, 'v' },
        { "only", required_argument, NULL, 'o' },
        { "help", no_argument, NULL, 'h' },        { NULL, 0, NULL, 0 },
    };
    Study study = { .repetitions = 400, .bytes = 128 };
    long_options_read(count, words, NAMES, option, &study, study.wrong, sizeof study.wrong);
    return study;
}

static double *room(long words)
{
    double *there = calloc((size_t)words, sizeof *there);
    if (!there) {
        fprintf(stderr, "tidings-mpi-collectives: no memory for %ld words\n", words);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return there;
}

/* Measures one operation; false if not all repetitions were on time. */
static bool measure(TidingsWindow *window, const Study *study, int at, Buffers *buffers)
{
    const char *name = OPERATIONS[at].name;
    Operation run = OPERATIONS[at].run;
    long wanted = (long)study->repetitions;
    TIDINGS_SCALING_TOGETHER(window, name, buffers->ranks, wanted) {
        run(buffers);
    }
    TidingsWindowReport report = tidings_window_report(window);
    if (buffers->rank == 0)
        printf("{\"function\":\"%s\",\"ranks\":%d,\"measured\":%ld,\"late\":%ld,\"width_s\":%g,"
               "\"start_error_s\":%.3g}\n",
               name, buffers->ranks, report.measured, report.late, report.width_s,
               report.start_error_s);
    return report.measured == wanted;
}

static bool measure_all(const Study *study)
{
    bool complete = true;
    Buffers buffers = { .words = (int)study->bytes / 8 };
    MPI_Comm_rank(MPI_COMM_WORLD, &buffers.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &buffers.ranks);
    long every = (long)buffers.words * buffers.ranks;
    buffers.one = room(buffers.words);
    buffers.sum = room(buffers.words);
    buffers.each = room(every);
    buffers.to_each = room(every);
    TidingsWindow *window = tidings_window_open(MPI_COMM_WORLD, &study->window);
    for (int at = 0; at < OPERATION_COUNT; at++)
        if (!study->only || study->only >> at & 1)
            complete = measure(window, study, at, &buffers) && complete;
    tidings_window_close(window);
    free(buffers.one);
    free(buffers.sum);
    free(buffers.each);
    free(buffers.to_each);
    return complete;
}

/* Opens the file on rank 0, measures, and broadcasts whether all was written. */
static int run(const Study *study, int rank)
{
    int usable = rank != 0 || tidings_scaling_open(study->file, "p", study->run);
    MPI_Bcast(&usable, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int complete = usable && measure_all(study);
    if (rank == 0 && usable)
        usable = tidings_scaling_close();
    if (rank == 0 && !usable)
        fprintf(stderr, "tidings-mpi-collectives: %s\n", tidings_scaling_fault());
    if (rank == 0 && usable && !complete)
        fprintf(stderr, "tidings-mpi-collectives: too many starts were late: raise --late\n");
    int good = usable && complete;
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return good ? 0 : 1;
}

int main(int count, char **words)
{
    int rank, status = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Study study = study_read(count, words);
    if (study.wrong[0]) {
        if (rank == 0)
            fprintf(stderr, "tidings-mpi-collectives: %s; see --help\n", study.wrong);
        status = 2;
    } else if (study.help) {
        if (rank == 0)
            fputs(USAGE, stdout);
    } else {
        status = run(&study, rank);
    }
    MPI_Finalize();
    return status;
}
