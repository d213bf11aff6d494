/* Balancing between two phases, as a check of stealing.c. */
#include <string.h>

#include "tidings_steal_balance.h"

#define TASKS 24
#define TASK_S 1e-3

extern int rank, ranks;
void balanced(void);
void expect(bool holds, const char *what);

/* How often each task has run here. */
typedef struct Ran {
    int of[TASKS];
} Ran;

static void linger(TidingsStealTasks *tasks, void *user)
{
    Ran *ran = user;
    ran->of[*(const int *)tidings_steal_state(tasks, NULL)]++;
    for (double until_s = MPI_Wtime() + TASK_S; MPI_Wtime() < until_s;)
        ;
}

/* Runs all tasks, each once, which rank 0 is given; how many run here. */
static int iterate(TidingsSteal *steal, Ran *ran, TidingsStealPhase *phase)
{
    int all[TASKS], here = 0;
    memset(ran, 0, sizeof *ran);
    for (int task = 0; rank == 0 && task < TASKS; task++)
        tidings_steal_add(steal, 0, 1000000, &task, sizeof task);
    expect(!tidings_steal_phase(steal, "balanced", phase, NULL), "a phase fails");
    MPI_Allreduce(ran->of, all, TASKS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int task = 0; task < TASKS; task++) {
        expect(all[task] == 1, "a task does not run once");
        here += ran->of[task];
    }
    return here;
}

/* Ranks that take so long to answer that rank 0 runs all it is given. */
static TidingsSteal *deaf(Ran *ran)
{
    TidingsStealOptions options = { .retain = true, .poll_us = 1000000 };
    TidingsSteal *steal = NULL;
    uint16_t function;
    expect(!tidings_steal_open(MPI_COMM_WORLD, &options, &steal, NULL), "it cannot be opened");
    expect(!tidings_steal_function(steal, linger, ran, &function), "no function");
    return steal;
}

static void refused(void)
{
    TidingsStealOptions options = { 0 };
    TidingsSteal *steal = NULL;
    TidingsStealError error;
    expect(!tidings_steal_open(MPI_COMM_WORLD, &options, &steal, NULL), "it cannot be opened");
    expect(tidings_steal_balance(steal, "balanced", NULL, &error) ==
               TIDINGS_STEAL_STATUS_CONFIGURATION,
           "nothing is retained");
    expect(strstr(error.text, "retain"), "the remedy");
    expect(tidings_steal_balance(NULL, "balanced", NULL, NULL) == TIDINGS_STEAL_STATUS_NULL,
           "no ranks");
    tidings_steal_close(steal);
}

void balanced(void)
{
    Ran ran;
    TidingsStealPhase phase;
    TidingsStealBalancing done;
    TidingsSteal *steal = deaf(&ran);
    if (tidings_steal_survives(steal)) {
        expect(tidings_steal_balance(steal, "balanced", &done, NULL) ==
                   TIDINGS_STEAL_STATUS_CONFIGURATION,
               "ranks that may die are balanced");
        tidings_steal_close(steal);
        return;
    }
    expect(!tidings_steal_balance(steal, "balanced", &done, NULL) && !done.moved,
           "what has not run moves");
    int before = iterate(steal, &ran, &phase), least;
    expect(before == (rank ? 0 : TASKS), "a deaf rank is robbed");
    expect(!tidings_steal_balance(steal, "balanced", &done, NULL), "it is not balanced");
    expect(done.before > ranks - 0.01 && done.after <= done.before, "the largest");
    expect(ranks == 1 || (done.moved >= TASKS / 4 && done.after < done.before), "nothing moves");
    int after = iterate(steal, &ran, &phase);
    expect(phase.seeding == TIDINGS_STEAL_SEEDING_RETAINED, "it does not begin with these");
    MPI_Allreduce(&after, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    expect(least >= 1, "a rank has nothing");
    tidings_steal_close(steal);
    if (ranks > 1) {
        steal = deaf(&ran);
        expect(tidings_steal_balance(steal, rank ? "balanced" : "other", NULL, NULL) ==
                   TIDINGS_STEAL_DIFFERENT,
               "ranks balance different phases");
        tidings_steal_close(steal);
    }
    refused();
}
