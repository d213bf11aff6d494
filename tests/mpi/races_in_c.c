/*
 * Programs in C that fork and join, checked for races: prints how many places each has, and the
 * first race in words.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tidings_races.h"

enum { CELLS = 1024 };

typedef struct Part {
    double *cells;
    int from, to;
    int overlap; /* that the left half writes behind its end */
} Part;

static void fill(void *argument)
{
    const Part *part = argument;
    if (part->to - part->from > 64) {
        int middle = (part->from + part->to) / 2;
        Part left = { part->cells, part->from, middle, part->overlap };
        Part right = { part->cells, middle, part->to, part->overlap };
        TIDINGS_JOIN(fill, &left, fill, &right);
        return;
    }
    int end = part->to + (part->to < CELLS ? part->overlap : 0);
    for (int at = part->from; at < part->to; at++)
        part->cells[at] = at;
    TIDINGS_WRITES(part->cells + part->from, (size_t)(end - part->from) * sizeof *part->cells);
}

static void add(void *argument)
{
    TIDINGS_UPDATES(argument, sizeof(long));
    __atomic_fetch_add((long *)argument, 1, __ATOMIC_RELAXED);
}

static void add_twice(void *argument) { TIDINGS_JOIN(add, argument, add, argument); }

static void look(void *argument) { TIDINGS_READS(argument, sizeof(long)); }

static void add_and_look(void *argument) { TIDINGS_JOIN(add, argument, look, argument); }

static void use_again(void *argument)
{
    TIDINGS_JOIN(add, argument, add, argument);
    tidings_races_forget(argument, sizeof(long));
    TIDINGS_READS(argument, sizeof(long));
}

static void keep(void *argument, const char *race)
{
    char **kept = argument;
    if (*kept) return;
    size_t bytes = 4096;
    *kept = malloc(bytes);
    if (*kept) snprintf(*kept, bytes, "%s", race);
}

static void check(const char *name, TidingsRacesWork program, void *argument)
{
    char *race = NULL;
    long long places = tidings_races_check(2, program, argument, keep, &race);
    printf("%s: %lld%s%s\n", name, places, race ? "\n" : "", race ? race : "");
    free(race);
}

int main(void)
{
    static double cells[CELLS];
    static long sum;
    Part apart = { cells, 0, CELLS, 0 }, overlapping = { cells, 0, CELLS, 1 };
    check("apart", fill, &apart);
    check("overlapping", fill, &overlapping);
    check("add twice", add_twice, &sum);
    check("add and look", add_and_look, &sum);
    check("use again", use_again, &sum);
    check("nothing", NULL, NULL);
    fill(&apart); /* not checked */
    return sum != 5 || cells[CELLS - 1] != CELLS - 1;
}
