/*
 * See tidings_steal_mpi.h. The rules are those of the crate tidings-steal, behind tidings_steal.h;
 * here ranks exchange its messages (mail.h) and run tasks. What those call is in tasks.c.
 */
#include "tidings_steal_mpi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deaths.h"
#include "internal.h"

#define NAME_BYTES 255

/* Messages taken in before tasks run again. */
#define LOOKS 64

/* Looks of an idle rank between which it does nothing else. */
#define IDLE_LOOKS 4

/* Looks for messages, or simulated time, after which one who waits looks at a shelf again. */
#define SHELF_LOOKS 64
#define SHELF_S 1e-3

/* How long a busy rank runs tasks before it does anything else but look for messages. */
#define ROUND_S 5e-6

/* Where nobody says how often it looks, it does so for this part of its time, and once a round. */
#define LOOKING 32

static uint64_t microseconds(const TidingsSteal *steal, double at_s)
{
    double passed_s = at_s - steal->origin_s;
    return passed_s > 0 ? (uint64_t)(passed_s * 1e6) : 0;
}

static uint64_t now_us(const TidingsSteal *steal)
{
    return microseconds(steal, MPI_Wtime());
}

static void note(TidingsSteal *steal, int status)
{
    if (!steal->trouble) steal->trouble = status;
}

/* Takes what lies on the shelf of a rank that is to be asked for tasks; whether anything does. */
static bool take_from_shelf(TidingsSteal *steal, int victim)
{
    double began_s = steal->shelf.is_open ? MPI_Wtime() : 0;
    uint64_t at_us = microseconds(steal, began_s);
    if (!shelf_answers(&steal->shelf, steal->worker, victim, at_us)) return false;
    double took_s = MPI_Wtime() - began_s;
    steal->phase.waiting_seconds += took_s;
    steal->phase.stealing_seconds += took_s;
    steal->attempts++, steal->answers++, steal->steals++; /* they are timed */
    return true;
}

/* Does what the worker wants. */
static void perform(TidingsSteal *steal)
{
    TidingsStealOutput output;
    for (;;) {
        int status = (int)tidings_steal_worker_output(steal->worker, &output);
        if (status) note(steal, status);
        switch (output.says) {
        case TIDINGS_STEAL_SAYS_NOTHING: return;
        case TIDINGS_STEAL_SAYS_SEND:
            if (output.asks && take_from_shelf(steal, (int)output.to)) break;
            if (!mail_send(&steal->mail, MAIL_TASKS, (int)output.to, output.message, output.bytes))
                note(steal, TIDINGS_STEAL_MPI);
            break;
        case TIDINGS_STEAL_SAYS_SEEDED: steal->phase.seeding = output.seeding; break;
        case TIDINGS_STEAL_SAYS_COMPLETE: steal->is_over = true; break;
        case TIDINGS_STEAL_SAYS_LOST:
            steal->phase.deaths = output.lost_workers;
            steal->phase.lost_tasks = output.lost_sent;
            steal->phase.lost_finishes = output.lost_finishes;
            note(steal, TIDINGS_STEAL_LOST);
            steal->is_over = steal->has_lost = true;
            break;
        case TIDINGS_STEAL_SAYS_EXPELLED:
            steal->trouble = TIDINGS_STEAL_EXPELLED;
            steal->is_over = true;
            break;
        case TIDINGS_STEAL_SAYS_DIVERGED:
            steal->trouble = TIDINGS_STEAL_DIVERGED;
            steal->diverged = output.step;
            steal->is_over = true;
        }
    }
}

/* Has the worker know of ranks that have died. */
static void mourn(TidingsSteal *steal)
{
    for (int rank; (rank = mail_death(&steal->mail)) >= 0;) {
        if (steal->arrays) {
            fprintf(stderr, "tidings-steal: rank %d has died, and with it blocks of arrays: the "
                            "job ends\n",
                    rank);
            deaths_end_job(steal->mail.comm, steal->mail.dead, TIDINGS_STEAL_LOST);
        }
        tidings_steal_worker_died(steal->worker, (uint32_t)rank);
    }
    perform(steal);
}

