/*
 * Work stealing on ranks, checked from within: tests/mpi/stealing.rs runs it with the name of a
 * check. Rank 0 prints "done" if all ranks found what they should.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bell.h"
#include "tidings_steal_array.h"
#include "tidings_steal_trace.h"

typedef struct Sum {
    uint16_t function, then;
    long long leaves, tasks;
    TidingsStealArray *array;
    const char *how;
} Sum;

int rank, ranks;
static bool is_well = true;

void near(void), balanced(void); /* in stealing_near.c and stealing_balance.c */

void expect(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    is_well = false;
}

static TidingsSteal *opened(const TidingsStealOptions *options)
{
    TidingsSteal *steal;
    TidingsStealError error;
    if (tidings_steal_open(MPI_COMM_WORLD, options, &steal, &error)) {
        fprintf(stderr, "%s\n", error.text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return steal;
}

static void run(TidingsSteal *steal, const char *name, TidingsStealPhase *phase)
{
    TidingsStealError error;
    if (tidings_steal_phase(steal, name, phase, &error)) {
        fprintf(stderr, "%s\n", error.text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static long long total(long long own)
{
    long long sum;
    MPI_Allreduce(&own, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static int number(const TidingsStealTasks *tasks)
{
    int n;
    memcpy(&n, tidings_steal_state(tasks, NULL), sizeof n);
    return n;
}

/* Fibonacci numbers by each of the ways in which a task has children. */
static void fibonacci(TidingsStealTasks *tasks, void *user)
{
    Sum *sum = user;
    int n = number(tasks), first = n - 1, second = n - 2;
    TidingsStealTask child = { sum->function, 0, 0, &first, sizeof first };
    sum->tasks++;
    if (n < 2) {
        sum->leaves += n;
    } else if (!strcmp(sum->how, "help-first")) {
        tidings_steal_spawn(tasks, sum->function, 0, &first, sizeof first);
        tidings_steal_spawn(tasks, sum->function, 0, &second, sizeof second);
    } else if (tidings_steal_step(tasks) == 0) {
        tidings_steal_child_first(tasks, &child, 1, &n, sizeof n);
    } else {
        child.state = &second;
        tidings_steal_child_first(tasks, &child, 2, &second, sizeof second);
    }
}

/* The last step of a task of which nothing is left. */
static void fibonacci_step(TidingsStealTasks *tasks, void *user)
{
    if (tidings_steal_step(tasks) < 2) fibonacci(tasks, user);
}

static void policies(void)
{
    static const char *const hows[] = { "help-first", "work-first" };
    for (int selection = 0; selection < 4; selection++) {
        for (int how = 0; how < 2; how++) {
            TidingsStealOptions options = { .selection = (uint32_t)selection, .seed = 7 };
            TidingsSteal *steal = opened(&options);
            Sum sum = { .how = hows[how] };
            int n = 18;
            tidings_steal_function(steal, fibonacci_step, &sum, &sum.function);
            for (int round = 1; round <= 3; round++) {
                if (rank == round % ranks) tidings_steal_add(steal, sum.function, 0, &n, sizeof n);
                run(steal, "fibonacci", NULL);
                expect(total(sum.leaves) == 2584LL * round,
                       "a phase ended early or ran a task twice");
            }
            tidings_steal_close(steal);
        }
    }
}

/* A tree of finishes: when a task's children are done, what they have added is in the array. */
static void below(TidingsStealTasks *tasks, void *user)
{
    Sum *sum = user;
    int n = number(tasks), children = n - 1;
    double one[4] = { 1, 0, 0, 0 };
    if (tidings_steal_step(tasks) == 1) {
        double block[4];
        tidings_steal_array_get(sum->array, n, 0, block);
        /* Each of 3 to the power of (8 - n) tasks at this depth has 3 children. */
        expect(block[0] >= 3, "a finish was over before its children were");
        sum->tasks++;
        return;
    }
    tidings_steal_array_accumulate(sum->array, n + 1, 0, one);
    if (n == 0) return;
    TidingsStealTask group = { sum->then, 0, 0, &children, sizeof children };
    tidings_steal_finish_first(tasks, &group, 1, &n, sizeof n);
}

/* The children of a task. */
static void group(TidingsStealTasks *tasks, void *user)
{
    const Sum *sum = user;
    int n = number(tasks);
    for (int child = 0; child < 3; child++)
        tidings_steal_spawn(tasks, sum->function, 0, &n, sizeof n);
}

static void finishes(void)
{
    TidingsStealError error;
    TidingsSteal *steal = opened(NULL);
    Sum sum = { 0 };
    int n = 7, tasks = 0;
    expect(!tidings_steal_array_create(steal, 10, 4, 1, 4, &sum.array, &error), error.text);
    tidings_steal_function(steal, below, &sum, &sum.function);
    tidings_steal_function(steal, group, &sum, &sum.then);
    if (rank == ranks - 1) tidings_steal_add(steal, sum.function, 0, &n, sizeof n);
    run(steal, "finishes", NULL);
    tidings_steal_array_sync(sum.array);
    for (int depth = 0, count = 1; depth <= n; depth++, count *= 3) {
        double block[4];
        tidings_steal_array_get(sum.array, n - depth + 1, 0, block);
        expect(block[0] == count, "an accumulate is missing or was doubled");
        if (depth < n) tasks += count;
    }
    expect(total(sum.tasks) == tasks, "what follows a finish did not run once");
    tidings_steal_array_free(sum.array);
    tidings_steal_close(steal);
}

/* As deep as no stack is: by spawns, by continuations, by finishes. */
static void deeper(TidingsStealTasks *tasks, void *user)
{
    Sum *sum = user;
    int n = number(tasks), next = n - 1;
    TidingsStealTask child = { sum->function, 0, 0, &next, sizeof next };
    if (tidings_steal_step(tasks) == 0) sum->tasks++;
    if (n == 0 || tidings_steal_step(tasks) == 1) return;
    if (!strcmp(sum->how, "spawn"))
        tidings_steal_spawn(tasks, sum->function, 0, &next, sizeof next);
    else if (!strcmp(sum->how, "child"))
        tidings_steal_child_first(tasks, &child, 1, &n, sizeof n);
    else
        tidings_steal_finish_first(tasks, &child, 1, &n, sizeof n);
}

static void deep(void)
{
    static const char *const hows[] = { "spawn", "child", "finish" };
    for (int how = 0; how < 3; how++) {
        TidingsSteal *steal = opened(NULL);
        Sum sum = { .how = hows[how] };
        int n = 100000;
        tidings_steal_function(steal, deeper, &sum, &sum.function);
        if (rank == 0) tidings_steal_add(steal, sum.function, 0, &n, sizeof n);
        run(steal, "deep", NULL);
        expect(total(sum.tasks) == n + 1, "a depth of 100,000");
        tidings_steal_close(steal);
    }
}

static void counted(TidingsStealTasks *tasks, void *user)
{
    (void)tasks;
    ((Sum *)user)->tasks++;
}

static void retained(void)
{
    TidingsStealOptions options = { .retain = true };
    TidingsSteal *steal = opened(&options);
    TidingsStealPhase phase;
    Sum sum = { 0 };
    long long all = 0;
    static const uint32_t seedings[] = { TIDINGS_STEAL_SEEDING_FIRST,
                                         TIDINGS_STEAL_SEEDING_RETAINED,
                                         TIDINGS_STEAL_SEEDING_RETAINED,
                                         TIDINGS_STEAL_SEEDING_OTHER_NUMBER };
    tidings_steal_function(steal, counted, &sum, &sum.function);
    for (int iteration = 0; iteration < 4; iteration++) {
        int count = iteration < 3 ? 500 : 501;
        for (int task = 0; rank == 0 && task < count; task++)
            tidings_steal_add(steal, sum.function, 1000, &task, sizeof task);
        run(steal, "retained", &phase);
        all += count;
        expect(phase.seeding == seedings[iteration], "another seeding was expected");
        expect(total(sum.tasks) == all, "a retained phase runs each task once");
    }
    tidings_steal_close(steal);
}

static void within(TidingsStealTasks *tasks, void *user)
{
    Sum *sum = user;
    char large[300] = { 0 };
    TidingsStealTask child = { sum->function, 1, 0, NULL, 0 };
    if (tidings_steal_step(tasks) == 1) return;
    expect(tidings_steal_spawn(tasks, sum->function, 0, large, sizeof large) ==
               TIDINGS_STEAL_STATUS_TOO_LARGE,
           "a task larger than its slot");
    expect(tidings_steal_spawn(tasks, 9, 0, NULL, 0) == TIDINGS_STEAL_FUNCTION, "no function");
    expect(tidings_steal_spawn(tasks, sum->function, 0, NULL, 8) == TIDINGS_STEAL_STATUS_NULL,
           "bytes that are not there");
    expect(!tidings_steal_child_first(tasks, &child, 1, NULL, 0), "a child");
    expect(tidings_steal_spawn(tasks, sum->function, 0, NULL, 0) ==
               TIDINGS_STEAL_STATUS_OUTSIDE_TASK,
           "a spawn behind the end of a step");
    sum->tasks++;
}

static void refused(void)
{
    TidingsSteal *steal;
    TidingsStealError error;
    Sum sum = { 0 };
    char name[300], large[300] = { 0 };
    TidingsStealOptions wrong = { .selection = 9 };
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    expect(tidings_steal_open(MPI_COMM_WORLD, &wrong, &steal, &error) ==
               TIDINGS_STEAL_STATUS_CONFIGURATION,
           "a selection that there is not");
    steal = opened(NULL);
    expect(tidings_steal_add(steal, 0, 0, NULL, 0) == TIDINGS_STEAL_FUNCTION, "no function yet");
    tidings_steal_function(steal, within, &sum, &sum.function);
    expect(tidings_steal_add(steal, sum.function, 0, large, sizeof large) ==
               TIDINGS_STEAL_STATUS_TOO_LARGE,
           "a task larger than its slot");
    expect(tidings_steal_spawn(NULL, 0, 0, NULL, 0) == TIDINGS_STEAL_STATUS_OUTSIDE_TASK,
           "outside");
    expect(tidings_steal_phase(steal, name, NULL, &error), "a name that is too long");
    tidings_steal_add(steal, sum.function, 0, NULL, 0);
    run(steal, "refused", NULL);
    expect(sum.tasks <= ranks && total(sum.tasks) == ranks, "each rank's task ran once");
    expect(tidings_steal_function(steal, within, &sum, &sum.function) == TIDINGS_STEAL_FUNCTIONS,
           "a function after the first phase");
    /* All are told when phases differ, and nothing more can be done. */
    expect(tidings_steal_phase(steal, rank ? "one" : "other", NULL, &error) ==
               (ranks > 1 ? TIDINGS_STEAL_DIFFERENT : 0),
           "different phases");
    expect(ranks == 1 || tidings_steal_phase(steal, "same", NULL, &error) == TIDINGS_STEAL_ENDED,
           "a phase after one that failed");
    tidings_steal_close(steal);
}

static void alone(void)
{
    TidingsStealOptions options = { .enter_ms = 200 };
    TidingsStealError error;
    TidingsSteal *steal = opened(&options);
    if (rank == 0) {
        expect(tidings_steal_phase(steal, "alone", NULL, &error) == TIDINGS_STEAL_ALONE, "alone");
        fprintf(stderr, "%s\n", error.text);
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* not a phase: rank 0 waits there, rank 1 here */
}

static void aborts(TidingsStealTasks *tasks, void *user)
{
    (void)tasks, (void)user;
    MPI_Abort(MPI_COMM_WORLD, 7);
}

static void aborted(void)
{
    TidingsSteal *steal = opened(NULL);
    uint16_t function;
    tidings_steal_function(steal, aborts, NULL, &function);
    if (rank == 0) tidings_steal_add(steal, function, 0, NULL, 0);
    run(steal, "aborted", NULL);
}

/* Matrices by blocks, which do not fill the last row and column of blocks. */
static void arrays(void)
{
    TidingsStealError error;
    TidingsSteal *steal = opened(NULL);
    TidingsStealArray *array;
    int64_t rows, columns;
    double block[6], mine[6] = { 1, 2, 3, 4, 5, 6 };
    expect(tidings_steal_array_create(steal, 0, 4, 2, 3, &array, &error), "no rows");
    expect(tidings_steal_array_create(steal, 5, 7, 2, 3, &array, &error) == 0, error.text);
    tidings_steal_array_blocks(array, &rows, &columns);
    expect(rows == 3 && columns == 3, "blocks");
    expect(tidings_steal_array_owner(array, 3, 0) == -1, "no such block");
    expect(tidings_steal_array_get(array, 0, 3, block) == TIDINGS_STEAL_STATUS_CONFIGURATION,
           "none");
    for (int64_t at = 0; at < 9; at++)
        expect(!tidings_steal_array_accumulate(array, at / 3, at % 3, mine), "accumulate");
    tidings_steal_array_sync(array);
    for (int64_t at = 0; at < 9; at++) {
        expect(!tidings_steal_array_get(array, at / 3, at % 3, block), "get");
        expect(block[0] == ranks && block[5] == 6 * ranks, "each rank has added once");
    }
    tidings_steal_array_sync(array);
    if (rank == 0) expect(!tidings_steal_array_put(array, 2, 2, mine), "put");
    tidings_steal_array_sync(array);
    tidings_steal_array_get(array, 2, 2, block);
    expect(block[3] == 4, "what was put");
    tidings_steal_array_zero(array);
    tidings_steal_array_get(array, 2, 2, block);
    expect(block[3] == 0, "zeros");
    tidings_steal_array_free(array);
    tidings_steal_close(steal);
}

#define LARGE_BYTES 4000

/* What others tell rank 0 with the first task that they run. */
static int ran_there, told;

/* A task of rank 0 goes on when one has run elsewhere; it answers thieves meanwhile, or not. */
static void until_one_ran_elsewhere(TidingsStealTasks *tasks, bool answers)
{
    if (rank && !ran_there++) MPI_Send(&rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    while (!rank && ranks > 1 && !told) {
        MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &told, MPI_STATUS_IGNORE);
        if (answers) tidings_steal_progress(tasks);
    }
}

/* Takes in what all have told. */
static void hear_all(void)
{
    for (long long left = total(ran_there > 0); !rank && left; left--)
        MPI_Recv(&told, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void large_task(TidingsStealTasks *tasks, void *user)
{
    size_t bytes;
    const uint8_t *state = tidings_steal_state(tasks, &bytes);
    expect(bytes == LARGE_BYTES, "as many bytes");
    for (size_t at = 1; at < bytes; at++)
        expect(state[at] == (uint8_t)(state[0] + at), "its own bytes");
    (*(long long *)user)++;
    until_one_ran_elsewhere(tasks, true);
}

/* Half of these tasks have many more bytes than a receive that waits has room for. */
static void large(void)
{
    enum { TASKS = 64 };
    TidingsStealOptions options = { .half = TIDINGS_STEAL_HALF_COUNT, .slot_bytes = 4096 };
    TidingsSteal *steal = opened(&options);
    uint16_t function;
    long long ran = 0;
    tidings_steal_function(steal, large_task, &ran, &function);
    for (int task = 0; !rank && task < TASKS; task++) {
        uint8_t state[LARGE_BYTES];
        for (size_t at = 0; at < sizeof state; at++)
            state[at] = (uint8_t)((size_t)task + at);
        tidings_steal_add(steal, function, 0, state, sizeof state);
    }
    run(steal, "large", NULL);
    expect(total(ran) == TASKS, "each ran once");
    hear_all();
    tidings_steal_close(steal);
}

static void shelved_task(TidingsStealTasks *tasks, void *user)
{
    (*(long long *)user)++;
    until_one_ran_elsewhere(tasks, false);
}

/* Rank 0 is in a task, and looks for no message of thieves, until one has taken what lies in its
 * window. Then tasks spawn, of which most are taken back. */
static void shelves(void)
{
    TidingsStealOptions options = { .one_sided = true };
    TidingsSteal *steal = opened(&options);
    TidingsStealError error;
    Sum sum = { .how = "help-first" };
    uint16_t function;
    int n = 18;
    long long ran = 0;
    tidings_steal_function(steal, shelved_task, &ran, &function);
    tidings_steal_function(steal, fibonacci, &sum, &sum.function);
    /* Where deaths are survived there are no shelves. */
    bool is_shelved = !tidings_steal_survives(steal);
    for (int task = 0; is_shelved && !rank && task < 64; task++)
        tidings_steal_add(steal, function, 0, NULL, 0);
    run(steal, "shelved", NULL);
    expect(total(ran) == (is_shelved ? 64 : 0), "each ran once");
    hear_all();
    if (!rank) tidings_steal_add(steal, sum.function, 0, &n, sizeof n);
    run(steal, "taken back", NULL);
    expect(total(sum.leaves) == 2584 && total(sum.tasks) == 8361, "the 18th");
    int status = tidings_steal_trace(steal, "taken back", "/dev/null", &error);
    expect(status == (is_shelved && ranks > 1 ? TIDINGS_STEAL_UNTRACED : 0), "no trace");
    tidings_steal_close(steal);
}

static void dies(TidingsStealTasks *tasks, void *user)
{
    (void)tasks;
    (void)user;
    if (rank == 1) raise(SIGKILL);
}

/* A rank dies while there is an array: no rank goes on. */
static void mourned(void)
{
    TidingsStealError error;
    TidingsSteal *steal = opened(NULL);
    TidingsStealArray *array;
    uint16_t function;
    tidings_steal_function(steal, dies, NULL, &function);
    expect(tidings_steal_array_create(steal, 5, 7, 2, 3, &array, &error) == 0, error.text);
    tidings_steal_add(steal, function, 0, NULL, 0);
    run(steal, "mourned", NULL);
}

/* Whether a wait of a simulated rank was as it should, and took so long. */
static void expect_wait(Bell *bell, double at_most_s, bool rings, double takes_s, const char *what)
{
    double began_s = MPI_Wtime();
    bool has_rung = bell_wait(bell, at_most_s);
    double took_s = MPI_Wtime() - began_s;
    expect(has_rung == rings, what);
    expect(took_s > takes_s - 1e-6 && took_s < takes_s + 1e-3, "as long");
}

/* A rank of a simulated machine waits for a message or for a time, whichever comes first, and no
 * longer and no shorter. */
static void waits(void)
{
    Bell bell;
    expect(bell_is_simulated() && bell_open(&bell, MPI_COMM_WORLD), "a bell");
    if (rank != 1) expect_wait(&bell, 1, false, 1, "nobody sends");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        expect_wait(&bell, 2, false, 2, "nobody sends to who sends");
        bell_ring(&bell, MAIL_TASKS, 0);
    } else if (!rank) {
        expect_wait(&bell, 9, true, 2, "one sends");
        expect_wait(&bell, 9, true, 0, "it was not taken in yet");
        bell_taken(&bell, MAIL_TASKS, 1);
        expect_wait(&bell, 3, false, 3, "nobody sends again");
    }
    bell_close(&bell, MPI_COMM_WORLD);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*check)(void);
    } checks[] = { { "policies", policies }, { "finishes", finishes }, { "deep", deep },
                   { "retained", retained }, { "refused", refused },   { "alone", alone },
                   { "aborted", aborted },   { "arrays", arrays },     { "large", large },
                   { "mourned", mourned },   { "waits", waits },       { "shelves", shelves },
                   { "near", near }, { "balanced", balanced } };
    int provided;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t at = 0; at < sizeof checks / sizeof *checks; at++)
        if (count > 1 && !strcmp(words[1], checks[at].name)) checks[at].check();
    if (total(is_well) == ranks && !rank) printf("done\n");
    MPI_Finalize();
    return is_well ? 0 : 1;
}
