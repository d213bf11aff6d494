/*
 * See tidings_scaling.h.
 *
 * A process has one file, and each thread a stack of open blocks. Invariants: a line is written
 * with one call, so lines of threads do not mix; no line has a value that the reader rejects.
 */
#define _POSIX_C_SOURCE 200809L
#include "tidings_scaling.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A name in JSON: each byte may become two. */
#define QUOTED (2 * TIDINGS_SCALING_NAME + 1)

typedef struct Count {
    char metric[TIDINGS_SCALING_NAME + 1];
    double value;
} Count;

typedef struct Block {
    char function[TIDINGS_SCALING_NAME + 1];
    double size;
    int64_t began_ns;
    int counts;
    Count count[TIDINGS_SCALING_COUNTS];
} Block;

static FILE *file;
static char parameter_quoted[QUOTED];
static char run_quoted[QUOTED];
static char fault[512];
static atomic_bool faulty;
static atomic_long rows;

static _Thread_local Block open_blocks[TIDINGS_SCALING_DEPTH];
static _Thread_local int depth;

static void fail(const char *format, ...)
{
    if (atomic_exchange(&faulty, true))
        return; /* the others follow from the first */
    va_list words;
    va_start(words, format);
    vsnprintf(fault, sizeof fault, format, words);
    va_end(words);
}

const char *tidings_scaling_fault(void)
{
    return atomic_load(&faulty) ? fault : "";
}

/* Writes a name as the inside of a JSON string; false if it cannot be one. */
static bool quote(char quoted[QUOTED], const char *name)
{
    size_t at = 0;
    if (!name || strlen(name) > TIDINGS_SCALING_NAME) {
        fail("a name is missing or longer than %d bytes: %.40s", TIDINGS_SCALING_NAME,
             name ? name : "(none)");
        return false;
    }
    for (; *name; name++) {
        if ((unsigned char)*name < ' ') {
            fail("a name holds a control character, 0x%02x: remove it", (unsigned)*name);
            return false;
        }
        if (*name == '"' || *name == '\\')
            quoted[at++] = '\\';
        quoted[at++] = *name;
    }
    quoted[at] = 0;
    return true;
}

static const char *chosen(const char *given, const char *variable, const char *otherwise)
{
    if (given)
        return given;
    const char *set = getenv(variable);
    return set && *set ? set : otherwise;
}

bool tidings_scaling_open(const char *path, const char *parameter, const char *run)
{
    char made[64];
    if (file)
        tidings_scaling_close();
    atomic_store(&faulty, false);
    path = chosen(path, "TIDINGS_SCALING_FILE", "scaling.jsonl");
    snprintf(made, sizeof made, "%lld-%ld", (long long)time(NULL), (long)getpid());
    if (!quote(parameter_quoted, parameter) ||
        !quote(run_quoted, chosen(run, "TIDINGS_SCALING_RUN", made)))
        return false;
    file = fopen(path, "a");
    if (!file)
        fail("%s: %s", path, strerror(errno));
    return file != NULL;
}

bool tidings_scaling_close(void)
{
    if (!file) {
        fail("no file is open: call tidings_scaling_open first");
        return false;
    }
    if (depth > TIDINGS_SCALING_DEPTH)
        fail("%d blocks were left before their end", depth);
    else if (depth > 0)
        fail("the block of %s was left before its end", open_blocks[depth - 1].function);
    depth = 0;
    if (fclose(file) != 0)
        fail("the file could not be written to its end: %s", strerror(errno));
    file = NULL;
    return !atomic_load(&faulty);
}

void tidings_scaling_value(const char *function, const char *metric, double size, double value,
                           const char *unit)
{
    char function_quoted[QUOTED], metric_quoted[QUOTED], unit_quoted[QUOTED];
    if (!file) {
        fail("no file is open for %.40s: call tidings_scaling_open first", function);
        return;
    }
    if (!quote(function_quoted, function) || !quote(metric_quoted, metric) ||
        !quote(unit_quoted, unit))
        return;
    if (!(isfinite(size) && size > 0 && isfinite(value) && value > 0)) {
        fail("%.40s (%.40s) at size %g is %g: sizes and values are positive numbers", function,
             metric, size, value);
        return;
    }
    int written = fprintf(file,
                          "{\"function\": \"%s\", \"metric\": \"%s\", \"parameter\": \"%s\", "
                          "\"size\": %.17g, \"value\": %.9g, \"unit\": \"%s\", \"run\": \"%s\", "
                          "\"repetition\": %ld}\n",
                          function_quoted, metric_quoted, parameter_quoted, size, value,
                          unit_quoted, run_quoted, atomic_fetch_add(&rows, 1));
    if (written < 0 || fflush(file) != 0)
        fail("the file could not be written: %s", strerror(errno));
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool tidings_scaling_begin(const char *function, double size)
{
    if (depth++ >= TIDINGS_SCALING_DEPTH) {
        fail("blocks nest %d deep at most: is one left by `break` or `return`?",
             TIDINGS_SCALING_DEPTH);
        return true;
    }
    Block *block = &open_blocks[depth - 1];
    snprintf(block->function, sizeof block->function, "%s", function);
    block->size = size;
    block->counts = 0;
    block->began_ns = now_ns();
    return true;
}

bool tidings_scaling_end(void)
{
    int64_t ended_ns = now_ns();
    if (depth == 0) {
        fail("a block is ended that was not begun");
        return false;
    }
    if (--depth >= TIDINGS_SCALING_DEPTH)
        return false;
    Block *block = &open_blocks[depth];
    /* A time below the clock's resolution counts as a nanosecond. */
    int64_t took_ns = ended_ns > block->began_ns ? ended_ns - block->began_ns : 1;
    tidings_scaling_value(block->function, "time", block->size, (double)took_ns / 1e9, "s");
    for (int at = 0; at < block->counts; at++)
        tidings_scaling_value(block->function, block->count[at].metric, block->size,
                              block->count[at].value, "");
    return false;
}

void tidings_scaling_count(const char *metric, double more)
{
    if (depth == 0 || depth > TIDINGS_SCALING_DEPTH) {
        fail("%.40s is counted outside of a block", metric);
        return;
    }
    Block *block = &open_blocks[depth - 1];
    int at = 0;
    while (at < block->counts && strcmp(block->count[at].metric, metric) != 0)
        at++;
    if (at == TIDINGS_SCALING_COUNTS) {
        fail("%s has more than %d counts", block->function, TIDINGS_SCALING_COUNTS);
        return;
    }
    if (at == block->counts) {
        snprintf(block->count[at].metric, sizeof block->count[at].metric, "%s", metric);
        block->count[at].value = 0;
        block->counts++;
    }
    block->count[at].value += more;
}