/* Takes in what has arrived, and answers each at once, as a thief waits; whether anything has. */
static bool take_in(TidingsSteal *steal)
{
    bool any = false;
    for (int looks = 0; looks < LOOKS; looks++) {
        int from;
        const uint8_t *message;
        size_t bytes;
        MailLook look = mail_look(&steal->mail, MAIL_TASKS, &from, &message, &bytes);
        if (look == MAIL_FAILED) note(steal, TIDINGS_STEAL_MPI);
        if (look != MAIL_ONE) break;
        int status = (int)tidings_steal_worker_receive(steal->worker, (uint32_t)from, message,
                                                       bytes, now_us(steal));
        if (status) note(steal, status);
        perform(steal);
        any = true;
    }
    if (steal->mail.has_news) mourn(steal);
    if (steal->shelf.has_failed) note(steal, TIDINGS_STEAL_MPI);
    return any;
}

/* Lets the board have its turn, if that is due. */
static void gossip(TidingsSteal *steal, uint64_t at_us)
{
    if (!board_is_due(&steal->board, at_us)) return;
    board_turn(&steal->board, tidings_steal_worker_remaining_ns(steal->worker));
    tidings_steal_worker_news(steal->worker);
}

/* Runs a task; when it ended. */
static double run(TidingsSteal *steal, const TidingsStealTask *task, double began_s)
{
    TidingsStealTasks *tasks = &steal->tasks;
    tasks->steal = steal;
    tasks->began_s = began_s;
    tasks->function = task->function;
    tasks->step = task->step;
    tasks->work_ns = task->work_ns;
    tasks->bytes = task->bytes;
    tasks->has_ended = false;
    if (task->bytes) memcpy(tasks->state, task->state, task->bytes);
    if (task->function < steal->count) {
        const Function *function = &steal->functions[task->function];
        function->body(tasks, function->user);
    } else {
        note(steal, TIDINGS_STEAL_FUNCTION);
    }
    double ended_s = MPI_Wtime();
    steal->phase.work_seconds += ended_s - began_s;
    if (steal->is_again) tidings_steal_hold(steal);
    if (!tasks->has_ended) {
        double took_ns = 1e9 * (ended_s - began_s);
        tidings_steal_worker_finished(steal->worker, took_ns > 0 ? (uint64_t)took_ns : 0);
    }
    return ended_s;
}

/* The task that is to run now, if there is one. */
static bool take_task(TidingsSteal *steal, double now_s, TidingsStealTask *task)
{
    shelf_take_back(&steal->shelf, steal->worker);
    Board *board = &steal->board;
    board->at_us = microseconds(steal, now_s);
    return tidings_steal_worker_next(steal->worker, board->at_us,
                                     board->node ? &board->shown : places_shown(&steal->places),
                                     task);
}

/* Runs tasks for a while, and looks for messages in between; whether there were any tasks. */
static bool run_some(TidingsSteal *steal)
{
    TidingsStealTask task;
    double began_s = MPI_Wtime(), now_s = began_s, looked_s = began_s;
    bool any = false;
    steal->looked_s = began_s;
    gossip(steal, microseconds(steal, now_s));
    shelf_lay_out(&steal->shelf, steal->worker);
    while (now_s - began_s < ROUND_S || now_s - began_s < steal->poll_s || !any) {
        if (!take_task(steal, now_s, &task)) break;
        now_s = run(steal, &task, now_s);
        any = true;
        if (now_s - looked_s < steal->poll_s) continue;
        /* If nothing has come, the look counts as part of the next task: the time takes longer. */
        looked_s = now_s;
        if (take_in(steal)) now_s = MPI_Wtime();
    }
    perform(steal);
    return any;
}

static void meanwhile(void *steal)
{
    take_in(steal);
}

Entering tidings_steal_entering(TidingsSteal *steal)
{
    return (Entering){ &steal->mail, steal->options.enter_ms, meanwhile, steal };
}

