/*
 * An application of work stealing on the ranks of an MPI program: what it found, and what each
 * iteration took.
 * usage: mpirun -n RANKS tidings-mpi-steal APPLICATION
 *        [--selection random|lifelines|known|nearest] [--iterations N] [--retain] [--one-sided]
 *        [--half work|count] [--poll-us N] [--seed N] [--check] [--model] [--task-ns N]
 *        [--unit-us N] [--progress-us N] [--trace FILE] [--replay FILE] [--slow-us N]
 *        [--kill RANK,TASKS]... [--balance] [--change PERCENT]
 * On a simulated machine a task takes --task-ns and does what it does. With --model, tasks whose
 * work is predicted take that time instead and find nothing, so that a thousand ranks fit into
 * one process; with --progress-us such a task looks for messages so often, and with --change what
 * it takes differs in each iteration by up to so many per cent. With --balance ranks balance before
 * each iteration but the first what tasks took in the last. With --kill a rank kills itself
 * when it has run so many tasks. APPLICATION is a name such as uts:T1, fib:30,
 * queens:12, scf:4x2x2, tce:24,8, homology:400 or uneven:64000. Rank 0 prints a line of JSON for
 * each iteration, and writes the schedule of the last one to FILE; with --replay the first one is
 * done again as FILE says. With either, `order` is a hash of which tasks each rank ran, in their
 * order. With --slow-us a task of each third rank
 * takes so much longer. Where MPI survives deaths (tidings_steal_mpi.h), those that live go on,
 * and the least of them prints.
 * Status: 0 all is right (or not known to be wrong), 1 a result is wrong or a file is not
 * written or read, 2 the command cannot be run, 4 ranks have died and results are missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/machine.h"
#include "kills.h"
#include "tidings_applications.h"
#include "tidings_steal_balance.h"
#include "tidings_steal_mpi.h"
#include "tidings_steal_trace.h"

typedef struct Run {
    const char *name, *trace, *replay;
    TidingsStealOptions options;
    int iterations;
    Kill kill;
    bool check, model, balance;
    double change; /* the part of itself by which a task of a model differs from what is said */
    uint64_t iteration;
    TidingsStealBalancing balancing; /* before this iteration */
    double slow_s; /* that each of this rank's tasks takes longer */
    double progress_s; /* after which a task of a model looks for messages, 0: it does not */
    double owed_s; /* of simulated time, to be spent with what comes next */
    uint64_t order;
    double task_s; /* that a simulated machine takes for a task whose work nobody predicts */
    TidingsApplication *application;
    TidingsSteal *steal;
    uint16_t function;
    MPI_Comm living; /* the ranks that live */
    int rank, ranks; /* among them */
    int status;
} Run;

static void usage(const char *what)
{
    fprintf(stderr,
            "tidings-mpi-steal: %s\n"
            "usage: tidings-mpi-steal APPLICATION [--selection random|lifelines|known|nearest] "
            "[--iterations N] [--retain] [--one-sided] [--half work|count] [--poll-us N] "
            "[--seed N] [--check] [--model] [--task-ns N] [--unit-us N] [--progress-us N] "
            "[--trace FILE] [--replay FILE] [--slow-us N] [--kill RANK,TASKS]... [--balance] "
            "[--change PERCENT]\n",
            what);
}

/* The place of a word in a list that ends with null, -1 if it is not there. */
static int place(const char *word, const char *const *words)
{
    for (int at = 0; words[at]; at++)
        if (!strcmp(word, words[at])) return at;
    return -1;
}

