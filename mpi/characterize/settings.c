/* See settings.h. */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

#include "../machine/long_options.h"

const char SETTINGS_USAGE[] =
    "  --test NAME          only this test; repeat the option for more (default: all)\n"
    "  --repetitions N      of each series; a quarter from 64 KiB on (default 100)\n"
    "  --largest BYTES      the largest message (default 1048576)\n"
    "  --factor N           from one size of message, or N of HALO, to the next (default 4)\n"
    "  --halo-largest N     the largest side of a sub-domain of HALO (default 1024)\n"
    "  --messages N         of a stream before its answer (default 16, 4 from 256 KiB on)\n"
    "  --beyond-cache BYTES the buffers of tests out of cache (default 67108864)\n"
    "  --memory BYTES       what a rank may use for one operation (default 268435456)\n"
    "  --late SECONDS       by how much a rank may miss a start (default 0.000005)\n"
    "  --sleep              wait for starts by sleep alone, if ranks outnumber processors\n"
    "  --torus X,Y,Z        the network is a torus of nodes of this shape\n"
    "  --mesh X,Y,Z         the same without links from the last node of a row to its first\n"
    "  --link-mbit X,Y,Z    what links along X, Y and Z pass; one number: all the same\n"
    "  --own-mbit A-B=MBIT  what the link between nodes A and B passes; several by commas\n"
    "  --places FILE        the node that each rank must be on, a line for each rank\n"
    "  --order FILE         one more order of HALO: the rank of each place, a line for each\n"
    "  --orders LIST        of the orders of HALO only these, such as XYZT,TXYZ,Hilbert\n"
    "  --protocols LIST     of the protocols of HALO only these, such as sendrecv,one-sided\n"
    "  --operations LIST    of the collective operations only these, such as barrier,bcast\n"
    "  --help               this text\n";

/* What is read into: settings, and how tests are named. */
typedef struct Reader {
    Settings settings;
    int (*test_of)(const char *name);
} Reader;

static bool number(const char *text, double least, double most, double *value)
{
    char *rest;
    *value = strtod(text, &rest);
    return rest != text && *rest == 0 && *value >= least && *value <= most;
}

/* Lengths of rings, such as 4,4,4; missing ones are 1. */
static bool shape(const char *text, int *lengths)
{
    for (int at = 0; at < DIMENSIONS; at++) {
        char *rest;
        long length = strtol(text, &rest, 10);
        if (rest == text || length < 1 || length > 65536)
            return false;
        lengths[at] = (int)length;
        if (*rest == 0) {
            for (at++; at < DIMENSIONS; at++)
                lengths[at] = 1;
            return true;
        }
        if (*rest != ',')
            return false;
        text = rest + 1;
    }
    return false;
}

/* Rates such as 20,15,10; missing ones are the last. */
static bool rates(const char *text, double *mbit)
{
    for (int at = 0; at < DIMENSIONS; at++) {
        char *rest;
        mbit[at] = strtod(text, &rest);
        if (rest == text || !(mbit[at] > 0) || mbit[at] > 1e9)
            return false;
        if (*rest == 0) {
            for (at++; at < DIMENSIONS; at++)
                mbit[at] = mbit[at - 1];
            return true;
        }
        if (*rest != ',')
            return false;
        text = rest + 1;
    }
    return false;
}

static bool is_link(const OwnLink *own, int one, int other)
{
    return (own->between[0] == one && own->between[1] == other) ||
           (own->between[0] == other && own->between[1] == one);
}

/* Rates of links by their nodes, such as 0-1=4.5,1-2=10, each link once. */
static bool own_links(const char *text, Settings *settings)
{
    for (;; text++) {
        int one, other, read = 0;
        if (sscanf(text, "%9d-%9d=%n", &one, &other, &read) != 2 || read == 0 || one < 0 ||
            other < 0 || settings->own_link_count == MOST_OWN_LINKS)
            return false;
        for (int at = 0; at < settings->own_link_count; at++)
            if (is_link(&settings->own_links[at], one, other))
                return false;
        char *rest;
        OwnLink own = { { one, other }, strtod(text + read, &rest) };
        if (rest == text + read || !(own.mbit > 0) || own.mbit > 1e9)
            return false;
        settings->own_links[settings->own_link_count++] = own;
        if (*rest == 0)
            return true;
        if (*rest != ',')
            return false;
        text = rest;
    }
}

/* Handles one option; false if its value is wrong. */
static bool option(void *into, int letter, const char *text)
{
    Reader *reader = into;
    Settings *settings = &reader->settings;
    switch (letter) {
    case 't': {
        int test = reader->test_of(text);
        settings->tests |= test < 0 ? 0 : 1u << test;
        return test >= 0;
    }
    case 'n': return number(text, 1, 1e6, &settings->repetitions);
    case 'b': return number(text, 1, 1 << 28, &settings->largest);
    case 'f': return number(text, 2, 1 << 20, &settings->factor);
    case 'N': return number(text, 2, 65536, &settings->halo_largest);
    case 'w': return number(text, 1, 1e5, &settings->messages);
    case 'c': return number(text, 0, 1e10, &settings->beyond_cache);
    case 'm': return number(text, 1e4, 1e12, &settings->memory);
    case 'l': return number(text, 1e-9, 10, &settings->late_s);
    case 's': settings->sleeps = true; return true;
    case 'T': settings->mesh = false; return shape(text, settings->shape);
    case 'M': settings->mesh = true; return shape(text, settings->shape);
    case 'r': return rates(text, settings->link_mbit);
    case 'L': return own_links(text, settings);
    case 'p': settings->places = text; return *text != 0;
    case 'o': settings->order = text; return *text != 0;
    case 'O': settings->orders = text; return *text != 0;
    case 'P': settings->protocols = text; return *text != 0;
    case 'd': settings->operations = text; return *text != 0;
    default: settings->help = true; return true;
    }
}

bool settings_lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && strcspn(at, ",") == length)
            return true;
    }
    return !list;
}

Settings settings_read(int count, char **words, int (*test_of)(const char *name))
{
    static const struct option NAMES[] = {
        { "test", required_argument, NULL, 't' },
        { "repetitions", required_argument, NULL, 'n' },
        { "largest", required_argument, NULL, 'b' },
        { "factor", required_argument, NULL, 'f' },
        { "halo-largest", required_argument, NULL, 'N' },
        { "messages", required_argument, NULL, 'w' },
        { "beyond-cache", required_argument, NULL, 'c' },
        { "memory", required_argument, NULL, 'm' },
        { "late", required_argument, NULL, 'l' },
        { "sleep", no_argument, NULL, 's' },
        { "torus", required_argument, NULL, 'T' },
        { "mesh", required_argument, NULL, 'M' },
        { "link-mbit", required_argument, NULL, 'r' },
        { "own-mbit", required_argument, NULL, 'L' },
        { "places", required_argument, NULL, 'p' },
        { "order", required_argument, NULL, 'o' },
        { "orders", required_argument, NULL, 'O' },
        { "protocols", required_argument, NULL, 'P' },
        { "operations", required_argument, NULL, 'd' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    Reader reader = {
        .settings = { .repetitions = 100, .largest = 1 << 20, .factor = 4, .halo_largest = 1024,
                      .beyond_cache = 64 << 20, .memory = 256 << 20, .late_s = 5e-6 },
        .test_of = test_of,
    };
    long_options_read(count, words, NAMES, option, &reader, reader.settings.wrong,
                      sizeof reader.settings.wrong);
    return reader.settings;
}