/* Times how long an idle rank waits for answers of those that it asks, from when it looked for one
 * to ask until what came was taken in. */
static void time_answers(TidingsSteal *steal)
{
    TidingsStealCounters now;
    tidings_steal_worker_counters(steal->worker, &now);
    uint64_t answers = now.steals + now.refused;
    if (answers == steal->answers && now.attempts == steal->attempts) return;
    double waited_s = MPI_Wtime() - steal->asked_s;
    if (answers > steal->answers) steal->phase.waiting_seconds += waited_s;
    if (now.steals > steal->steals) steal->phase.stealing_seconds += waited_s;
    if (now.attempts > steal->attempts) steal->asked_s = steal->looked_s;
    steal->answers = answers;
    steal->steals = now.steals;
    steal->attempts = now.attempts;
}

/* Looks for messages. Who has nothing to do looks several times before it does anything else, as a
 * look takes less than that. */
static bool look(TidingsSteal *steal, bool is_idle)
{
    bool has_come = take_in(steal);
    for (int again = 1; is_idle && !has_come && again < IDLE_LOOKS; again++)
        has_come = take_in(steal);
    return has_come;
}

/* A rank that was asked may have laid something out after its shelf was seen to be empty, and be
 * in a task: who waits looks there again, after twice as long each time; whether there was any. */
static bool look_again(TidingsSteal *steal, int looks)
{
    bool is_due = bell_is_simulated() || (looks >= SHELF_LOOKS && !(looks & (looks - 1)));
    if (!is_due || !steal->shelf.is_open) return false;
    uint32_t asked = tidings_steal_worker_asked(steal->worker);
    if (asked == UINT32_MAX ||
        !shelf_answers(&steal->shelf, steal->worker, (int)asked, now_us(steal)))
        return false;
    time_answers(steal);
    return true;
}

/* Lets others go on, until there may be something to do. */
static void rest(TidingsSteal *steal, int looks)
{
    if (look_again(steal, looks)) return;
    uint64_t until_us = tidings_steal_worker_deadline_us(steal->worker), at_us = now_us(steal);
    if (steal->board.node && steal->board.due_us < until_us) until_us = steal->board.due_us;
    double seconds = until_us == UINT64_MAX ? INFINITY : 1e-6 * (double)(until_us - at_us);
    if (steal->shelf.is_open) seconds = fmin(seconds, SHELF_S);
    if (until_us > at_us) mail_await(&steal->mail, looks, seconds);
}

void tidings_steal_hold(TidingsSteal *steal)
{
    for (int looks = 1; !steal->is_over && tidings_steal_worker_waits(steal->worker); looks++) {
        if (take_in(steal)) looks = 0;
        if (steal->trouble == TIDINGS_STEAL_MPI) return;
        if (looks) mail_await(&steal->mail, looks, INFINITY);
    }
}

/* Runs what there is until nothing is left anywhere. */
static void work(TidingsSteal *steal)
{
    int looks = 0;
    bool was_idle = false;
    while (!steal->is_over && steal->trouble != TIDINGS_STEAL_MPI) {
        bool has_come = look(steal, was_idle);
        if (was_idle && has_come) time_answers(steal);
        bool has_run = run_some(steal);
        was_idle = !has_run;
        if (was_idle) time_answers(steal);
        looks = has_come || has_run ? 0 : looks + 1;
        if (looks) rest(steal, looks);
    }
}

static int begin(TidingsSteal *steal, const char *name)
{
    size_t length = strlen(name);
    int status = (int)tidings_steal_worker_begin(steal->worker, (const uint8_t *)name, length,
                                                 now_us(steal));
    perform(steal);
    return status;
}

int tidings_steal_fail(TidingsSteal *steal, int status)
{
    steal->has_failed = true;
    steal->is_split = status != TIDINGS_STEAL_DIFFERENT;
    return status;
}