/* Takes an option with a value. */
static bool take(Run *run, const char *option, const char *value)
{
    static const char *const selections[] = { "random", "lifelines", "known", "nearest",
                                              NULL };
    static const char *const halves[] = { "work", "count", NULL };
    long taken;
    int at;
    if (!strcmp(option, "--selection") && (at = place(value, selections)) >= 0) {
        run->options.selection = (uint32_t)at;
    } else if (!strcmp(option, "--half") && (at = place(value, halves)) >= 0) {
        run->options.half = (uint32_t)at;
    } else if (!strcmp(option, "--iterations") && kills_number(value, 1, 1000000, &taken)) {
        run->iterations = (int)taken;
    } else if (!strcmp(option, "--poll-us") && kills_number(value, 1, 1000000, &taken)) {
        run->options.poll_us = (uint32_t)taken;
    } else if (!strcmp(option, "--unit-us") && kills_number(value, 1000, 100000000, &taken)) {
        run->options.unit_us = (uint32_t)taken;
    } else if (!strcmp(option, "--progress-us") && kills_number(value, 1, 1000000, &taken)) {
        run->progress_s = 1e-6 * (double)taken;
    } else if (!strcmp(option, "--task-ns") && kills_number(value, 0, 1000000000, &taken)) {
        run->task_s = 1e-9 * (double)taken;
    } else if (!strcmp(option, "--change") && kills_number(value, 0, 100, &taken)) {
        run->change = 0.01 * (double)taken;
    } else if (!strcmp(option, "--seed") && kills_number(value, 0, 2000000000, &taken)) {
        run->options.seed = (uint64_t)taken;
    } else if (!strcmp(option, "--kill")) {
        return kills_take(&run->kill, value, run->rank, run->ranks, 2000000000);
    } else if (!strcmp(option, "--slow-us") && kills_number(value, 0, 1000000, &taken)) {
        run->slow_s = run->rank % 3 ? 0 : 1e-6 * (double)taken;
    } else if (!strcmp(option, "--trace")) {
        run->trace = value;
    } else if (!strcmp(option, "--replay")) {
        run->replay = value;
    } else {
        return false;
    }
    return true;
}

static bool read_words(Run *run, int count, char **words)
{
    for (int at = 1; at < count; at++) {
        if (!strcmp(words[at], "--retain")) {
            run->options.retain = true;
        } else if (!strcmp(words[at], "--one-sided")) {
            run->options.one_sided = true;
        } else if (!strcmp(words[at], "--balance")) {
            run->balance = run->options.retain = true;
        } else if (!strcmp(words[at], "--check")) {
            run->check = true;
        } else if (!strcmp(words[at], "--model") && machine_simulated()) {
            run->model = true;
        } else if (words[at][0] != '-') {
            run->name = words[at];
        } else if (at + 1 < count && take(run, words[at], words[at + 1])) {
            at++;
        } else {
            if (!run->rank) usage(words[at]);
            return false;
        }
    }
    run->application = run->name ? tidings_application_open(run->name) : NULL;
    if (!run->application && !run->rank)
        usage(run->name ? "there is no such application" : "which application?");
    return run->application;
}

/* What a task spawns. */
static void spawn(void *user, uint64_t work_ns, const void *task, size_t bytes)
{
    TidingsStealTasks *tasks = user;
    const Run *run = tidings_steal_user(tasks);
    if (tidings_steal_spawn(tasks, run->function, work_ns, task, bytes))
        MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A hash goes on with the bytes of a task. */
static uint64_t hashed(uint64_t hash, const uint8_t *task, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++)
        hash = (hash ^ task[at]) * 1099511628211u;
    return (hash ^ bytes) * 1099511628211u;
}

/* Time that a model spends at once: a shorter one would be an event of the simulator as others. */
#define SHORT_S 20e-6

/* Spends simulated time. In a model what is short is spent with what comes next. */
static void spend(Run *run, double seconds)
{
    run->owed_s += seconds;
    if (run->model && run->owed_s < SHORT_S) return;
    machine_work(run->owed_s);
    run->owed_s = 0;
}

/* Spends what a task of a model takes, and has its rank answer meanwhile. */
static void spend_looking(Run *run, TidingsStealTasks *tasks, double seconds)
{
    while (run->progress_s > 0 && seconds > run->progress_s) {
        machine_work(run->progress_s);
        seconds -= run->progress_s;
        tidings_steal_progress(tasks);
    }
    spend(run, seconds);
}

/* Takes a while. */
static void linger(double seconds)
{
    if (machine_simulated()) return machine_work(seconds);
    for (double until_s = MPI_Wtime() + seconds; MPI_Wtime() < until_s;)
        ;
}

/* What a task of a model takes in this iteration, 0 if nobody knows. */
static double model(const Run *run, const void *task, size_t bytes)
{
    uint64_t hash = hashed(run->iteration, task, bytes);
    double part = (double)(hash * 0x9E3779B97F4A7C15u >> 11) * 0x1p-52 - 1;
    double cost_s = 1e-9 * (double)tidings_application_cost(run->application, task, bytes);
    return cost_s * (1 + run->change * part);
}

