/* See run.h. */
#include <stdio.h>
#include <string.h>

#include "run.h"

const char *const run_schemes[RUN_SCHEMES] = { "lazy", "collective", "non-collective",
                                               "checkpoint" };

static void usage(const char *what)
{
    fprintf(stderr,
            "tidings-mpi-recover: %s\n"
            "usage: tidings-mpi-recover [--scheme lazy|collective|non-collective|checkpoint] "
            "[--tasks N] [--task-us N] [--blocks N] [--words N] [--phases N] [--parts N] "
            "[--folder DIRECTORY] [--summary STORE] [--alone] [--refuse] [--stray] [--fixed] "
            "[--paired] [--witness FILE] [--kill RANK,TASKS]...\n",
            what);
}

static bool take_scheme(Run *run, const char *value)
{
    for (uint32_t at = 0; at < RUN_SCHEMES; at++) {
        if (strcmp(value, run_schemes[at])) continue;
        run->scheme = at;
        run->options.scheme = at < RUN_CHECKPOINT ? at : TIDINGS_RECOVERY_SCHEME_LAZY;
        return true;
    }
    return false;
}

/* Takes an option with a text. */
static bool take_text(Run *run, const char *option, const char *value)
{
    const struct {
        const char *name, **place;
    } texts[] = { { "--witness", &run->witness_path },
                  { "--folder", &run->checkpoint.folder },
                  { "--summary", &run->store } };
    for (size_t at = 0; at < sizeof texts / sizeof *texts; at++) {
        if (strcmp(option, texts[at].name)) continue;
        *texts[at].place = value;
        return true;
    }
    return false;
}

/* Takes an option with a value. */
static bool take(Run *run, const char *option, const char *value)
{
    if (!strcmp(option, "--scheme")) return take_scheme(run, value);
    if (!strcmp(option, "--kill"))
        return kills_take(&run->kill, value, run->rank, run->ranks, 1L << 24);
    if (!strcmp(option, "--tasks")) return kills_number(value, 0, 1L << 24, &run->tasks);
    if (!strcmp(option, "--task-us")) return kills_number(value, 0, 10000000, &run->task_us);
    if (!strcmp(option, "--blocks")) return kills_number(value, 1, 1 << 20, &run->blocks);
    if (!strcmp(option, "--words")) return kills_number(value, 1, 1 << 17, &run->words);
    if (!strcmp(option, "--phases")) return kills_number(value, 1, 1000, &run->phases);
    if (!strcmp(option, "--parts")) return kills_number(value, 1, 1000, &run->parts);
    return take_text(run, option, value);
}

/* Takes an option without a value. */
static bool take_flag(Run *run, const char *option)
{
    const struct {
        const char *name;
        bool *is_set;
    } flags[] = { { "--alone", &run->is_alone },
                  { "--refuse", &run->is_refusing },
                  { "--stray", &run->is_stray },
                  { "--fixed", &run->is_fixed },
                  { "--paired", &run->is_paired } };
    for (size_t at = 0; at < sizeof flags / sizeof *flags; at++) {
        if (strcmp(option, flags[at].name)) continue;
        *flags[at].is_set = true;
        return true;
    }
    return false;
}

/* What does not fit together; null if all does. */
static const char *what_lacks(const Run *run)
{
    bool is_checkpointed = run->scheme == RUN_CHECKPOINT;
    if (is_checkpointed != !!run->checkpoint.folder) return "--scheme checkpoint needs --folder";
    if (!is_checkpointed && run->parts > 1) return "--parts needs --scheme checkpoint";
    if (is_checkpointed && run->store) return "--summary needs another scheme than checkpoint";
    if (run->is_paired && (is_checkpointed || run->store))
        return "--paired with what is saved";
    return NULL;
}

bool arguments_read(Run *run, int count, char **words)
{
    for (int at = 1; at < count; at++) {
        if (take_flag(run, words[at])) {
            continue;
        } else if (at + 1 < count && take(run, words[at], words[at + 1])) {
            at++;
        } else {
            if (!run->rank) usage(words[at]);
            return false;
        }
    }
    const char *lacks = what_lacks(run);
    if (lacks && !run->rank) usage(lacks);
    return !lacks;
}
