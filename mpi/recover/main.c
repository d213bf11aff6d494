/*
 * Phases whose ranks may die: tasks that compute for a while and add to two blocks of an array of
 * integers each, whose sums are known.
 * usage: mpirun -n RANKS tidings-mpi-recover [--scheme lazy|collective|non-collective] [--tasks N]
 *        [--task-us N] [--blocks N] [--words N] [--phases N] [--alone] [--refuse] [--stray]
 *        [--fixed] [--paired] [--witness FILE] [--kill RANK,TASKS]...
 * With --alone blocks have no copy, with --refuse a lost block is not begun again, with --stray a
 * task adds to a block that it has not declared, with --kill a rank kills itself when it has run so
 * many tasks. With --fixed a task does as much work as takes so long on an idle processor, instead
 * of waiting until so long has passed; with --paired every other phase is bare: its tasks add
 * nothing. --witness names a file in which tasks are noted (witness.h). The least rank that lives
 * prints a line of JSON for each phase. Status: 0 all sums are right, 1 one is wrong, 2 the command
 * cannot be run, 5 a block is lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../steal/kills.h"
#include "sums.h"
#include "tidings_recover_mpi.h"
#include "witness.h"

/* Tasks of all phases that a witness notes. */
#define WITNESS_TASKS (1L << 24)

typedef struct Run {
    TidingsRecoverOptions options;
    long tasks, task_us, blocks, words, phases;
    Kill kill;
    bool is_alone, is_refusing, is_stray, is_fixed, is_paired;
    const char *witness_path; /* null: none */
    Witness witness;
    int phase;     /* from 1 on */
    bool is_bare;  /* its tasks add nothing */
    uint64_t work; /* of a task, in steps */
    TidingsRecover *recover;
    uint16_t sums;
    MPI_Comm comm; /* for sums */
    bool *lives;   /* each rank */
    int rank, ranks;
} Run;