static void body(TidingsStealTasks *tasks, void *user)
{
    size_t bytes;
    Run *run = user;
    const void *task = tidings_steal_state(tasks, &bytes);
    if (run->trace || run->replay) run->order = hashed(run->order, task, bytes);
    if (run->slow_s > 0) linger(run->slow_s);
    double model_s = run->model ? model(run, task, bytes) : 0;
    kills_count(&run->kill);
    if (model_s > 0) return spend_looking(run, tasks, model_s);
    if (machine_simulated()) spend(run, run->task_s);
    if (!tidings_application_run(run->application, task, bytes, spawn, tasks))
        MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A task of the list. */
static void add(void *user, uint64_t work_ns, const void *task, size_t bytes)
{
    const Run *run = user;
    if (tidings_steal_add(run->steal, run->function, work_ns, task, bytes))
        MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Adds up on rank 0 what all have found. */
static void collect(Run *run)
{
    size_t count = tidings_application_total(run->application, NULL, 0);
    uint64_t *words = calloc(count + 1, sizeof *words);
    if (!words) MPI_Abort(MPI_COMM_WORLD, 3);
    tidings_application_total(run->application, words, count);
    for (int rank = 1; rank < run->ranks; rank++) {
        if (run->rank == rank) MPI_Send(words, (int)count, MPI_UINT64_T, 0, 7, run->living);
        if (run->rank) continue;
        MPI_Recv(words, (int)count, MPI_UINT64_T, rank, 7, run->living, MPI_STATUS_IGNORE);
        tidings_application_merge(run->application, words, count);
    }
    free(words);
}

/* Sums over ranks of what a phase did, and the longest. */
typedef struct Sums {
    double work_s, waiting_s, seconds;
    unsigned long long counts[8], order, balance_bytes;
} Sums;

static Sums sum(const Run *run, const TidingsStealPhase *phase)
{
    Sums sums;
    MPI_Comm living = run->living;
    unsigned long long order = run->order, balance_bytes = run->balancing.bytes;
    unsigned long long own[8] = { phase->counters.executed, phase->counters.attempts,
                                  phase->counters.steals,   phase->counters.tasks_in,
                                  phase->counters.pushed,   phase->counters.lifelines,
                                  phase->messages,          phase->bytes };
    double within_s = phase->seconds - phase->enter_seconds;
    MPI_Reduce(&order, &sums.order, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, living);
    MPI_Reduce(&balance_bytes, &sums.balance_bytes, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, living);
    MPI_Reduce(own, sums.counts, 8, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, living);
    MPI_Reduce(&phase->work_seconds, &sums.work_s, 1, MPI_DOUBLE, MPI_SUM, 0, living);
    MPI_Reduce(&phase->waiting_seconds, &sums.waiting_s, 1, MPI_DOUBLE, MPI_SUM, 0, living);
    MPI_Reduce(&within_s, &sums.seconds, 1, MPI_DOUBLE, MPI_MAX, 0, living);
    return sums;
}

/* Goes on with the ranks that live. */
static void regroup(Run *run)
{
    MPI_Comm before = run->living;
    if (tidings_steal_living(run->steal, &run->living)) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_rank(run->living, &run->rank);
    MPI_Comm_size(run->living, &run->ranks);
    if (before != MPI_COMM_WORLD) MPI_Comm_free(&before);
}

/* Runs a phase; whether nothing is missing. */
static bool run_phase(Run *run, TidingsStealPhase *phase)
{
    TidingsStealError error;
    int status = tidings_steal_phase(run->steal, run->name, phase, &error);
    if (!status) return true;
    if (status == TIDINGS_STEAL_LOST) regroup(run);
    if (status != TIDINGS_STEAL_LOST || !run->rank)
        fprintf(stderr, "tidings-mpi-steal: %s\n", error.text);
    if (status != TIDINGS_STEAL_LOST) MPI_Abort(MPI_COMM_WORLD, 3);
    return false;
}

/* Prints what an iteration took and found; whether that is right, -1 if nobody knows. */
static int report(Run *run, int iteration, const TidingsStealPhase *phase, const Sums *sums,
                  bool is_whole)
{
    static const char *const seedings[] = { "retained",      "given",        "first",
                                            "other-workers", "other-number", "other-tasks" };
    char found[256] = "";
    int right = tidings_application_verdict(run->application, run->check, found, sizeof found);
    if (run->model || !is_whole) right = -1;
    char order[24] = "null";
    if (run->trace || run->replay) snprintf(order, sizeof order, "\"%016llx\"", sums->order);
    printf("{\"application\":\"%s\",\"ranks\":%d,\"iteration\":%d,\"seeding\":\"%s\",\"seconds\":%"
           ".6f,"
           "\"work_seconds\":%.6f,\"waiting_seconds\":%.6f,\"efficiency\":%.4f,"
           "\"tasks\":%llu,\"attempts\":%llu,\"steals\":%llu,"
           "\"moved\":%llu,\"pushed\":%llu,\"lifelines\":%llu,\"messages\":%llu,\"bytes\":%llu,"
           "\"balanced\":%llu,\"balance_seconds\":%.6f,\"balance_bytes\":%llu,"
           "\"deaths\":%u,\"lost\":%llu,\"order\":%s,\"found\":\"%s\",\"right\":%s}\n",
           run->name, run->ranks, iteration, seedings[phase->seeding], sums->seconds, sums->work_s,
           sums->waiting_s, sums->work_s / (run->ranks * sums->seconds), sums->counts[0],
           sums->counts[1], sums->counts[2], sums->counts[3], sums->counts[4], sums->counts[5],
           sums->counts[6], sums->counts[7], (unsigned long long)run->balancing.moved,
           run->balancing.seconds, sums->balance_bytes, phase->deaths,
           (unsigned long long)phase->lost_tasks, order, found,
           right < 0 ? "null"
           : right   ? "true"
                     : "false");
    fflush(stdout);
    return right;
}

/* Balances what tasks took in the last iteration. */
static void balance(Run *run)
{
    TidingsStealError error;
    if (!tidings_steal_balance(run->steal, run->name, &run->balancing, &error)) return;
    fprintf(stderr, "tidings-mpi-steal: %s\n", error.text);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* One iteration, whose result all that live know. */
static void iterate(Run *run, int iteration)
{
    TidingsStealPhase phase;
    tidings_application_clear(run->application);
    run->order = 14695981039346656037u ^ (unsigned)run->rank;
    tidings_application_roots(run->application, (uint32_t)run->rank, (uint32_t)run->ranks, add,
                              run);
    run->iteration = (uint64_t)iteration;
    if (run->balance && iteration > 1) balance(run);
    bool is_whole = run_phase(run, &phase);
    collect(run);
    Sums sums = sum(run, &phase);
    int right = run->rank ? 0 : report(run, iteration, &phase, &sums, is_whole);
    MPI_Bcast(&right, 1, MPI_INT, 0, run->living);
    if (!right) run->status = 1;
    if (!is_whole && !run->status) run->status = 4;
}

int main(int count, char **words)
{
    Run run = { .iterations = 1, .living = MPI_COMM_WORLD };
    TidingsStealError error;
    int provided;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    if (!read_words(&run, count, words)) {
        MPI_Finalize();
        return 2;
    }
    if (tidings_steal_open(MPI_COMM_WORLD, &run.options, &run.steal, &error)) {
        fprintf(stderr, "tidings-mpi-steal: %s\n", error.text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (run.kill.is_asked && !tidings_steal_survives(run.steal) && !run.rank)
        fputs("tidings-mpi-steal: a death will end the job: this MPI does not survive deaths, or "
              "was not started so (Open MPI 5: mpirun --with-ft ulfm)\n",
              stderr);
    tidings_steal_function(run.steal, body, &run, &run.function);
    if (run.replay && tidings_steal_replay(run.steal, run.name, run.replay, &error)) {
        if (!run.rank) fprintf(stderr, "tidings-mpi-steal: %s\n", error.text);
        run.status = 1;
        run.iterations = 0;
        run.trace = NULL;
    }
    for (int iteration = 1; iteration <= run.iterations; iteration++)
        iterate(&run, iteration);
    if (run.trace && tidings_steal_trace(run.steal, run.name, run.trace, &error)) {
        if (!run.rank) fprintf(stderr, "tidings-mpi-steal: %s\n", error.text);
        run.status = 1;
    }
    MPI_Bcast(&run.status, 1, MPI_INT, 0, run.living);
    tidings_steal_close(run.steal);
    tidings_application_free(run.application);
    MPI_Finalize();
    return run.status;
}
