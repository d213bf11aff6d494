/* Multiplies matrices with MPI and BLAS, by SUMMA: what a program without a runtime does.
 *
 *     mpirun -n RANKS summa multiply SIZE BLOCK ROUNDS [FILE]
 *     mpirun -n RANKS summa alone SIZE BLOCK ROUNDS
 *
 * Ranks are a grid, and each has the same share of A, B and C. In each step a block's width of A
 * goes along the rows of the grid, as much of B along its columns, and each rank adds their product
 * to its part of C; meanwhile what the next step needs is on its way. Printed are the seconds of
 * each round, and the product is written to FILE. `alone` multiplies as much in such steps, but
 * sends nothing, and prints the seconds of each rank, and those of its processor.
 *
 * BLAS is the OpenBLAS of NumPy's wheels, by the names it has there: so both programs of the study
 * multiply by the same instructions. The matrices are those of matrices.py.
 *
 * Source: R. van de Geijn, J. Watts, SUMMA: scalable universal matrix multiplication algorithm,
 * Concurrency: Practice and Experience 9 (4), 1997.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, SLOTS = 2, LARGE_PAGE = 2 << 20 };

void scipy_cblas_dgemm64_(int order, int left, int right, int64_t m, int64_t n, int64_t k,
                          double alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                          double beta, double *c, int64_t ldc);

/* A rank's place in the grid, and its parts: A by block columns, so that each is one piece. */
struct part {
    MPI_Comm grid, along_row, along_column;
    int dims[2], place[2];
    int64_t size, block, rows, columns, a_columns, b_rows;
    double *a, *b, *c;
    double *a_passing[SLOTS], *b_passing[SLOTS];
};

