/*
 * The command lines of programs that take long options alone: the loop around getopt_long, and the
 * messages for unknown options and wrong values.
 */
#ifndef TIDINGS_MPI_LONG_OPTIONS_H
#define TIDINGS_MPI_LONG_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Handles the option of a letter with its value, null for a switch; false if it is wrong. */
typedef bool TakeOption(void *into, int letter, const char *text);

/*
 * Passes the options after the first word, the program's name, one after another to `take`. An
 * error message is left in `wrong` (of `wrong_bytes` bytes), which is empty without an error.
 */
static inline void long_options_read(int count, char **words, const struct option *names,
                                     TakeOption *take, void *into, char *wrong, size_t wrong_bytes)
{
    int letter, at = 0;
    *wrong = 0;
    opterr = 0;
    optind = 0; /* from the start: a program below which this runs may have used getopt before */
    while (!*wrong && (letter = getopt_long(count, words, "", names, &at)) != -1) {
        if (letter == '?')
            snprintf(wrong, wrong_bytes, "%s is no option, or lacks a value", words[optind - 1]);
        else if (!take(into, letter, optarg))
            snprintf(wrong, wrong_bytes, "--%s cannot be '%s'", names[at].name, optarg);
    }
    if (!*wrong && optind < count)
        snprintf(wrong, wrong_bytes, "'%s' is no option", words[optind]);
}

#endif
