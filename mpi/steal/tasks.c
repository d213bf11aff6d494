/* What tasks are made of and what they call: see tidings_steal_mpi.h. */
#include "internal.h"

int tidings_steal_function(TidingsSteal *steal, TidingsStealBody body, void *user,
                           uint16_t *function)
{
    if (!steal || !body || !function) return TIDINGS_STEAL_STATUS_NULL;
    if (steal->has_begun || steal->count == FUNCTIONS) return TIDINGS_STEAL_FUNCTIONS;
    *function = (uint16_t)steal->count;
    steal->functions[steal->count++] = (Function){ body, user };
    return 0;
}

int tidings_steal_add(TidingsSteal *steal, uint16_t function, uint64_t work_ns, const void *state,
                      size_t bytes)
{
    if (!steal) return TIDINGS_STEAL_STATUS_NULL;
    if (steal->is_within) return TIDINGS_STEAL_STATUS_WITHIN_PHASE;
    if (function >= steal->count) return TIDINGS_STEAL_FUNCTION;
    TidingsStealTask task = { function, 0, work_ns, state, bytes };
    return (int)tidings_steal_worker_add(steal->worker, &task);
}

const void *tidings_steal_state(const TidingsStealTasks *tasks, size_t *bytes)
{
    if (bytes) *bytes = tasks->bytes;
    return tasks->state;
}

void *tidings_steal_user(const TidingsStealTasks *tasks)
{
    return tasks->steal->functions[tasks->function].user;
}

uint64_t tidings_steal_predicted_ns(const TidingsStealTasks *tasks)
{
    return tasks->work_ns;
}

uint32_t tidings_steal_step(const TidingsStealTasks *tasks)
{
    return tasks->step;
}

int tidings_steal_spawn(TidingsStealTasks *tasks, uint16_t function, uint64_t work_ns,
                        const void *state, size_t bytes)
{
    if (!tasks) return TIDINGS_STEAL_STATUS_OUTSIDE_TASK;
    if (function >= tasks->steal->count) return TIDINGS_STEAL_FUNCTION;
    TidingsStealTask task = { function, 0, work_ns, state, bytes };
    if (tasks->steal->is_again) tidings_steal_hold(tasks->steal);
    return (int)tidings_steal_worker_spawn(tasks->steal->worker, &task);
}

/* How a step ends that is followed by another. */
typedef TidingsStealStatus (*Ending)(TidingsStealWorker *, const TidingsStealTask *,
                                     const TidingsStealTask *, uint64_t);

static int end_step(TidingsStealTasks *tasks, Ending ending, const TidingsStealTask *first,
                    uint32_t step, const void *state, size_t bytes)
{
    if (!tasks || tasks->has_ended) return TIDINGS_STEAL_STATUS_OUTSIDE_TASK;
    if (!first) return TIDINGS_STEAL_STATUS_NULL;
    if (first->function >= tasks->steal->count) return TIDINGS_STEAL_FUNCTION;
    TidingsStealTask left = { tasks->function, step, tasks->work_ns, state, bytes };
    double took_ns = 1e9 * (MPI_Wtime() - tasks->began_s);
    if (tasks->steal->is_again) tidings_steal_hold(tasks->steal);
    int status =
        (int)ending(tasks->steal->worker, first, &left, took_ns > 0 ? (uint64_t)took_ns : 0);
    tasks->has_ended = !status;
    return status;
}

int tidings_steal_child_first(TidingsStealTasks *tasks, const TidingsStealTask *child,
                              uint32_t step, const void *state, size_t bytes)
{
    return end_step(tasks, tidings_steal_worker_child_first, child, step, state, bytes);
}

int tidings_steal_finish_first(TidingsStealTasks *tasks, const TidingsStealTask *body,
                               uint32_t step, const void *state, size_t bytes)
{
    return end_step(tasks, tidings_steal_worker_finish_first, body, step, state, bytes);
}

TidingsStealCounters tidings_steal_since(const TidingsStealCounters *before,
                                         const TidingsStealCounters *now)
{
    return (TidingsStealCounters){
        .executed = now->executed - before->executed,
        .spawned = now->spawned - before->spawned,
        .attempts = now->attempts - before->attempts,
        .steals = now->steals - before->steals,
        .refused = now->refused - before->refused,
        .pushed = now->pushed - before->pushed,
        .tasks_in = now->tasks_in - before->tasks_in,
        .lifelines = now->lifelines - before->lifelines,
    };
}