static void fail(const char *why) {
    fprintf(stderr, "summa: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

/* Zeros, in large pages where there are some: as both programs of the study have them. */
static double *doubles(int64_t count) {
    size_t bytes = (count * sizeof(double) + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    double *made = aligned_alloc(LARGE_PAGE, bytes);
    if (made == NULL)
        fail("no memory for the matrices: take a smaller size");
    madvise(made, bytes, MADV_HUGEPAGE);
    memset(made, 0, bytes);
    return made;
}

static double element(uint32_t seed, int64_t size, int64_t row, int64_t column) {
    uint32_t x = (uint32_t)(row * size + column) + seed * 0x9e3779b9u;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x / 4294967296.0 - 0.5;
}

static void fill(struct part *p) {
    for (int64_t panel = 0; panel < p->a_columns / p->block; panel++)
        for (int64_t i = 0; i < p->rows; i++)
            for (int64_t j = 0; j < p->block; j++)
                p->a[(panel * p->rows + i) * p->block + j] =
                    element(1, p->size, p->place[0] * p->rows + i,
                            p->place[1] * p->a_columns + panel * p->block + j);
    for (int64_t i = 0; i < p->b_rows; i++)
        for (int64_t j = 0; j < p->columns; j++)
            p->b[i * p->columns + j] = element(2, p->size, p->place[0] * p->b_rows + i,
                                               p->place[1] * p->columns + j);
}

static struct part prepared(int64_t size, int64_t block) {
    struct part p = {.size = size, .block = block};
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, p.dims);
    if (size < 1 || block < 1 || size % (p.dims[0] * block) || size % (p.dims[1] * block))
        fail("SIZE must be a multiple of BLOCK times the rows, and times the columns of the grid");
    MPI_Cart_create(MPI_COMM_WORLD, 2, p.dims, (int[]){0, 0}, 0, &p.grid);
    int rank;
    MPI_Comm_rank(p.grid, &rank);
    MPI_Cart_coords(p.grid, rank, 2, p.place);
    MPI_Cart_sub(p.grid, (int[]){0, 1}, &p.along_row);
    MPI_Cart_sub(p.grid, (int[]){1, 0}, &p.along_column);
    p.rows = p.b_rows = size / p.dims[0];
    p.columns = p.a_columns = size / p.dims[1];
    p.a = doubles(p.rows * p.a_columns);
    p.b = doubles(p.b_rows * p.columns);
    p.c = doubles(p.rows * p.columns);
    for (int slot = 0; slot < SLOTS; slot++) {
        p.a_passing[slot] = doubles(p.rows * block);
        p.b_passing[slot] = doubles(block * p.columns);
    }
    fill(&p);
    return p;
}

static void finished(struct part *p) {
    for (int slot = 0; slot < SLOTS; slot++) {
        free(p->a_passing[slot]);
        free(p->b_passing[slot]);
    }
    free(p->a);
    free(p->b);
    free(p->c);
    MPI_Comm_free(&p->along_row);
    MPI_Comm_free(&p->along_column);
    MPI_Comm_free(&p->grid);
}

/* Begins to send what a step needs; who has it multiplies from where it lies. */
static void begin(struct part *p, int64_t step, const double **a, const double **b,
                  MPI_Request *under_way) {
    int a_owner = step * p->block / p->a_columns, b_owner = step * p->block / p->b_rows;
    int64_t a_own = step * p->block - a_owner * p->a_columns;
    int64_t b_own = step * p->block - b_owner * p->b_rows;
    double *left = a_owner == p->place[1] ? p->a + a_own * p->rows : p->a_passing[step % SLOTS];
    double *right =
        b_owner == p->place[0] ? p->b + b_own * p->columns : p->b_passing[step % SLOTS];
    MPI_Ibcast(left, p->rows * p->block, MPI_DOUBLE, a_owner, p->along_row, &under_way[0]);
    MPI_Ibcast(right, p->block * p->columns, MPI_DOUBLE, b_owner, p->along_column, &under_way[1]);
    *a = left;
    *b = right;
}

static void add_product(struct part *p, const double *a, const double *b) {
    scipy_cblas_dgemm64_(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, p->rows, p->columns, p->block, 1.0,
                         a, p->block, b, p->columns, 1.0, p->c, p->columns);
}

static void multiply(struct part *p) {
    const double *a[SLOTS], *b[SLOTS];
    MPI_Request under_way[SLOTS][2];
    int64_t steps = p->size / p->block;
    memset(p->c, 0, p->rows * p->columns * sizeof *p->c);
    begin(p, 0, &a[0], &b[0], under_way[0]);
    for (int64_t step = 0; step < steps; step++) {
        int slot = step % SLOTS, next = (step + 1) % SLOTS;
        MPI_Waitall(2, under_way[slot], MPI_STATUSES_IGNORE);
        if (step + 1 < steps)
            begin(p, step + 1, &a[next], &b[next], under_way[next]);
        add_product(p, a[slot], b[slot]);
    }
}

static void multiply_rounds(struct part *p, int rounds) {
    for (int round = 0; round < rounds; round++) {
        MPI_Barrier(p->grid);
        double began = MPI_Wtime();
        multiply(p);
        MPI_Barrier(p->grid);
        double seconds = MPI_Wtime() - began;
        if (p->place[0] == 0 && p->place[1] == 0)
            printf("{\"round\": %d, \"seconds\": %.6f}\n", round, seconds);
    }
}

static double processor_s(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void multiply_alone(struct part *p, int rounds) {
    int rank, ranks;
    MPI_Comm_rank(p->grid, &rank);
    MPI_Comm_size(p->grid, &ranks);
    double *of_ranks = doubles(2 * ranks);
    for (int round = 0; round < rounds; round++) {
        MPI_Barrier(p->grid);
        double began = MPI_Wtime(), began_cpu = processor_s();
        for (int64_t step = 0; step < p->size / p->block; step++) {
            int64_t a_panel = step % (p->a_columns / p->block);
            int64_t b_panel = step % (p->b_rows / p->block);
            add_product(p, p->a + a_panel * p->rows * p->block,
                        p->b + b_panel * p->columns * p->block);
        }
        double own[2] = {MPI_Wtime() - began, processor_s() - began_cpu};
        MPI_Gather(own, 2, MPI_DOUBLE, of_ranks, 2, MPI_DOUBLE, 0, p->grid);
        for (int one = 0; rank == 0 && one < ranks; one++)
            printf("{\"round\": %d, \"rank\": %d, \"seconds\": %.6f, \"cpu_s\": %.6f}\n", round,
                   one, of_ranks[2 * one], of_ranks[2 * one + 1]);
    }
    free(of_ranks);
}

/* All of C, row after row. */
static void write_product(struct part *p, const char *path) {
    int whole[2] = {p->size, p->size}, own[2] = {p->rows, p->columns};
    int first[2] = {p->place[0] * own[0], p->place[1] * own[1]};
    MPI_Datatype place;
    MPI_File file;
    MPI_Type_create_subarray(2, whole, own, first, MPI_ORDER_C, MPI_DOUBLE, &place);
    MPI_Type_commit(&place);
    if (MPI_File_open(p->grid, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file))
        fail("the file for the product cannot be opened");
    MPI_File_set_view(file, 0, MPI_DOUBLE, place, "native", MPI_INFO_NULL);
    if (MPI_File_write_all(file, p->c, own[0] * own[1], MPI_DOUBLE, MPI_STATUS_IGNORE))
        fail("the product cannot be written");
    MPI_File_close(&file);
    MPI_Type_free(&place);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int is_alone = argc == 5 && strcmp(argv[1], "alone") == 0;
    if (!is_alone && !((argc == 5 || argc == 6) && strcmp(argv[1], "multiply") == 0))
        fail("usage: summa multiply SIZE BLOCK ROUNDS [FILE] | summa alone SIZE BLOCK ROUNDS");
    struct part p = prepared(atoll(argv[2]), atoll(argv[3]));
    if (is_alone)
        multiply_alone(&p, atoi(argv[4]));
    else
        multiply_rounds(&p, atoi(argv[4]));
    if (argc == 6)
        write_product(&p, argv[5]);
    finished(&p);
    MPI_Finalize();
    return 0;
}
