/* The options of a gossip process, as words: of a command line, or of an environment variable. */
#ifndef TIDINGS_MPI_ARGUMENTS_H
#define TIDINGS_MPI_ARGUMENTS_H

#include <stdbool.h>

#include "gossip.h"

/* What the options are, for people. */
extern const char ARGUMENTS_USAGE[];

/* A command line, before the number of ranks is known. */
typedef struct Arguments {
    GossipOptions options;
    double interval_ms, window;
    bool window_is_share, help;
    char wrong[256];
} Arguments;

/*
 * Reads words, the first of which is the program's name; what is wrong with them is left in
 * `wrong`.
 */
Arguments arguments_read(int count, char **words);

/* Leaves in `wrong`, if nothing is yet, why so many ranks cannot gossip so. */
void arguments_fit(Arguments *arguments, int ranks);

/* The options for so many ranks. */
GossipOptions arguments_options(const Arguments *arguments, int ranks);

/* The name of a TidingsStrategy. */
const char *arguments_strategy(uint32_t strategy);

#endif
