/*
 * Phases whose ranks may die: tasks that compute for a while and add to two blocks of an array of
 * integers each, whose sums are known.
 * usage: mpirun -n RANKS tidings-mpi-recover [--scheme lazy|collective|non-collective] [--tasks N]
 *        [--task-us N] [--blocks N] [--words N] [--phases N] [--alone] [--refuse] [--stray]
 *        [--kill RANK,TASKS]...
 * With --alone blocks have no copy, with --refuse a lost block is not begun again, with --stray a
 * task adds to a block that it has not declared, with --kill a rank kills itself when it has run so
 * many tasks. The least rank that lives prints a line of JSON for each phase. Status: 0 all sums
 * are right, 1 one is wrong, 2 the command cannot be run, 5 a block is lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../steal/kills.h"
#include "tidings_recover_mpi.h"

typedef struct Run {
    TidingsRecoverOptions options;
    long tasks, task_us, blocks, words, phases;
    Kill kill;
    bool is_alone, is_refusing, is_stray;
    TidingsRecover *recover;
    uint16_t sums;
    MPI_Comm living; /* the ranks that live */
    int rank, ranks; /* among them */
} Run;

static void usage(const char *what)
{
    fprintf(stderr,
            "tidings-mpi-recover: %s\n"
            "usage: tidings-mpi-recover [--scheme lazy|collective|non-collective] [--tasks N] "
            "[--task-us N] [--blocks N] [--words N] [--phases N] [--alone] [--refuse] [--stray] "
            "[--kill RANK,TASKS]...\n",
            what);
}

