/*
 * C = A^T + A of a square matrix in blocks, distributed to a grid of P by Q ranks as in HPCC: block
 * (I, J) lies on rank (I mod P, J mod Q), so the block that it meets lies on (J mod P, I mod Q).
 *
 * With g the greatest common divisor of P and Q, rank (p, q) meets the ranks (p', q') with p' = q
 * and q' = p modulo g: (P/g)(Q/g) partners, and it meets none besides. The relation is symmetric.
 * In step s the m-th rank of a class meets the one whose number is s - m, which meets it in the
 * same step; they swap by MPI_Sendrecv.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/machine.h"
#include "../machine/stopwatch.h"
#include "../machine/words.h"
#include "kernels.h"

/* Matrices are packed into messages of at most this. */
#define MESSAGE_BYTES ((size_t)1 << 26)

typedef struct Ptrans {
    double size, block, repeats, model, bytes_per_s; /* options */
    MPI_Comm comm;
    int rank, ranks;
    int grid[2], at[2]; /* P and Q; p and q */
    int divisor;        /* of P and Q, the greatest */
    int edge, blocks;   /* elements along a block, blocks along the matrix */
    double *a, *c, *packed, *unpacked;
    void *shared;
    double mpi_s;
} Ptrans;

/* The matrix: each element has a number of its own, exactly. */
static double element(const Ptrans *ptrans, long long row, long long column)
{
    return (double)(row * (long long)ptrans->size + column);
}

static int divisor_of(int a, int b)
{
    return b == 0 ? a : divisor_of(b, a % b);
}

/* How many of 0..blocks-1 are at place `at` when distributed to `of`. */
static int dealt(const Ptrans *ptrans, int at, int of)
{
    return (ptrans->blocks - at + of - 1) / of;
}

/* Where block (I, J) of this rank begins in a and c. */
static size_t place(const Ptrans *ptrans, int row, int column)
{
    int width = dealt(ptrans, ptrans->at[1], ptrans->grid[1]);
    size_t number = (size_t)(row / ptrans->grid[0]) * (size_t)width +
                    (size_t)(column / ptrans->grid[1]);
    return number * (size_t)ptrans->edge * (size_t)ptrans->edge;
}

/* The partner of a step: its place in the grid. */
static void partner_of(const Ptrans *ptrans, int step, int partner[2])
{
    int high = ptrans->grid[0] / ptrans->divisor, wide = ptrans->grid[1] / ptrans->divisor;
    int mine = ptrans->at[0] / ptrans->divisor * wide + ptrans->at[1] / ptrans->divisor;
    int its = ((step - mine) % (high * wide) + high * wide) % (high * wide);
    partner[0] = its / wide * ptrans->divisor + ptrans->at[1] % ptrans->divisor;
    partner[1] = its % wide * ptrans->divisor + ptrans->at[0] % ptrans->divisor;
}

/* Whether block (I, J) goes from one place of the grid to the other. */
static bool goes(const Ptrans *ptrans, const int from[2], const int to[2], int row, int column)
{
    return row % ptrans->grid[0] == from[0] && column % ptrans->grid[1] == from[1] &&
           column % ptrans->grid[0] == to[0] && row % ptrans->grid[1] == to[1];
}

/* Packs what goes from this rank to the partner; returns how many elements that are. */
static size_t pack(const Ptrans *ptrans, const int to[2])
{
    size_t count = 0, one = (size_t)ptrans->edge * (size_t)ptrans->edge;
    for (int row = ptrans->at[0]; row < ptrans->blocks; row += ptrans->grid[0])
        for (int column = ptrans->at[1]; column < ptrans->blocks; column += ptrans->grid[1])
            if (goes(ptrans, ptrans->at, to, row, column)) {
                memcpy(ptrans->packed + count, ptrans->a + place(ptrans, row, column),
                       one * sizeof *ptrans->a);
                count += one;
            }
    return count;
}

static void add_turned(double *into, const double *block, const double *turned, int edge)
{
    for (int row = 0; row < edge; row++)
        for (int column = 0; column < edge; column++)
            into[row * edge + column] = block[row * edge + column] + turned[column * edge + row];
}

/* Adds the partner's elements, transposed, to the own blocks. */
static void unpack(const Ptrans *ptrans, const int from[2], const double *packed)
{
    size_t one = (size_t)ptrans->edge * (size_t)ptrans->edge;
    for (int row = from[0]; row < ptrans->blocks; row += ptrans->grid[0])
        for (int column = from[1]; column < ptrans->blocks; column += ptrans->grid[1])
            if (goes(ptrans, from, ptrans->at, row, column)) {
                size_t own = place(ptrans, column, row);
                add_turned(ptrans->c + own, ptrans->a + own, packed, ptrans->edge);
                packed += one;
            }
}

