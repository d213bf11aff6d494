/*
 * A one-dimensional Fourier transform over all ranks, in six steps (Bailey, 1990): the vector is a
 * matrix of `rows` by `columns`, each rank has some of its rows, and every index of the transform
 * is k1 + rows * k2.
 *
 *     transpose, transform rows (over j1), twiddle, transpose, transform rows (over j2), transpose
 *
 * A transposition is an all-to-all of tiles that are transposed in place: three of them, as in
 * FFTE, which HPCC has. Source of the error bound: forward and back, the error of an FFT grows as
 * log2 N.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/machine.h"
#include "../machine/stopwatch.h"
#include "../machine/words.h"
#include "exchange.h"
#include "fourier.h"
#include "kernels.h"

/* Coefficients that are compared with sums over the whole vector. */
#define COMPARED 5

typedef struct Fft {
    double log2_elements, repeats, parts, model, flops_per_s; /* options */
    MPI_Comm comm;
    int rank, ranks;
    size_t rows, columns, mine; /* mine: elements of this rank */
    Exchange exchange;
    double complex *vector, *room, *roots;
} Fft;

/* The vector: two noisy digits from the element's number. */
static double complex element(unsigned long long number)
{
    unsigned long long mixed = (number + 1) * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9u;
    mixed ^= mixed >> 32;
    return (double)(mixed & 0xFFFFF) / 0xFFFFF - 0.5 + I * ((double)(mixed >> 44) / 0xFFFFF - 0.5);
}

/* From this rank's rows of a matrix of height by width to its rows of the transposed one. */
static void transpose(Fft *fft, size_t height, size_t width)
{
    size_t ranks = (size_t)fft->ranks, own = height / ranks, tile = width / ranks;
    for (size_t to = 0; to < ranks; to++)
        for (size_t row = 0; row < own; row++)
            for (size_t column = 0; column < tile; column++)
                fft->room[(to * tile + column) * own + row] =
                    fft->vector[row * width + to * tile + column];
    exchange_blocks(&fft->exchange, fft->room);
    for (size_t from = 0; from < ranks; from++)
        for (size_t row = 0; row < tile; row++)
            memcpy(&fft->vector[row * height + from * own],
                   &fft->room[(from * tile + row) * own], own * sizeof *fft->room);
}

static void transform_rows(Fft *fft, size_t length)
{
    fourier_roots(fft->roots, length);
    for (size_t begin = 0; begin < fft->mine; begin += length)
        fourier_row(fft->vector + begin, length, fft->roots);
}

static void twiddle(Fft *fft)
{
    size_t first = fft->mine / fft->rows * (size_t)fft->rank, all = fft->rows * fft->columns;
    for (size_t at = 0; at < fft->mine; at++)
        fft->vector[at] *= fourier_root((first + at / fft->rows) * (at % fft->rows), all);
}

static void transform(Fft *fft)
{
    transpose(fft, fft->rows, fft->columns);
    transform_rows(fft, fft->rows);
    twiddle(fft);
    transpose(fft, fft->columns, fft->rows);
    transform_rows(fft, fft->columns);
    transpose(fft, fft->rows, fft->columns);
}

/* The same three all-to-alls, with the time of the flops between them. */
static void transform_model(Fft *fft)
{
    double elements = ldexp(1, (int)fft->log2_elements);
    double flops = 5 * elements * fft->log2_elements / fft->ranks;
    exchange_model(&fft->exchange);
    machine_work(flops / 2 / fft->flops_per_s);
    exchange_model(&fft->exchange);
    machine_work(flops / 2 / fft->flops_per_s);
    exchange_model(&fft->exchange);
}

static void fill(Fft *fft)
{
    for (size_t at = 0; at < fft->mine; at++)
        fft->vector[at] = element((unsigned long long)fft->rank * fft->mine + at);
}

/* The greatest error of some coefficients, compared with the definition. */
static double direct_error(Fft *fft)
{
    size_t all = fft->rows * fft->columns;
    double error = 0;
    for (size_t at = 0; at < COMPARED; at++) {
        size_t k = (all - 1) * at / (COMPARED - 1);
        double complex sum = 0, total;
        for (size_t j = 0; j < fft->mine; j++) {
            size_t number = (size_t)fft->rank * fft->mine + j;
            sum += element(number) * fourier_root(number * k % all, all);
        }
        MPI_Allreduce(&sum, &total, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, fft->comm);
        if (k / fft->mine == (size_t)fft->rank)
            error = fmax(error, cabs(fft->vector[k % fft->mine] - total));
    }
    return error;
}

/* The greatest error after the inverse: the transform of the conjugate, conjugated, over N. */
static double inverse_error(Fft *fft)
{
    double error = 0, all = (double)fft->rows * (double)fft->columns;
    for (size_t at = 0; at < fft->mine; at++)
        fft->vector[at] = conj(fft->vector[at]);
    transform(fft);
    for (size_t at = 0; at < fft->mine; at++) {
        size_t number = (size_t)fft->rank * fft->mine + at;
        error = fmax(error, cabs(conj(fft->vector[at]) / all - element(number)));
    }
    return error;
}