static int whole_phase(TidingsSteal *steal, const char *name)
{
    TidingsStealCounters before, after;
    if (steal->has_failed) return TIDINGS_STEAL_ENDED;
    if (steal->is_within) return TIDINGS_STEAL_STATUS_WITHIN_PHASE;
    steal->phase = (TidingsStealPhase){ .seeding = TIDINGS_STEAL_SEEDING_GIVEN };
    steal->trouble = 0;
    steal->has_begun = steal->is_within = true;
    steal->is_over = false;
    uint64_t messages = steal->mail.messages, bytes = steal->mail.bytes;
    double began_s = MPI_Wtime();
    tidings_steal_worker_counters(steal->worker, &before);
    Entering all = tidings_steal_entering(steal);
    int status = enter_phase(&all, tidings_steal_hash(name), (uint32_t)steal->count);
    steal->phase.enter_seconds = MPI_Wtime() - began_s;
    if (!status) status = begin(steal, name);
    if (status) return tidings_steal_fail(steal, status);
    work(steal);
    bool is_end = steal->trouble == TIDINGS_STEAL_MPI || steal->trouble == TIDINGS_STEAL_EXPELLED ||
                  steal->trouble == TIDINGS_STEAL_DIVERGED;
    if (!is_end) leave_phase(&all, 0);
    steal->is_within = steal->is_again = false;
    tidings_steal_worker_counters(steal->worker, &after);
    steal->phase.counters = tidings_steal_since(&before, &after);
    steal->phase.seconds = MPI_Wtime() - began_s;
    steal->phase.messages = steal->mail.messages - messages;
    steal->phase.bytes = steal->mail.bytes - bytes;
    return is_end ? tidings_steal_fail(steal, steal->trouble) : steal->trouble;
}

int tidings_steal_phase(TidingsSteal *steal, const char *name, TidingsStealPhase *phase,
                        TidingsStealError *error)
{
    if (error) error->text[0] = 0;
    if (!steal || !name) return errors_tell(error, TIDINGS_STEAL_STATUS_NULL, "");
    if (strlen(name) > NAME_BYTES)
        return errors_tell(error, TIDINGS_STEAL_STATUS_CONFIGURATION, "(a name of over 255 bytes)");
    int status = whole_phase(steal, name);
    if (phase) *phase = steal->phase;
    return errors_tell_phase(steal, status, name, error);
}

/* Fills in what is usual. */
static TidingsStealOptions usual(const TidingsStealOptions *given)
{
    TidingsStealOptions options = given ? *given : (TidingsStealOptions){ 0 };
    if (!options.enter_ms) options.enter_ms = 60000;
    if (!options.unit_us) options.unit_us = 10000;
    return options;
}

static int make_worker(TidingsSteal *steal)
{
    TidingsStealConfig config = {
        .me = (uint32_t)steal->mail.rank,
        .workers = (uint32_t)steal->mail.ranks,
        .seed = steal->options.seed,
        .selection = steal->options.selection,
        .half = steal->options.half,
        .round_trip_us = steal->options.round_trip_us,
        .slot_bytes = steal->options.slot_bytes,
        .retain = steal->options.retain,
    };
    return (int)tidings_steal_worker_new(&config, &steal->worker);
}

/* The board, where victims are selected by it. */
static int make_board(TidingsSteal *steal)
{
    const TidingsStealOptions *options = &steal->options;
    if (options->selection != TIDINGS_STEAL_SELECTION_KNOWN || steal->mail.ranks == 1) return 0;
    bool is_open =
        board_open(&steal->board, &steal->mail, options->unit_us, options->seed, steal->origin_s);
    return is_open ? 0 : TIDINGS_STEAL_STATUS_CONFIGURATION;
}

/* Shelves, where tasks that are taken by nobody knows whom do no harm. */
static bool make_shelf(TidingsSteal *steal)
{
    const TidingsStealOptions *options = &steal->options;
    bool is_wanted = options->one_sided && steal->mail.ranks > 1 && !steal->mail.survives &&
                     !options->retain && options->selection != TIDINGS_STEAL_SELECTION_KNOWN;
    return !is_wanted || shelf_open(&steal->shelf, steal->mail.comm);
}

