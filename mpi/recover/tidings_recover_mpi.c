/*
 * See tidings_recover_mpi.h. The rules are those of the crate tidings-recovery, behind
 * tidings_recovery.h; here ranks exchange its messages and run tasks.
 */
#include "tidings_recover_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../steal/deaths.h"
#include "../steal/enter.h"
#include "../steal/mail.h"

#define NAME_BYTES 255

/* Messages taken in before tasks run again. */
#define LOOKS 64

struct TidingsRecoverTask {
    TidingsRecover *recover;
    int trouble; /* the first */
};

struct TidingsRecover {
    Mail mail;
    TidingsRecovery *participant;
    TidingsRecoverOptions options;
    double origin_s;
    TidingsRecoveryPlan plan;
    bool is_over, has_failed, is_split;
    TidingsRecoverPhase phase;
    int trouble; /* the first that a task, a message or the ending of a phase caused */
};

static uint64_t now_us(const TidingsRecover *recover)
{
    double passed_s = MPI_Wtime() - recover->origin_s;
    return passed_s > 0 ? (uint64_t)(passed_s * 1e6) : 0;
}

static void note(TidingsRecover *recover, int status)
{
    if (!recover->trouble) recover->trouble = status;
}

const char *tidings_recover_text(int status)
{
    switch (status) {
    case TIDINGS_RECOVER_MEMORY: return "no memory is left";
    case TIDINGS_RECOVER_MPI: return "MPI has refused a call";
    case TIDINGS_RECOVER_ALONE: return "some ranks have not entered the phase: call MPI_Abort";
    case TIDINGS_RECOVER_DIFFERENT: return "ranks have entered different phases";
    case TIDINGS_RECOVER_ENDED: return "an earlier phase has failed: end the job";
    case TIDINGS_RECOVER_REFUSED: return "blocks are lost, as another rank knows";
    default: return tidings_recovery_status_text((uint32_t)status);
    }
}

static int explain(TidingsRecoverError *error, int status, const char *name)
{
    if (error && status)
        snprintf(error->text, sizeof error->text, "phase '%s': %s", name,
                 tidings_recover_text(status));
    return status;
}

/* The phase is over here. */
static void end(TidingsRecover *recover, int status)
{
    recover->is_over = true;
    if (status) note(recover, status);
}

/* Does what the participant wants. */
static void perform(TidingsRecover *recover)
{
    TidingsRecoveryOutput output;
    for (;;) {
        int status = (int)tidings_recovery_output(recover->participant, &output);
        if (status) note(recover, status);
        switch (output.says) {
        case TIDINGS_RECOVERY_SAYS_NOTHING: return;
        case TIDINGS_RECOVERY_SAYS_SEND:
            if (!mail_send(&recover->mail, MAIL_TASKS, (int)output.to, output.message,
                           output.bytes))
                note(recover, TIDINGS_RECOVER_MPI);
            break;
        case TIDINGS_RECOVERY_SAYS_COMPLETE: end(recover, 0); break;
        case TIDINGS_RECOVERY_SAYS_REFUSED: end(recover, TIDINGS_RECOVER_REFUSED); break;
        case TIDINGS_RECOVERY_SAYS_EXPELLED:
            end(recover, TIDINGS_RECOVERY_STATUS_EXPELLED);
            break;
        }
    }
}

/* Takes in what has arrived, and who has died; whether anything has. */
static bool take_in(TidingsRecover *recover)
{
    bool any = false;
    for (int looks = 0; looks < LOOKS; looks++) {
        int from;
        const uint8_t *message;
        size_t bytes;
        MailLook look = mail_look(&recover->mail, MAIL_TASKS, &from, &message, &bytes);
        if (look == MAIL_FAILED) note(recover, TIDINGS_RECOVER_MPI);
        if (look != MAIL_ONE) break;
        int status = (int)tidings_recovery_receive(recover->participant, (uint32_t)from, message,
                                                   bytes, now_us(recover));
        if (status) note(recover, status);
        any = true;
    }
    for (int rank; recover->mail.has_news && (rank = mail_death(&recover->mail)) >= 0;) {
        tidings_recovery_died(recover->participant, (uint32_t)rank, now_us(recover));
        any = true;
    }
    if (any) perform(recover);
    return any;
}

static void meanwhile(void *recover)
{
    take_in(recover);
}

/* Runs a task. */
static void run(TidingsRecover *recover, uint64_t number, TidingsRecoverBody body, void *user)
{
    TidingsRecoverTask task = { .recover = recover };
    double began_s = MPI_Wtime();
    body(&task, number, user);
    double took_s = MPI_Wtime() - began_s;
    recover->phase.work_seconds += took_s;
    int status = task.trouble;
    if (!status)
        status = (int)tidings_recovery_finished(
            recover->participant, took_s > 0 ? (uint64_t)(1e9 * took_s) : 0, now_us(recover));
    /* Its round may have ended while it ran: what it adds is there already. */
    if (!status || status == TIDINGS_RECOVERY_STATUS_OUTSIDE_TASK) return;
    fprintf(stderr, "tidings-recover: task %llu cannot end, and the job does: %s\n",
            (unsigned long long)number, tidings_recover_text(status));
    MPI_Abort(recover->mail.comm, 1);
}

