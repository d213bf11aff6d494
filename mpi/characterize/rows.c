/* See rows.h. */
#include "rows.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key with its number, at most. */
#define LONGEST 160
/* Of the messages with rows. */
#define TAG 17

void *room_for(size_t bytes)
{
    /* calloc begins 16 bytes behind a line, so that each line of a message would be two. */
    size_t whole = (bytes / LINE + 1) * LINE;
    void *memory = aligned_alloc(LINE, whole);
    if (!memory) {
        fprintf(stderr, "tidings-mpi-characterize: no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    return memset(memory, 0, whole);
}

/* Makes room for so many further bytes. */
static void grow(Rows *rows, size_t further)
{
    if (rows->length + further < rows->room)
        return;
    rows->room = 2 * (rows->length + further) + 1024;
    char *text = room_for(rows->room);
    if (rows->length)
        memcpy(text, rows->text, rows->length);
    free(rows->text);
    rows->text = text;
}

__attribute__((format(printf, 2, 3))) static void add(Rows *rows, const char *format, ...)
{
    grow(rows, LONGEST);
    va_list list;
    va_start(list, format);
    int length = vsnprintf(rows->text + rows->length, LONGEST, format, list);
    va_end(list);
    rows->length += (size_t)(length < LONGEST ? length : LONGEST - 1);
}

/* A text in quotes; control characters, which no name should have, are left out. */
static void quote(Rows *rows, const char *text)
{
    grow(rows, 2 * strlen(text) + 4);
    rows->text[rows->length++] = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            rows->text[rows->length++] = '\\';
        if ((unsigned char)*text >= ' ')
            rows->text[rows->length++] = *text;
    }
    rows->text[rows->length++] = '"';
}

static void key_of(Rows *rows, const char *key)
{
    if (!rows->is_first)
        add(rows, ",");
    rows->is_first = false;
    quote(rows, key);
    add(rows, ":");
}

void row_begin(Rows *rows, const char *test)
{
    add(rows, "{");
    rows->is_first = true;
    row_text(rows, "test", test);
}

void row_end(Rows *rows)
{
    add(rows, "}\n");
}

void row_text(Rows *rows, const char *key, const char *value)
{
    key_of(rows, key);
    quote(rows, value);
}

/* JSON has no infinity. */
static void number(Rows *rows, double value)
{
    if (isfinite(value))
        add(rows, "%.9g", value);
    else
        add(rows, "null");
}

void row_number(Rows *rows, const char *key, double value)
{
    key_of(rows, key);
    number(rows, value);
}

void row_truth(Rows *rows, const char *key, bool value)
{
    key_of(rows, key);
    add(rows, value ? "true" : "false");
}

void row_list(Rows *rows, const char *key, const double *values, long count)
{
    key_of(rows, key);
    add(rows, "[");
    for (long at = 0; at < count; at++) {
        if (at)
            add(rows, ",");
        number(rows, values[at]);
    }
    add(rows, "]");
}

void row_names(Rows *rows, const char *key, const char *const *names, long count)
{
    key_of(rows, key);
    add(rows, "[");
    for (long at = 0; at < count; at++) {
        if (at)
            add(rows, ",");
        quote(rows, names[at]);
    }
    add(rows, "]");
}

/* Receives and prints what each of these ranks has; what is rank 0's own is printed first. */
static void print(const Rows *own, const int *lengths, int ranks, MPI_Comm comm)
{
    if (own->length > 0)
        fwrite(own->text, 1, own->length, stdout);
    for (int from = 1; from < ranks; from++) {
        if (lengths[from] == 0)
            continue;
        char *text = room_for((size_t)lengths[from]);
        MPI_Recv(text, lengths[from], MPI_CHAR, from, TAG, comm, MPI_STATUS_IGNORE);
        fwrite(text, 1, (size_t)lengths[from], stdout);
        free(text);
    }
    fflush(stdout);
}

void rows_print(Rows *rows, MPI_Comm comm)
{
    int rank, ranks, length = (int)rows->length, *lengths = NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (rank == 0)
        lengths = room_for((size_t)ranks * sizeof *lengths);
    MPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, comm);
    /* Few ranks have rows; if thousands of others sent nothing, SMPI would take minutes of that. */
    if (rank == 0)
        print(rows, lengths, ranks, comm);
    else if (length > 0)
        MPI_Send(rows->text, length, MPI_CHAR, 0, TAG, comm);
    free(lengths);
    free(rows->text);
    *rows = (Rows){ 0 };
}
