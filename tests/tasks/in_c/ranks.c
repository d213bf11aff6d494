/* Ranks of an MPI program: each submits tasks, does what comes, and has the sum of all results. */

#include "expect.h"

#include <inttypes.h>
#include <mpi.h>

enum { TASKS = 25 };

static int square(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    uint64_t number;
    (void)context;
    memcpy(&number, claim->payload, sizeof number);
    number *= number;
    OK(tidings_tasks_result(result, (const uint8_t *)&number, sizeof number, &error));
    return 0;
}

static int add(const TidingsTasksBytes *inputs, size_t count, TidingsTasksResult *result,
               void *context) {
    uint64_t sum = 0, number;
    (void)context;
    for (size_t i = 0; i < count; i++) {
        memcpy(&number, inputs[i].start, sizeof number);
        sum += number;
    }
    OK(tidings_tasks_result(result, (const uint8_t *)&sum, sizeof sum, &error));
    return 0;
}

/* Works until a task has ended, here or elsewhere. */
static void work_until_ended(TidingsTasks *tasks, TidingsTasksId id) {
    const TidingsTasksFunction functions[] = {{"square", square, NULL}};
    TidingsTasksOutcome outcome;
    while (tidings_tasks_wait(tasks, &id, 0, &outcome, NULL) == TIDINGS_TASKS_STATUS_TIMEOUT)
        HOLDS(tidings_tasks_work(tasks, "ranks", functions, 1, 20, NULL) <=
              TIDINGS_TASKS_STATUS_SUPERSEDED);
    tidings_tasks_outcome_free(&outcome);
}

int main(int count, char **words) {
    const TidingsTasksCombine combine = {add, NULL};
    TidingsTasksOutcome whole;
    TidingsTasksId ids[TASKS];
    int rank, ranks, provided;
    uint64_t sum, least, most;

    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    TidingsTasks *tasks = opened("rank");
    for (int i = 0; i < TASKS; i++) {
        uint64_t number = (uint64_t)rank * TASKS + i;
        ids[i] = submitted(tasks, "ranks", "square", number, &number, sizeof number);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TASKS; i++) work_until_ended(tasks, ids[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(tidings_tasks_collect(tasks, "ranks", (uint64_t)ranks * TASKS, &combine,
                             TIDINGS_TASKS_FOREVER, &whole, &error));
    HOLDS(whole.end == TIDINGS_TASKS_END_DONE && whole.result_bytes == sizeof sum);
    memcpy(&sum, whole.result, sizeof sum);
    tidings_tasks_outcome_free(&whole);
    MPI_Allreduce(&sum, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&sum, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    HOLDS(least == most);
    tidings_tasks_close(tasks);
    MPI_Finalize();
    if (rank == 0) printf("%" PRIu64 "\n", sum);
    return 0;
}