/* Runs tasks until it is time to look for messages; whether there were any. */
static bool run_some(TidingsRecover *recover, TidingsRecoverBody body, void *user)
{
    uint64_t number;
    double until_s = MPI_Wtime() + 1e-6 * recover->options.poll_us;
    bool any = false;
    while (!any || MPI_Wtime() < until_s) {
        if (!tidings_recovery_next(recover->participant, now_us(recover), &number)) break;
        run(recover, number, body, user);
        perform(recover);
        any = true;
    }
    perform(recover);
    return any;
}

static void work(TidingsRecover *recover, TidingsRecoverBody body, void *user)
{
    int looks = 0;
    while (!recover->is_over && recover->trouble != TIDINGS_RECOVER_MPI) {
        bool any = take_in(recover);
        any |= run_some(recover, body, user);
        looks = any ? 0 : looks + 1;
        if (looks) mail_rest(looks);
    }
}

/* Ends all phases. */
static int fail(TidingsRecover *recover, int status)
{
    recover->has_failed = true;
    recover->is_split = status != TIDINGS_RECOVER_DIFFERENT;
    return status;
}

static int whole_phase(TidingsRecover *recover, const char *name, TidingsRecoverBody body,
                       void *user)
{
    Entering all = { &recover->mail, recover->options.enter_ms, meanwhile, recover };
    if (recover->has_failed) return TIDINGS_RECOVER_ENDED;
    recover->phase = (TidingsRecoverPhase){ 0 };
    recover->trouble = 0;
    recover->is_over = false;
    double began_s = MPI_Wtime();
    int status = enter_phase(&all, tidings_steal_hash(name), (uint32_t)recover->plan.tasks);
    if (status) return fail(recover, status);
    status = (int)tidings_recovery_begin(recover->participant, (const uint8_t *)name, strlen(name),
                                         &recover->plan, now_us(recover));
    if (status) return fail(recover, status);
    perform(recover);
    work(recover, body, user);
    bool is_end = recover->trouble && recover->trouble != TIDINGS_RECOVER_REFUSED;
    /* If ranks die while the end is on its way, some may know of a loss that others do not. */
    if (!is_end && !leave_phase(&all, recover->trouble == TIDINGS_RECOVER_REFUSED))
        note(recover, TIDINGS_RECOVER_REFUSED);
    recover->phase.seconds = MPI_Wtime() - began_s;
    recover->phase.deaths = (uint32_t)recover->mail.deaths;
    tidings_recovery_counters(recover->participant, &recover->phase.counters);
    return is_end ? fail(recover, recover->trouble) : recover->trouble;
}

int tidings_recover_phase(TidingsRecover *recover, const char *name,
                          const TidingsRecoveryPlan *plan, TidingsRecoverBody body, void *user,
                          TidingsRecoverPhase *phase, TidingsRecoverError *error)
{
    if (error) error->text[0] = 0;
    if (!recover || !name || !plan || !plan->outputs || !body)
        return explain(error, TIDINGS_RECOVERY_STATUS_NULL, name ? name : "");
    if (strlen(name) > NAME_BYTES)
        return explain(error, TIDINGS_RECOVERY_STATUS_CONFIGURATION, "(a name of over 255 bytes)");
    recover->plan = *plan;
    int status = whole_phase(recover, name, body, user);
    if (phase) *phase = recover->phase;
    explain(error, status, name);
    TidingsRecoverError lost = { "" };
    if (status == TIDINGS_RECOVER_REFUSED)
        tidings_recovery_explain(recover->participant, lost.text, sizeof lost.text);
    if (error && lost.text[0]) *error = lost;
    return status;
}

void tidings_recover_add(TidingsRecoverTask *task, uint16_t array, uint32_t block,
                         const void *elements, size_t words)
{
    TidingsRecoveryPlace place = { array, block };
    int status =
        (int)tidings_recovery_add(task->recover->participant, place, elements, words);
    if (!task->trouble) task->trouble = status;
}

bool tidings_recover_is_again(const TidingsRecoverTask *task)
{
    return tidings_recovery_is_again(task->recover->participant);
}

void tidings_recover_progress(TidingsRecoverTask *task)
{
    take_in(task->recover);
}

int tidings_recover_block(TidingsRecover *recover, uint16_t array, uint32_t block,
                          const void **elements, size_t *words)
{
    const uint64_t *start = NULL;
    TidingsRecoveryPlace place = { array, block };
    if (!recover || !elements) return TIDINGS_RECOVERY_STATUS_NULL;
    int status = (int)tidings_recovery_block(recover->participant, place, &start, words);
    *elements = start;
    return status;
}

bool tidings_recover_survives(const TidingsRecover *recover)
{
    return recover && recover->mail.survives;
}

