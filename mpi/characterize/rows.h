/*
 * Rows: what a test measured, as JSON Lines. Each rank writes its own into memory; rank 0 prints
 * those of all after each test, so that lines never mix.
 */
#ifndef TIDINGS_CHARACTERIZE_ROWS_H
#define TIDINGS_CHARACTERIZE_ROWS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct Rows {
    char *text;
    size_t length, room;
    bool is_first; /* no key of this row was written */
} Rows;

/* A row is what stands between these; in between, its keys. */
void row_begin(Rows *rows, const char *test);
void row_end(Rows *rows);

void row_text(Rows *rows, const char *key, const char *value);
void row_number(Rows *rows, const char *key, double value);
void row_truth(Rows *rows, const char *key, bool value);
void row_list(Rows *rows, const char *key, const double *values, long count);
/* A list of texts. */
void row_names(Rows *rows, const char *key, const char *const *names, long count);

/* Prints the rows of all ranks, in the order of ranks, on rank 0. Collective. */
void rows_print(Rows *rows, MPI_Comm comm);

/* The bytes of a line of a cache. */
#define LINE 64

/* Memory that begins with a line and is there, all zero, or the job is aborted with a message. */
void *room_for(size_t bytes);

#endif