static bool take_scheme(Run *run, const char *value)
{
    static const char *const schemes[] = { "lazy", "collective", "non-collective" };
    for (uint32_t at = 0; at < 3; at++) {
        if (strcmp(value, schemes[at])) continue;
        run->options.scheme = at;
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
    return false;
}

static bool read_words(Run *run, int count, char **words)
{
    for (int at = 1; at < count; at++) {
        if (!strcmp(words[at], "--alone")) {
            run->is_alone = true;
        } else if (!strcmp(words[at], "--refuse")) {
            run->is_refusing = true;
        } else if (!strcmp(words[at], "--stray")) {
            run->is_stray = true;
        } else if (at + 1 < count && take(run, words[at], words[at + 1])) {
            at++;
        } else {
            if (!run->rank) usage(words[at]);
            return false;
        }
    }
    return true;
}

/* The blocks to which a task adds, which may be one. */
static void targets(const Run *run, uint64_t task, uint32_t blocks[2])
{
    blocks[0] = (uint32_t)(task % (uint64_t)run->blocks);
    blocks[1] = (uint32_t)((7 * task + 3) % (uint64_t)run->blocks);
}

static size_t outputs(void *user, uint64_t task, TidingsRecoveryPlace *places)
{
    const Run *run = user;
    uint32_t blocks[2];
    targets(run, task, blocks);
    for (int i = 0; i < 2; i++)
        places[i] = (TidingsRecoveryPlace){ run->sums, blocks[i] };
    return 2;
}

static void body(TidingsRecoverTask *task, uint64_t number, void *user)
{
    Run *run = user;
    uint32_t blocks[2];
    double until_s = MPI_Wtime() + 1e-6 * (double)run->task_us;
    kills_count(&run->kill);
    uint64_t *elements = malloc((size_t)run->words * sizeof *elements);
    if (!elements) MPI_Abort(MPI_COMM_WORLD, 3);
    while (MPI_Wtime() < until_s)
        ;
    targets(run, number, blocks);
    for (int i = 0; i < 2; i++) {
        for (long at = 0; at < run->words; at++)
            elements[at] = (number + 1) * (uint64_t)(at + 1 + i);
        uint32_t block = run->is_stray ? blocks[i] + 1 : blocks[i];
        tidings_recover_add(task, run->sums, block, elements, (size_t)run->words);
    }
    free(elements);
}

/* What the first and last element of each block have to be after so many phases. */
static bool are_right(Run *run, uint64_t phases)
{
    uint64_t(*sums)[2] = calloc((size_t)run->blocks, sizeof *sums);
    bool is_right = true;
    if (!sums) MPI_Abort(MPI_COMM_WORLD, 3);
    for (uint64_t task = 0; task < (uint64_t)run->tasks; task++) {
        uint32_t blocks[2];
        targets(run, task, blocks);
        for (uint64_t i = 0; i < 2; i++) {
            sums[blocks[i]][0] += (task + 1) * (1 + i);
            sums[blocks[i]][1] += (task + 1) * ((uint64_t)run->words + i);
        }
    }
    for (uint32_t block = 0; block < (uint32_t)run->blocks; block++) {
        const void *elements;
        size_t words;
        if (tidings_recover_block(run->recover, run->sums, block, &elements, &words)) return false;
        const uint64_t *found = elements;
        if (!found) continue;
        is_right &= found[0] == phases * sums[block][0];
        is_right &= found[words - 1] == phases * sums[block][1];
    }
    free(sums);
    return is_right;
}

/* Goes on with the ranks that live. */
static void regroup(Run *run)
{
    MPI_Comm before = run->living;
    if (!tidings_recover_survives(run->recover)) return;
    if (tidings_recover_living(run->recover, &run->living)) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_rank(run->living, &run->rank);
    MPI_Comm_size(run->living, &run->ranks);
    if (before != MPI_COMM_WORLD) MPI_Comm_free(&before);
}

static void report(const Run *run, int phase, const TidingsRecoverPhase *did, bool is_right)
{
    static const char *const schemes[] = { "lazy", "collective", "non-collective" };
    enum { COUNTS = 7 };
    const TidingsRecoveryCounters *own = &did->counters;
    unsigned long long counts[COUNTS] = { own->executed, own->steals,  own->again,
                                          own->applied,  own->dropped, own->begun_again,
                                          (unsigned long long)is_right };
    unsigned long long sums[COUNTS];
    double seconds, work_s;
    MPI_Reduce(counts, sums, COUNTS, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, run->living);
    MPI_Reduce(&did->seconds, &seconds, 1, MPI_DOUBLE, MPI_MAX, 0, run->living);
    MPI_Reduce(&did->work_seconds, &work_s, 1, MPI_DOUBLE, MPI_SUM, 0, run->living);
    if (run->rank) return;
    printf("{\"phase\":%d,\"scheme\":\"%s\",\"ranks\":%d,\"deaths\":%u,\"tasks\":%ld,"
           "\"seconds\":%.6f,\"work_seconds\":%.6f,\"rounds\":%llu,\"executed\":%llu,"
           "\"steals\":%llu,\"again\":%llu,\"applied\":%llu,\"dropped\":%llu,\"begun_again\":%llu,"
           "\"right\":%s}\n",
           phase, schemes[run->options.scheme], run->ranks, did->deaths, run->tasks, seconds,
           work_s, (unsigned long long)own->rounds, sums[0], sums[1], sums[2], sums[3], sums[4],
           sums[5], sums[6] == (unsigned long long)run->ranks ? "true" : "false");
    fflush(stdout);
}

/* Runs the phases; a status. */
static int run_all(Run *run)
{
    const TidingsRecoveryPlan plan = { run, (uint64_t)run->tasks, outputs, NULL };
    int is_wrong = 0;
    for (int phase = 1; phase <= run->phases; phase++) {
        TidingsRecoverPhase did;
        TidingsRecoverError error;
        int status =
            tidings_recover_phase(run->recover, "sums", &plan, body, run, &did, &error);
        if (status && status != TIDINGS_RECOVER_REFUSED) {
            fprintf(stderr, "tidings-mpi-recover: %s\n", error.text);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        regroup(run);
        if (status && !run->rank) fprintf(stderr, "tidings-mpi-recover: %s\n", error.text);
        if (status) return 5;
        bool is_right = are_right(run, (uint64_t)phase);
        report(run, phase, &did, is_right);
        is_wrong |= !is_right;
    }
    MPI_Allreduce(MPI_IN_PLACE, &is_wrong, 1, MPI_INT, MPI_MAX, run->living);
    return is_wrong;
}

int main(int count, char **words)
{
    Run run = { .tasks = 1000, .task_us = 100, .blocks = 64, .words = 8, .phases = 1,
                .living = MPI_COMM_WORLD };
    TidingsRecoverError error;
    int provided;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    if (!read_words(&run, count, words)) {
        MPI_Finalize();
        return 2;
    }
    TidingsRecoveryArray array = { "sums", (uint32_t)run.blocks, (uint32_t)run.words,
                                   TIDINGS_RECOVERY_KIND_INTEGERS, !run.is_alone,
                                   !run.is_refusing };
    if (tidings_recover_open(MPI_COMM_WORLD, &run.options, &run.recover, &error) ||
        tidings_recover_array(run.recover, &array, &run.sums, &error)) {
        fprintf(stderr, "tidings-mpi-recover: %s\n", error.text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    int status = run_all(&run);
    tidings_recover_close(run.recover);
    MPI_Finalize();
    return status;
}
