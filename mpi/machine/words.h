/*
 * Command lines of the applications: --name VALUE and --name, read into numbers by a table.
 *
 * Every rank reads the same words, so all find the same error, and rank 0 reports it.
 */
#ifndef TIDINGS_MPI_WORDS_H
#define TIDINGS_MPI_WORDS_H

#include <stdbool.h>

/* An option: a whole number if `whole` is set, a switch if `least` is above `most`. */
typedef struct Word {
    const char *name;
    double *value; /* its present value is the default */
    double least, most;
    bool whole;
    const char *meaning;
} Word;

/* A list of whole numbers, such as 8,4,4,4,2; `count` of them were read. */
typedef struct WordList {
    const char *name;
    int *numbers, *count;
    int room;
    const char *meaning;
} WordList;

/*
 * Reads the options after the first word, the program's name. An error message is left in
 * `why`, which is empty without an error. `list` may be null.
 */
void words_read(int count, char **words, const Word *table, int options, const WordList *list,
                char *why, int why_bytes);

/* Prints the options. */
void words_usage(const Word *table, int options, const WordList *list);

#endif
