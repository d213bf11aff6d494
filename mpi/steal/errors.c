/* What went wrong, in words. */
#include <stdio.h>

#include "internal.h"

const char *tidings_steal_text(int status)
{
    switch (status) {
    case TIDINGS_STEAL_MEMORY: return "no memory is left";
    case TIDINGS_STEAL_MPI: return "MPI has refused a call";
    case TIDINGS_STEAL_ALONE: return "some ranks have not entered the phase";
    case TIDINGS_STEAL_DIFFERENT:
        return "ranks have entered different phases, or with other functions";
    case TIDINGS_STEAL_FUNCTION: return "a task names a function that is not registered";
    case TIDINGS_STEAL_FUNCTIONS:
        return "functions are registered before the first phase, 1,024 at most";
    case TIDINGS_STEAL_ENDED: return "an earlier phase has failed: end the job";
    case TIDINGS_STEAL_LOST: return "ranks have died, and what they had is missing";
    case TIDINGS_STEAL_EXPELLED:
        return "the others consider this rank dead, since they could not reach it: end it";
    case TIDINGS_STEAL_FILE: return "the file cannot be written or read: is it there, and space?";
    case TIDINGS_STEAL_DIVERGED:
        return "the trace is of another program, of another input or of other predictions";
    case TIDINGS_STEAL_UNTRACED:
        return "there is no trace of one-sided steals: open without one_sided";
    default: return tidings_steal_status_text((uint32_t)status);
    }
}

int errors_tell(TidingsStealError *error, int status, const char *name)
{
    if (error && status)
        snprintf(error->text, sizeof error->text, "phase '%s': %s", name,
                 tidings_steal_text(status));
    return status;
}

/* Says who has died, as far as MPI has said it here, and what is missing. */
static void explain_loss(const TidingsSteal *steal, const char *name, TidingsStealError *error)
{
    const TidingsStealPhase *phase = &steal->phase;
    char ranks[64] = "";
    size_t length = 0;
    for (int rank = 0; rank < steal->mail.ranks && length < sizeof ranks - 16; rank++)
        if (steal->mail.dead[rank])
            length += (size_t)snprintf(ranks + length, sizeof ranks - length, " %d", rank);
    snprintf(error->text, sizeof error->text,
             "phase '%.60s': %u ranks have died (%s): missing is what they began with, up to %llu "
             "tasks that they were sent, and what follows %llu finishes",
             name, phase->deaths, length ? ranks + 1 : "?", (unsigned long long)phase->lost_tasks,
             (unsigned long long)phase->lost_finishes);
}

int errors_tell_phase(const TidingsSteal *steal, int status, const char *name,
                  TidingsStealError *error)
{
    errors_tell(error, status, name);
    if (!error) return status;
    if (status == TIDINGS_STEAL_LOST) explain_loss(steal, name, error);
    if (status == TIDINGS_STEAL_ALONE)
        snprintf(error->text, sizeof error->text,
                 "phase '%s': rank %d of %d has waited %u ms for ranks that have not entered it; "
                 "all have to, or enter_ms is too short. Call MPI_Abort",
                 name, steal->mail.rank, steal->mail.ranks, steal->options.enter_ms);
    if (status == TIDINGS_STEAL_DIVERGED)
        snprintf(error->text, sizeof error->text,
                 "phase '%.60s': rank %d cannot do again what it did after %llu steps: %s. Call "
                 "MPI_Abort",
                 name, steal->mail.rank, (unsigned long long)steal->diverged,
                 tidings_steal_text(status));
    return status;
}