/* Swaps this many elements with a rank, in messages of a bounded size. */
static void swap(Ptrans *ptrans, int partner, size_t elements)
{
    size_t most = MESSAGE_BYTES / sizeof(double);
    for (size_t done = 0; done < elements; done += most) {
        int count = (int)(elements - done < most ? elements - done : most);
        double *out = ptrans->model ? ptrans->shared : ptrans->packed + done;
        double *in = ptrans->model ? ptrans->shared : ptrans->unpacked + done;
        STOPWATCH(&ptrans->mpi_s,
                  MPI_Sendrecv(out, count, MPI_DOUBLE, partner, 0, in, count, MPI_DOUBLE, partner,
                               0, ptrans->comm, MPI_STATUS_IGNORE));
    }
}

static int steps(const Ptrans *ptrans)
{
    return ptrans->grid[0] / ptrans->divisor * (ptrans->grid[1] / ptrans->divisor);
}

static void transpose(Ptrans *ptrans)
{
    for (int step = 0; step < steps(ptrans); step++) {
        int partner[2];
        partner_of(ptrans, step, partner);
        int rank = partner[0] * ptrans->grid[1] + partner[1];
        size_t elements = pack(ptrans, partner);
        if (rank != ptrans->rank)
            swap(ptrans, rank, elements);
        unpack(ptrans, partner, rank == ptrans->rank ? ptrans->packed : ptrans->unpacked);
    }
}

/* The same messages, each of an even share, and the time of reading and writing all of it twice. */
static void transpose_model(Ptrans *ptrans)
{
    double elements = ptrans->size * ptrans->size / ptrans->ranks / steps(ptrans);
    double pass_s = elements * sizeof(double) / ptrans->bytes_per_s;
    for (int step = 0; step < steps(ptrans); step++) {
        int partner[2];
        partner_of(ptrans, step, partner);
        int rank = partner[0] * ptrans->grid[1] + partner[1];
        machine_work(pass_s);
        if (rank != ptrans->rank)
            swap(ptrans, rank, (size_t)elements);
        machine_work(pass_s);
    }
}

/* Fills A, or counts the elements of C that are wrong. */
static long long each_element(Ptrans *ptrans, bool fill)
{
    long long wrong = 0, edge = ptrans->edge;
    for (int row = ptrans->at[0]; row < ptrans->blocks; row += ptrans->grid[0])
        for (int column = ptrans->at[1]; column < ptrans->blocks; column += ptrans->grid[1])
            for (long long at = 0; at < edge * edge; at++) {
                long long i = row * edge + at / edge, j = column * edge + at % edge;
                size_t own = place(ptrans, row, column) + (size_t)at;
                if (fill)
                    ptrans->a[own] = element(ptrans, i, j);
                else
                    wrong += ptrans->c[own] != element(ptrans, i, j) + element(ptrans, j, i);
            }
    return wrong;
}

static void read_words(Ptrans *ptrans, int count, char **words, WordList *list, char *why,
                       int bytes)
{
    const Word table[] = {
        { "size", &ptrans->size, 1, 1 << 26, true, "the matrix has N by N elements" },
        { "block", &ptrans->block, 1, 1 << 16, true, "and blocks of B by B" },
        { "repeats", &ptrans->repeats, 1, 1e6, true, "transpositions that are timed" },
        { "model", &ptrans->model, 1, 0, false, "sizes only, work by --bytes-per-s (simulated)" },
        { "bytes-per-s", &ptrans->bytes_per_s, 1e6, 1e15, false,
          "of a rank's memory, with --model" },
    };
    const int options = sizeof table / sizeof *table;
    if (count > 1 && strcmp(words[1], "--help") == 0) {
        if (ptrans->rank == 0)
            words_usage(table, options, list);
        snprintf(why, (size_t)bytes, " ");
        return;
    }
    words_read(count, words, table, options, list, why, bytes);
    if (!*why && ptrans->model && !machine_simulated())
        snprintf(why, (size_t)bytes, "--model is for simulated machines");
}

/* Distributes the matrix; wrong sizes leave a message in `why`. */
static void deal(Ptrans *ptrans, int listed, char *why, int bytes)
{
    if (listed == 0) {
        ptrans->grid[0] = ptrans->grid[1] = 0;
        MPI_Dims_create(ptrans->ranks, 2, ptrans->grid);
    }
    ptrans->edge = (int)ptrans->block;
    ptrans->blocks = (int)(ptrans->size / ptrans->block);
    if (listed != 0 && listed != 2)
        snprintf(why, (size_t)bytes, "--grid needs two numbers, P,Q");
    else if ((long long)ptrans->grid[0] * ptrans->grid[1] != ptrans->ranks)
        snprintf(why, (size_t)bytes, "--grid %d,%d does not have %d ranks", ptrans->grid[0],
                 ptrans->grid[1], ptrans->ranks);
    else if ((double)ptrans->blocks * ptrans->block != ptrans->size)
        snprintf(why, (size_t)bytes, "--size %.0f is not a multiple of --block %.0f", ptrans->size,
                 ptrans->block);
    else if (ptrans->size > 1 << 16 && !ptrans->model)
        snprintf(why, (size_t)bytes, "--size above 65536 is only for --model");
    if (*why)
        return;
    ptrans->divisor = divisor_of(ptrans->grid[0], ptrans->grid[1]);
    ptrans->at[0] = ptrans->rank / ptrans->grid[1];
    ptrans->at[1] = ptrans->rank % ptrans->grid[1];
}