static void usage(const char *what)
{
    fprintf(stderr,
            "tidings-mpi-recover: %s\n"
            "usage: tidings-mpi-recover [--scheme lazy|collective|non-collective] [--tasks N] "
            "[--task-us N] [--blocks N] [--words N] [--phases N] [--alone] [--refuse] [--stray] "
            "[--fixed] [--paired] [--witness FILE] [--kill RANK,TASKS]...\n",
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

static bool read_words(Run *run, int count, char **words)
{
    for (int at = 1; at < count; at++) {
        if (take_flag(run, words[at])) {
            continue;
        } else if (at + 1 < count && !strcmp(words[at], "--witness")) {
            run->witness_path = words[++at];
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
    if (run->is_bare) return 0;
    targets(run, task, blocks);
    for (int i = 0; i < 2; i++)
        places[i] = (TidingsRecoveryPlace){ run->sums, blocks[i] };
    return 2;
}

/* So many steps that no compiler shortens: xorshift of Marsaglia. */
static void step(uint64_t steps)
{
    volatile uint64_t kept = 1;
    uint64_t value = kept;
    for (uint64_t at = 0; at < steps; at++) {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    kept = value;
}

/* How many steps take as long as a task shall: by the fastest of some tries, the same at all. */
static uint64_t calibrate(long task_us)
{
    double least_s = 1;
    for (int at = 0; at < 20; at++) {
        double began_s = MPI_Wtime();
        step(1000000);
        double took_s = MPI_Wtime() - began_s;
        if (took_s < least_s) least_s = took_s;
    }
    MPI_Bcast(&least_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return (uint64_t)((double)task_us / least_s);
}

/* What a task computes. */
static void compute(const Run *run)
{
    double until_s = MPI_Wtime() + 1e-6 * (double)run->task_us;
    if (run->is_fixed) step(run->work);
    while (!run->is_fixed && MPI_Wtime() < until_s)
        ;
}

/* Adds to both blocks. */
static void add(const Run *run, TidingsRecoverTask *task, uint64_t number)
{
    uint32_t blocks[2];
    uint64_t *elements = malloc((size_t)run->words * sizeof *elements);
    if (!elements) MPI_Abort(MPI_COMM_WORLD, 3);
    targets(run, number, blocks);
    for (int i = 0; i < 2; i++) {
        for (long at = 0; at < run->words; at++)
            elements[at] = (number + 1) * (uint64_t)(at + 1 + i);
        uint32_t block = run->is_stray ? blocks[i] + 1 : blocks[i];
        tidings_recover_add(task, run->sums, block, elements, (size_t)run->words);
    }
    free(elements);
}

static void body(TidingsRecoverTask *task, uint64_t number, void *user)
{
    Run *run = user;
    uint64_t of_all = (uint64_t)run->tasks * (uint64_t)(run->phase - 1) + number;
    witness_begins(&run->witness, of_all, tidings_recover_is_again(task));
    if (run->kill.ran + 1 == run->kill.last) witness_killed(&run->witness);
    kills_count(&run->kill);
    compute(run);
    if (!run->is_bare) add(run, task, number);
    witness_ended(&run->witness, of_all);
}

/* The blocks of a rank, or of all. */
typedef struct Blocks {
    unsigned long long right, wrong, lost;
} Blocks;

/* Whether the first and last element of each block are what they have to be after so many phases
 * that add. */
static Blocks look(Run *run, uint64_t phases)
{
    uint64_t(*sums)[2] = calloc((size_t)run->blocks, sizeof *sums);
    Blocks own = { 0 };
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
        int status = tidings_recover_block(run->recover, run->sums, block, &elements, &words);
        const uint64_t *found = elements;
        if (status && !own.lost++)
            fprintf(stderr, "tidings-mpi-recover: block %u is lost: its owner died\n", block);
        if (status || !found) continue;
        bool is_right = found[0] == phases * sums[block][0] &&
                        found[words - 1] == phases * sums[block][1];
        own.right += is_right;
        own.wrong += !is_right;
    }
    free(sums);
    return own;
}

/* Learns who lives. */
static void agree(Run *run)
{
    if (tidings_recover_agree(run->recover, run->lives)) MPI_Abort(MPI_COMM_WORLD, 3);
}

static bool is_first(const Run *run)
{
    return sums_first(run->lives) == run->rank;
}

/* Tells how a phase went; the status that this gives. */
static int report(Run *run, const TidingsRecoverPhase *did, uint64_t phases)
{
    static const char *const schemes[] = { "lazy", "collective", "non-collective" };
    const TidingsRecoveryCounters *own = &did->counters;
    Sums all;
    int living = 0;
    /* If a rank dies meanwhile its blocks have other owners. */
    while (!living) {
        agree(run);
        Blocks held = look(run, phases);
        all = (Sums){ { own->executed, own->steals, own->again, own->applied, own->dropped,
                        own->begun_again, held.right, held.wrong, held.lost },
                      did->work_seconds,
                      did->seconds };
        living = sums_make(run->comm, run->lives, &all);
    }
    const unsigned long long *sums = all.counts;
    bool is_right = sums[6] == (unsigned long long)run->blocks && !sums[7];
    int status = sums[8] ? 5 : !is_right;
    if (!is_first(run) || sums[8]) return status;
    printf("{\"phase\":%d,\"scheme\":\"%s\",\"bare\":%s,\"ranks\":%d,\"deaths\":%d,\"tasks\":%ld,"
           "\"seconds\":%.6f,\"work_seconds\":%.6f,\"rounds\":%llu,\"executed\":%llu,"
           "\"steals\":%llu,\"again\":%llu,\"applied\":%llu,\"dropped\":%llu,\"begun_again\":%llu,"
           "\"right\":%s}\n",
           run->phase, schemes[run->options.scheme], run->is_bare ? "true" : "false", living,
           run->ranks - living, run->tasks, all.most_seconds, all.seconds,
           (unsigned long long)own->rounds, sums[0], sums[1], sums[2], sums[3], sums[4], sums[5],
           is_right ? "true" : "false");
    fflush(stdout);
    return status;
}

/* Runs the phases; a status. */
static int run_all(Run *run)
{
    const TidingsRecoveryPlan plan = { run, (uint64_t)run->tasks, outputs, NULL };
    uint64_t added = 0;
    int worst = 0;
    for (run->phase = 1; run->phase <= run->phases; run->phase++) {
        run->is_bare = run->is_paired && run->phase % 2 == 0;
        TidingsRecoverPhase did;
        TidingsRecoverError error;
        int status =
            tidings_recover_phase(run->recover, "sums", &plan, body, run, &did, &error);
        if (status && status != TIDINGS_RECOVER_REFUSED) {
            fprintf(stderr, "tidings-mpi-recover: %s\n", error.text);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        if (status) {
            agree(run);
            if (is_first(run)) fprintf(stderr, "tidings-mpi-recover: %s\n", error.text);
            return 5;
        }
        added += !run->is_bare;
        status = report(run, &did, added);
        if (status == 5) return status;
        worst |= status;
    }
    return worst;
}

static bool open_witness(Run *run)
{
    bool is_open = run->tasks * run->phases <= WITNESS_TASKS &&
                   witness_open(&run->witness, run->witness_path,
                                (uint64_t)(run->tasks * run->phases), run->rank);
    if (!is_open)
        fprintf(stderr, "tidings-mpi-recover: %s cannot be a witness of %ld tasks\n",
                run->witness_path, run->tasks * run->phases);
    return is_open;
}

int main(int count, char **words)
{
    Run run = { .tasks = 1000, .task_us = 100, .blocks = 64, .words = 8, .phases = 1,
                .comm = MPI_COMM_NULL };
    TidingsRecoverError error;
    int provided;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    if (!read_words(&run, count, words)) {
        MPI_Finalize();
        return 2;
    }
    if (run.witness_path && !open_witness(&run)) MPI_Abort(MPI_COMM_WORLD, 3);
    TidingsRecoveryArray array = { "sums", (uint32_t)run.blocks, (uint32_t)run.words,
                                   TIDINGS_RECOVERY_KIND_INTEGERS, !run.is_alone,
                                   !run.is_refusing };
    if (tidings_recover_open(MPI_COMM_WORLD, &run.options, &run.recover, &error) ||
        tidings_recover_array(run.recover, &array, &run.sums, &error)) {
        fprintf(stderr, "tidings-mpi-recover: %s\n", error.text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &run.comm);
    MPI_Comm_set_errhandler(run.comm, MPI_ERRORS_RETURN);
    run.lives = calloc((size_t)run.ranks, sizeof *run.lives);
    if (!run.lives) MPI_Abort(MPI_COMM_WORLD, 3);
    if (run.is_fixed) run.work = calibrate(run.task_us);
    int status = run_all(&run);
    witness_left(&run.witness);
    tidings_recover_close(run.recover);
    free(run.lives);
    MPI_Finalize();
    return status;
}