int tidings_recover_array(TidingsRecover *recover, const TidingsRecoveryArray *array,
                          uint16_t *number, TidingsRecoverError *error)
{
    if (error) error->text[0] = 0;
    if (!recover) return explain(error, TIDINGS_RECOVERY_STATUS_NULL, "(array)");
    int status = (int)tidings_recovery_create(recover->participant, array, number);
    perform(recover);
    return explain(error, status, "(array)");
}

int tidings_recover_zero(TidingsRecover *recover, uint16_t array)
{
    if (!recover) return TIDINGS_RECOVERY_STATUS_NULL;
    return (int)tidings_recovery_zero(recover->participant, array);
}

int tidings_recover_living(TidingsRecover *recover, MPI_Comm *living)
{
    if (!recover || !living) return TIDINGS_RECOVERY_STATUS_NULL;
    return deaths_living(recover->mail.comm, living) ? TIDINGS_RECOVER_MPI : 0;
}

/* Takes in what MPI knows of deaths, and waits until all have: 0, or TIDINGS_RECOVER_ENDED if some
 * have not taken in all. */
static int agree(TidingsRecover *recover)
{
    int bits = 1, is_done = 0, looks = 0;
    MPI_Request request;
    recover->mail.has_news = true;
    take_in(recover);
    if (deaths_agree(recover->mail.comm, &bits, &request)) return TIDINGS_RECOVER_MPI;
    while (!is_done) {
        int error = MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        if (error) return deaths_said(error) ? TIDINGS_RECOVER_ENDED : TIDINGS_RECOVER_MPI;
        mail_rest(looks++);
    }
    return 0;
}

int tidings_recover_agree(TidingsRecover *recover, bool *lives)
{
    if (!recover || !lives) return TIDINGS_RECOVERY_STATUS_NULL;
    int status = 0;
    if (recover->mail.survives)
        while ((status = agree(recover)) == TIDINGS_RECOVER_ENDED)
            ;
    for (int rank = 0; rank < recover->mail.ranks; rank++)
        lives[rank] = !recover->mail.dead[rank];
    return status;
}

static int make(TidingsRecover *recover, const TidingsRecoverOptions *given, MPI_Comm own)
{
    if (given) recover->options = *given;
    if (!recover->options.poll_us) recover->options.poll_us = 5;
    if (!recover->options.enter_ms) recover->options.enter_ms = 60000;
    recover->origin_s = MPI_Wtime();
    if (!mail_open(&recover->mail, own)) return TIDINGS_RECOVER_MEMORY;
    TidingsRecoveryConfig config = {
        .me = (uint32_t)recover->mail.rank,
        .workers = (uint32_t)recover->mail.ranks,
        .scheme = recover->options.scheme,
        .lifelines = recover->options.lifelines,
        .most_pending = recover->options.most_pending,
        .seed = recover->options.seed,
    };
    return (int)tidings_recovery_new(&config, &recover->participant);
}

static void discard(TidingsRecover *recover, bool all)
{
    tidings_recovery_free(recover->participant);
    mail_close(&recover->mail, all);
    free(recover);
}

int tidings_recover_open(MPI_Comm comm, const TidingsRecoverOptions *options,
                         TidingsRecover **recover, TidingsRecoverError *error)
{
    if (error) error->text[0] = 0;
    if (!recover) return explain(error, TIDINGS_RECOVERY_STATUS_NULL, "(open)");
    *recover = NULL;
    MPI_Comm own;
    if (MPI_Comm_dup(comm, &own)) return explain(error, TIDINGS_RECOVER_MPI, "(open)");
    TidingsRecover *made = calloc(1, sizeof *made);
    int status = made ? make(made, options, own) : TIDINGS_RECOVER_MEMORY, worst;
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, own);
    if (worst) {
        if (made)
            discard(made, true);
        else
            MPI_Comm_free(&own);
        return explain(error, worst, "(open)");
    }
    if (!made->mail.survives && !made->mail.rank && !made->options.is_quiet)
        fputs("tidings-recover: recovery is off, and a death ends the job: this MPI does not "
              "survive deaths, or was not started so (Open MPI 5: mpirun --with-ft ulfm)\n",
              stderr);
    *recover = made;
    return 0;
}

/* For the Fortran module, whose communicators are numbers. */
int tidings_recover_open_fortran(MPI_Fint comm, const TidingsRecoverOptions *options,
                                 TidingsRecover **recover, TidingsRecoverError *error);

int tidings_recover_open_fortran(MPI_Fint comm, const TidingsRecoverOptions *options,
                                 TidingsRecover **recover, TidingsRecoverError *error)
{
    return tidings_recover_open(MPI_Comm_f2c(comm), options, recover, error);
}

int tidings_recover_living_fortran(TidingsRecover *recover, MPI_Fint *living);

int tidings_recover_living_fortran(TidingsRecover *recover, MPI_Fint *living)
{
    MPI_Comm made = MPI_COMM_NULL;
    int status = tidings_recover_living(recover, &made);
    *living = MPI_Comm_c2f(made);
    return status;
}

void tidings_recover_close(TidingsRecover *recover)
{
    /* Where ranks may have died not all know of it, and who waits for them waits for ever. */
    if (recover) discard(recover, !recover->is_split && !recover->mail.survives);
}