/* Whether there is room, on all ranks. */
static bool make_room(Ptrans *ptrans)
{
    size_t elements = (size_t)ptrans->edge * (size_t)ptrans->edge *
                      (size_t)dealt(ptrans, ptrans->at[0], ptrans->grid[0]) *
                      (size_t)dealt(ptrans, ptrans->at[1], ptrans->grid[1]) + 1;
    int mine, all;
    if (ptrans->model) {
        ptrans->shared = machine_shared(MESSAGE_BYTES);
        mine = ptrans->shared != NULL;
    } else {
        ptrans->a = malloc(elements * sizeof *ptrans->a);
        ptrans->c = malloc(elements * sizeof *ptrans->c);
        ptrans->packed = malloc(elements * sizeof *ptrans->packed);
        ptrans->unpacked = malloc(elements * sizeof *ptrans->unpacked);
        mine = ptrans->a && ptrans->c && ptrans->packed && ptrans->unpacked;
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, ptrans->comm);
    return all != 0;
}

static int run(Ptrans *ptrans)
{
    long long wrong = 0, all_wrong;
    double mpi_s, longest_s;
    if (!ptrans->model)
        each_element(ptrans, true);
    MPI_Barrier(ptrans->comm);
    double began_s = MPI_Wtime();
    for (int repeat = 0; repeat < (int)ptrans->repeats; repeat++)
        ptrans->model ? transpose_model(ptrans) : transpose(ptrans);
    double seconds = MPI_Wtime() - began_s;
    if (!ptrans->model)
        wrong = each_element(ptrans, false);
    MPI_Reduce(&seconds, &longest_s, 1, MPI_DOUBLE, MPI_MAX, 0, ptrans->comm);
    MPI_Reduce(&ptrans->mpi_s, &mpi_s, 1, MPI_DOUBLE, MPI_SUM, 0, ptrans->comm);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG_LONG, MPI_SUM, ptrans->comm);
    if (ptrans->rank == 0) {
        mpi_s /= ptrans->ranks;
        printf("{\"application\":\"ptrans\",\"ranks\":%d,\"size\":%.0f,\"block\":%.0f,"
               "\"grid\":[%d,%d],\"repeats\":%.0f,\"model\":%s,\"seconds\":%.9g,"
               "\"mpi_seconds\":%.9g,\"mpi_share\":%.6f,\"gb_per_s\":%.6g,\"wrong_elements\":%lld,"
               "\"right\":%s}\n",
               ptrans->ranks, ptrans->size, ptrans->block, ptrans->grid[0], ptrans->grid[1],
               ptrans->repeats, ptrans->model ? "true" : "false", longest_s, mpi_s,
               mpi_s / longest_s,
               ptrans->size * ptrans->size * sizeof(double) * ptrans->repeats / longest_s / 1e9,
               all_wrong, ptrans->model ? "null" : all_wrong == 0 ? "true" : "false");
        fflush(stdout);
    }
    return all_wrong == 0 ? 0 : 1;
}

int ptrans_main(MPI_Comm comm, int count, char **words)
{
    Ptrans ptrans = { .size = 1024, .block = 32, .repeats = 1, .bytes_per_s = 20e9, .comm = comm };
    char why[200] = "";
    int listed = 0, status = 2;
    WordList list = { "grid", ptrans.grid, &listed, 2, "P,Q ranks (default: nearly square)" };
    MPI_Comm_rank(comm, &ptrans.rank);
    MPI_Comm_size(comm, &ptrans.ranks);
    read_words(&ptrans, count, words, &list, why, sizeof why);
    if (strcmp(why, " ") == 0)
        return 0;
    if (!*why)
        deal(&ptrans, listed, why, sizeof why);
    if (!*why) {
        if (make_room(&ptrans))
            status = run(&ptrans);
        else
            snprintf(why, sizeof why, "no memory for a matrix of %.0f", ptrans.size);
    }
    if (*why && ptrans.rank == 0)
        fprintf(stderr, "ptrans: %s\n", why);
    free(ptrans.a);
    free(ptrans.c);
    free(ptrans.packed);
    free(ptrans.unpacked);
    if (ptrans.shared)
        machine_free(ptrans.shared);
    return status;
}
