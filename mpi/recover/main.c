/*
 * Phases whose ranks may die: tasks that compute for a while and add to two blocks of an array of
 * integers each, whose sums are known.
 * usage: mpirun -n RANKS tidings-mpi-recover [--scheme lazy|collective|non-collective|checkpoint]
 *        [--tasks N] [--task-us N] [--blocks N] [--words N] [--phases N] [--parts N]
 *        [--folder DIRECTORY] [--summary STORE] [--alone] [--refuse] [--stray] [--fixed]
 *        [--paired] [--witness FILE] [--kill RANK,TASKS]...
 * With --alone blocks have no copy, with --refuse a lost block is not begun again, with --stray a
 * task adds to a block that it has not declared, with --kill a rank kills itself when it has run so
 * many tasks. With --fixed a task does as much work as takes so long on an idle processor, instead
 * of waiting until so long has passed; with --paired every other phase is bare: its tasks add
 * nothing. --witness names a file in which tasks are noted (witness.h). The scheme `checkpoint`
 * recovers nothing: after each of the parts of a phase all blocks are written to files of a folder
 * (checkpoint.h), and the same command goes on from there. With --summary the blocks are kept in a
 * store of the durable layer after each phase (summary.h), and the same command goes on with the
 * next one. The least rank that lives prints a line of JSON for each phase or part. Status: 0 all
 * sums are right, 1 one is wrong, 2 the command cannot be run, 3 something is refused, 5 a block is
 * lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "summary.h"

/* The blocks to which a task adds, which may be one. */
static void targets(const Run *run, uint64_t task, uint32_t blocks[2])
{
    blocks[0] = (uint32_t)(task % (uint64_t)run->blocks);
    blocks[1] = (uint32_t)((7 * task + 3) % (uint64_t)run->blocks);
}

static size_t outputs(void *user, uint64_t task, TidingsRecoveryPlace *places)
{
    const Part *part = user;
    uint32_t blocks[2];
    if (part->is_bare) return 0;
    if (part->is_restoring) {
        *places = (TidingsRecoveryPlace){ part->run->sums, (uint32_t)task };
        return 1;
    }
    targets(part->run, part->first + task, blocks);
    for (int i = 0; i < 2; i++)
        places[i] = (TidingsRecoveryPlace){ part->run->sums, blocks[i] };
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
    if (run->part.is_restoring) {
        const uint64_t *elements = run->saved.elements + number * run->saved.words;
        tidings_recover_add(task, run->sums, (uint32_t)number, elements, run->saved.words);
        return;
    }
    number += run->part.first;
    uint64_t of_all = (uint64_t)run->tasks * (uint64_t)(run->phase - 1) + number;
    witness_begins(&run->witness, of_all, tidings_recover_is_again(task));
    if (run->kill.ran + 1 == run->kill.last) witness_killed(&run->witness);
    kills_count(&run->kill);
    compute(run);
    if (!run->part.is_bare) add(run, task, number);
    witness_ended(&run->witness, of_all);
}

/* The blocks of a rank, or of all. */
typedef struct Blocks {
    unsigned long long right, wrong, lost;
} Blocks;

/* Whether the first and last element of each block are what they have to be after the phases before
 * this one that add, and what has run of this one. */