/* Where ranks are, where victims are selected by that. */
static bool make_places(TidingsSteal *steal)
{
    bool is_wanted = steal->options.selection == TIDINGS_STEAL_SELECTION_NEAREST;
    return !is_wanted || places_open(&steal->places, steal->mail.comm);
}

/* How long a busy rank runs tasks between two looks for messages, in seconds. */
static double poll_s(TidingsSteal *steal)
{
    if (steal->options.poll_us) return 1e-6 * steal->options.poll_us;
    double often_s = LOOKING * mail_look_s(&steal->mail);
    return often_s < ROUND_S ? often_s : ROUND_S;
}

static void discard(TidingsSteal *steal, bool all)
{
    tidings_steal_worker_free(steal->worker);
    board_close(&steal->board);
    places_close(&steal->places);
    if (all) shelf_close(&steal->shelf);
    mail_close(&steal->mail, all);
    free(steal);
}

int tidings_steal_open(MPI_Comm comm, const TidingsStealOptions *options, TidingsSteal **steal,
                       TidingsStealError *error)
{
    if (error) error->text[0] = 0;
    if (!steal) return errors_tell(error, TIDINGS_STEAL_STATUS_NULL, "(open)");
    *steal = NULL;
    MPI_Comm own;
    if (MPI_Comm_dup(comm, &own)) return errors_tell(error, TIDINGS_STEAL_MPI, "(open)");
    TidingsSteal *made = calloc(1, sizeof *made);
    int status = made ? 0 : TIDINGS_STEAL_MEMORY, worst;
    if (made) {
        made->options = usual(options);
        made->origin_s = MPI_Wtime();
        status = mail_open(&made->mail, own) ? make_worker(made) : TIDINGS_STEAL_MEMORY;
        made->poll_s = poll_s(made);
        if (!status) status = make_board(made);
        bool has_shelf = make_shelf(made), has_places = make_places(made);
        if (!has_shelf || !has_places) status = TIDINGS_STEAL_MEMORY;
    }
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, own);
    if (!worst) {
        *steal = made;
        return 0;
    }
    if (made)
        discard(made, true);
    else
        MPI_Comm_free(&own);
    return errors_tell(error, worst, "(open)");
}

/* For the Fortran module, whose communicators are numbers. */
int tidings_steal_open_fortran(MPI_Fint comm, const TidingsStealOptions *options,
                               TidingsSteal **steal, TidingsStealError *error);

int tidings_steal_open_fortran(MPI_Fint comm, const TidingsStealOptions *options,
                               TidingsSteal **steal, TidingsStealError *error)
{
    return tidings_steal_open(MPI_Comm_f2c(comm), options, steal, error);
}

int tidings_steal_living_fortran(TidingsSteal *steal, MPI_Fint *living);

int tidings_steal_living_fortran(TidingsSteal *steal, MPI_Fint *living)
{
    MPI_Comm made = MPI_COMM_NULL;
    int status = tidings_steal_living(steal, &made);
    *living = MPI_Comm_c2f(made);
    return status;
}

void tidings_steal_close(TidingsSteal *steal)
{
    /* Where ranks may have died not all know of it, and who waits for them waits for ever. */
    if (steal) discard(steal, !steal->is_split && !steal->mail.survives);
}

bool tidings_steal_survives(const TidingsSteal *steal)
{
    return steal && steal->mail.survives;
}

int tidings_steal_living(TidingsSteal *steal, MPI_Comm *living)
{
    if (!steal || !living) return TIDINGS_STEAL_STATUS_NULL;
    return deaths_living(steal->mail.comm, living) ? TIDINGS_STEAL_MPI : 0;
}

MPI_Comm tidings_steal_communicator(const TidingsSteal *steal)
{
    return steal->mail.comm;
}

void tidings_steal_progress(TidingsStealTasks *tasks)
{
    TidingsSteal *steal = tasks->steal;
    if (steal->board.node) gossip(steal, now_us(steal));
    if (!take_in(steal)) perform(steal);
}
