/* The command line of tidings-mpi-characterize. */
#ifndef TIDINGS_CHARACTERIZE_SETTINGS_H
#define TIDINGS_CHARACTERIZE_SETTINGS_H

#include <stdbool.h>

#define DIMENSIONS 3

/* The most links with a rate of their own. */
#define MOST_OWN_LINKS 256

/* A link between two nodes that passes something else than the others, in both directions. */
typedef struct OwnLink {
    int between[2];
    double mbit;
} OwnLink;

typedef struct Settings {
    unsigned tests;        /* a bit for each test; 0: all */
    double repetitions;    /* of each series, but for large messages */
    double largest;        /* message, in bytes */
    double factor;         /* from one size of message to the next */
    double halo_largest;   /* side of a sub-domain */
    double messages;       /* of a stream, before its answer; 0: as many as its size has */
    double beyond_cache;   /* bytes of the buffers that are used in turn */
    double memory;         /* bytes that a rank may use for one operation */
    double late_s;
    bool sleeps;           /* ranks wait for starts by sleep alone */
    int shape[DIMENSIONS]; /* of the torus or mesh of nodes; 0 if it is not known */
    bool mesh;             /* rows of that shape are not closed to rings */
    double link_mbit[DIMENSIONS]; /* what links along X, Y and Z pass; 0 if it is not known */
    OwnLink own_links[MOST_OWN_LINKS]; /* those that pass something else */
    int own_link_count;
    const char *places;    /* a file: the node of each rank */
    const char *order;     /* a file: the rank at each place of the HALO's grid */
    const char *orders;    /* names of the orders of HALO, by commas; null: all */
    const char *protocols; /* names of protocols of HALO, by commas; null: all */
    const char *operations; /* names of collective operations, by commas; null: all */
    bool help;
    char wrong[200];
} Settings;

/* Reads the command line; the name of a test becomes a bit by `test_of`, which is -1 if none. */
Settings settings_read(int count, char **words, int (*test_of)(const char *name));

/* Whether a list of names has one; null has all. */
bool settings_lists(const char *list, const char *name);

/* The options, as a text. */
extern const char SETTINGS_USAGE[];

#endif