static Blocks look(Run *run)
{
    uint64_t before = (uint64_t)(run->is_paired ? run->phase / 2 : run->phase - 1);
    uint64_t(*sums)[2] = calloc((size_t)run->blocks, sizeof *sums);
    Blocks own = { 0 };
    if (!sums) MPI_Abort(MPI_COMM_WORLD, 3);
    for (uint64_t task = 0; task < (uint64_t)run->tasks; task++) {
        uint32_t blocks[2];
        uint64_t times = before + (!run->part.is_bare && task < run->part.next);
        targets(run, task, blocks);
        for (uint64_t i = 0; i < 2; i++) {
            sums[blocks[i]][0] += times * (task + 1) * (1 + i);
            sums[blocks[i]][1] += times * (task + 1) * ((uint64_t)run->words + i);
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
        bool is_right = found[0] == sums[block][0] && found[words - 1] == sums[block][1];
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
static int report(Run *run, const TidingsRecoverPhase *did)
{
    const TidingsRecoveryCounters *own = &did->counters;
    Sums all;
    int living = 0;
    /* If a rank dies meanwhile its blocks have other owners. */
    while (!living) {
        agree(run);
        Blocks held = look(run);
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
    printf("{\"phase\":%ld,\"scheme\":\"%s\",\"bare\":%s,\"ranks\":%d,\"deaths\":%d,\"tasks\":%ld,"
           "\"seconds\":%.6f,\"work_seconds\":%.6f,\"rounds\":%llu,\"executed\":%llu,"
           "\"steals\":%llu,\"again\":%llu,\"applied\":%llu,\"dropped\":%llu,\"begun_again\":%llu,"
           "\"right\":%s}\n",
           run->phase, run_schemes[run->scheme], run->part.is_bare ? "true" : "false", living,
           run->ranks - living, run->tasks, all.most_seconds, all.seconds,
           (unsigned long long)own->rounds, sums[0], sums[1], sums[2], sums[3], sums[4], sums[5],
           is_right ? "true" : "false");
    fflush(stdout);
    return status;
}

/* Ends the job, which has something to refuse. */
static void refuse(const char *why)
{
    fprintf(stderr, "tidings-mpi-recover: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Runs a phase, or a part of one; 0 or 5. */
static int run_one(Run *run, const char *name, uint64_t tasks, TidingsRecoverPhase *did)
{
    Part *part = &run->planned[run->plans++ % 2];
    const TidingsRecoveryPlan plan = { part, tasks, outputs, NULL };
    TidingsRecoverError error;
    *part = run->part;
    int status = tidings_recover_phase(run->recover, name, &plan, body, run, did, &error);
    if (status && status != TIDINGS_RECOVER_REFUSED) refuse(error.text);
    if (!status) return 0;
    agree(run);
    if (is_first(run)) fprintf(stderr, "tidings-mpi-recover: %s\n", error.text);
    return 5;
}

/* Says why something can be neither read nor kept; 3. */
static int complain(const Run *run)
{
    if (is_first(run))
        fprintf(stderr, "tidings-mpi-recover: %s\n",
                run->saved.trouble[0] ? run->saved.trouble : "another rank has failed");
    return 3;
}

/* Adds what an earlier job has saved to the array, which is of zeros; 0, 3 or 5. */
static int restore(Run *run)
{
    TidingsRecoverPhase did;
    bool is_read = true;
    if (run->checkpoint.folder) is_read = checkpoint_read(&run->checkpoint, &run->saved);
    if (run->store) is_read = summary_read(run->comm, run->store, &run->saved);
    if (!is_read) return complain(run);
    if (!run->saved.step) return 0;
    if (!run->rank) fprintf(stderr, "goes on after step %lu\n", (unsigned long)run->saved.step);
    run->part = (Part){ .run = run, .is_restoring = true };
    return run_one(run, "restore", run->saved.blocks, &did);
}

static const uint64_t *own_block(void *user, uint32_t block)
{
    const Run *run = user;
    const void *elements;
    size_t words;
    if (tidings_recover_block(run->recover, run->sums, block, &elements, &words)) return NULL;
    return elements;
}

/* Keeps a summary, with those that live; false if that cannot be. */
static bool summarise(Run *run)
{
    SummaryEnd end = SUMMARY_AGAIN;
    /* Each further try needs a death. */
    for (int tries = 0; end == SUMMARY_AGAIN && tries <= 2 * run->ranks; tries++) {
        agree(run);
        int first = sums_first(run->lives);
        end = summary_write(run->comm, run->lives, run->store, &run->saved, own_block, run);
        agree(run);
        if (!run->lives[first]) end = SUMMARY_AGAIN;
    }
    return end == SUMMARY_KEPT;
}

/* Keeps the blocks for a later job; 0 or 3. */
static int save(Run *run, uint64_t step)
{
    bool is_kept = true;
    run->saved.step = step;
    if (run->checkpoint.folder)
        is_kept = checkpoint_write(&run->checkpoint, &run->saved, own_block, run);
    if (run->store) is_kept = summarise(run);
    return is_kept ? 0 : complain(run);
}

/* Runs the phases, from the first that no earlier job has done; a status. */
static int run_all(Run *run)
{
    run->saved.blocks = (uint32_t)run->blocks;
    run->saved.words = (uint32_t)run->words;
    agree(run);
    int worst = restore(run);
    uint64_t parts = (uint64_t)run->parts, steps = parts * (uint64_t)run->phases;
    for (uint64_t step = run->saved.step; step < steps && worst <= 1; step++) {
        TidingsRecoverPhase did;
        uint64_t part = step % parts, tasks = (uint64_t)run->tasks;
        run->phase = (long)(step / parts) + 1;
        run->part = (Part){ run, tasks * part / parts, tasks * (part + 1) / parts, false,
                            run->is_paired && run->phase % 2 == 0 };
        int status = run_one(run, "sums", run->part.next - run->part.first, &did);
        if (!status) status = report(run, &did);
        if (!status) status = save(run, step + 1);
        if (status) worst = status;
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
    Run run = { .tasks = 1000, .task_us = 100, .blocks = 64, .words = 8, .phases = 1, .parts = 1,
                .comm = MPI_COMM_NULL };
    TidingsRecoverError error;
    int provided;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    if (!arguments_read(&run, count, words)) {
        MPI_Finalize();
        return 2;
    }
    if (run.witness_path && !open_witness(&run)) MPI_Abort(MPI_COMM_WORLD, 3);
    TidingsRecoveryArray array = { "sums", (uint32_t)run.blocks, (uint32_t)run.words,
                                   TIDINGS_RECOVERY_KIND_INTEGERS,
                                   !run.is_alone && run.scheme != RUN_CHECKPOINT,
                                   !run.is_refusing };
    if (tidings_recover_open(MPI_COMM_WORLD, &run.options, &run.recover, &error) ||
        tidings_recover_array(run.recover, &array, &run.sums, &error)) {
        fprintf(stderr, "tidings-mpi-recover: %s\n", error.text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &run.comm);
    MPI_Comm_set_errhandler(run.comm, MPI_ERRORS_RETURN);
    run.checkpoint.comm = run.comm;
    run.lives = calloc((size_t)run.ranks, sizeof *run.lives);
    if (!run.lives) MPI_Abort(MPI_COMM_WORLD, 3);
    if (run.is_fixed) run.work = calibrate(run.task_us);
    int status = run_all(&run);
    witness_left(&run.witness);
    tidings_recover_close(run.recover);
    summary_close();
    free(run.lives);
    free(run.saved.elements);
    MPI_Finalize();
    return status;
}