static void read_words(Fft *fft, int count, char **words, WordList *list, char *why, int bytes)
{
    const Word table[] = {
        { "log2", &fft->log2_elements, 2, 48, true, "the vector has 2^N elements" },
        { "repeats", &fft->repeats, 1, 1e6, true, "transforms that are timed" },
        { "parts", &fft->parts, 1, EXCHANGE_DIMENSIONS, true,
          "of a block, that go along the rings in different order" },
        { "model", &fft->model, 1, 0, false, "sizes only, work by --flops-per-s (simulated)" },
        { "flops-per-s", &fft->flops_per_s, 1e6, 1e15, false, "of a rank, with --model" },
    };
    const int options = sizeof table / sizeof *table;
    if (count > 1 && strcmp(words[1], "--help") == 0) {
        if (fft->rank == 0)
            words_usage(table, options, list);
        snprintf(why, (size_t)bytes, " ");
        return;
    }
    words_read(count, words, table, options, list, why, bytes);
    if (!*why && fft->model && !machine_simulated())
        snprintf(why, (size_t)bytes, "--model is for simulated machines");
}

/* Divides the vector; wrong sizes leave a message in `why`. */
static void cut(Fft *fft, char *why, int bytes)
{
    int bits = (int)fft->log2_elements;
    fft->rows = (size_t)1 << (bits / 2);
    fft->columns = (size_t)1 << (bits - bits / 2);
    if (fft->ranks & (fft->ranks - 1))
        snprintf(why, (size_t)bytes, "%d ranks: the FFT needs a power of two", fft->ranks);
    else if (fft->rows < (size_t)fft->ranks)
        snprintf(why, (size_t)bytes, "--log2 %d is too small for %d ranks", bits, fft->ranks);
    else if (!fft->model && bits > 32)
        snprintf(why, (size_t)bytes, "--log2 %d is only for --model; up to 32 without", bits);
    fft->mine = fft->rows * fft->columns / (size_t)fft->ranks;
}

/* Whether there is room, on all ranks. */
static bool make_room(Fft *fft)
{
    int mine, all;
    fft->vector = malloc(fft->mine * sizeof *fft->vector);
    fft->room = malloc(fft->mine * sizeof *fft->room);
    fft->roots = malloc(fft->columns * sizeof *fft->roots);
    mine = fft->vector && fft->room && fft->roots;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, fft->comm);
    return all != 0;
}

static int run(Fft *fft)
{
    double seconds, longest_s, mpi_s, errors[2] = { 0, 0 }, worst[2];
    if (!fft->model)
        fill(fft);
    MPI_Barrier(fft->comm);
    double began_s = MPI_Wtime();
    for (int repeat = 0; repeat < (int)fft->repeats; repeat++) {
        if (!fft->model && repeat > 0)
            fill(fft);
        fft->model ? transform_model(fft) : transform(fft);
    }
    seconds = MPI_Wtime() - began_s;
    double own_mpi_s = fft->exchange.mpi_s;
    MPI_Reduce(&seconds, &longest_s, 1, MPI_DOUBLE, MPI_MAX, 0, fft->comm);
    MPI_Reduce(&own_mpi_s, &mpi_s, 1, MPI_DOUBLE, MPI_SUM, 0, fft->comm);
    if (!fft->model) {
        errors[0] = direct_error(fft);
        errors[1] = inverse_error(fft);
    }
    MPI_Allreduce(errors, worst, 2, MPI_DOUBLE, MPI_MAX, fft->comm);
    /* A coefficient is a sum of N terms, so its error may be that of N terms. */
    double bound = 1e-14 * fft->log2_elements;
    bool right = worst[0] <= bound * sqrt(ldexp(1, (int)fft->log2_elements)) * 10 &&
                 worst[1] <= bound;
    if (fft->rank == 0) {
        mpi_s /= fft->ranks;
        printf("{\"application\":\"fft\",\"ranks\":%d,\"elements\":%.0f,\"repeats\":%.0f,"
               "\"exchange\":\"%s\",\"parts\":%d,\"model\":%s,\"seconds\":%.9g,"
               "\"mpi_seconds\":%.9g,\"mpi_share\":%.6f,\"error_direct\":%.3g,"
               "\"error_inverse\":%.3g,\"right\":%s}\n",
               fft->ranks, ldexp(1, (int)fft->log2_elements), fft->repeats,
               fft->exchange.dimensions > 0 ? "rings" : "library", fft->exchange.parts,
               fft->model ? "true" : "false",
               longest_s, mpi_s, mpi_s / longest_s, worst[0], worst[1],
               fft->model ? "null" : right ? "true" : "false");
        fflush(stdout);
    }
    return right || fft->model ? 0 : 1;
}

int fft_main(MPI_Comm comm, int count, char **words)
{
    Fft fft = { .log2_elements = 16, .repeats = 1, .parts = 8, .flops_per_s = 10e9, .comm = comm };
    char why[200] = "";
    int shape[EXCHANGE_DIMENSIONS], dimensions = 0, status = 2;
    WordList list = { "shape", shape, &dimensions, EXCHANGE_DIMENSIONS,
                      "exchange along the rings of this torus, not by MPI_Alltoall" };
    MPI_Comm_rank(comm, &fft.rank);
    MPI_Comm_size(comm, &fft.ranks);
    read_words(&fft, count, words, &list, why, sizeof why);
    if (strcmp(why, " ") == 0)
        return 0;
    if (!*why)
        cut(&fft, why, sizeof why);
    size_t block = *why ? 0 : fft.mine / (size_t)fft.ranks;
    if (!*why && exchange_open(&fft.exchange, comm, dimensions, shape, (int)fft.parts, block,
                               fft.model != 0, why, sizeof why)) {
        if (fft.model || make_room(&fft))
            status = run(&fft);
        else
            snprintf(why, sizeof why, "no memory for %zu elements on a rank", fft.mine);
        exchange_close(&fft.exchange);
    }
    if (*why && fft.rank == 0)
        fprintf(stderr, "fft: %s\n", why);
    free(fft.vector);
    free(fft.room);
    free(fft.roots);
    return status;
}
