/* See mail.h. */
#include "mail.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "deaths.h"

/* Looks for nothing before an idle rank gives way to others, and before it sleeps between looks.
 */
#define SPINS 256
#define YIELDS 1024
#define SIMULATED_LOOKS 8

/* So many looks so many times, of which the fastest say what one takes: others are disturbed. */
#define MEASURED 8

/* What a receive that is posted has room for. Longer messages are announced by an empty one. */
#define POSTED_BYTES 16384
#define MAIL_LARGE 3

/* How long it sleeps then: who sends to it waits for half of it. */
#define NAP_NS 50000

/* Messages on their way beyond twice those that were so at the last look, before it is looked again
 * which have gone: so all looks together are two a message at most. */
#define KEPT 16

/* Posts a receive, unless deaths are survived: one of any rank would fail at each death. There are
 * two, which take turns, so that a message stays while the next one comes. */
static bool post(Mail *mail)
{
    if (mail->survives) return true;
    for (int turn = 0; turn < 2; turn++) {
        mail->posted_room[turn] = malloc(POSTED_BYTES);
        if (!mail->posted_room[turn]) return false;
    }
    for (int turn = 0; turn < 2; turn++)
        if (MPI_Recv_init(mail->posted_room[turn], POSTED_BYTES, MPI_BYTE, MPI_ANY_SOURCE,
                          MAIL_TASKS, mail->comm, &mail->posted[turn]))
            return false;
    mail->is_posted = !MPI_Start(&mail->posted[0]);
    return mail->is_posted;
}

bool mail_open(Mail *mail, MPI_Comm comm)
{
    *mail = (Mail){ .comm = comm };
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &mail->rank);
    MPI_Comm_size(comm, &mail->ranks);
    mail->sent = calloc((size_t)mail->ranks, sizeof *mail->sent);
    mail->dead = calloc((size_t)mail->ranks, sizeof *mail->dead);
    mail->known = calloc((size_t)mail->ranks, sizeof *mail->known);
    mail->survives = deaths_are_survived();
    mail->clear_at = KEPT;
    /* All have to, also where one has no memory. */
    bool has_bell = bell_open(&mail->bell, comm);
    return has_bell && mail->sent && mail->dead && mail->known && post(mail);
}

/* Whether a call has failed since a rank has died, and nothing else. */
static bool excused(Mail *mail, int error)
{
    if (!mail->survives || !deaths_said(error)) return false;
    mail->has_news = true;
    return true;
}

/* Room for one more message on its way. */
static bool make_room(Mail *mail)
{
    if (mail->pending < mail->room) return true;
    int room = mail->room ? 2 * mail->room : 64;
    MPI_Request *requests = realloc(mail->requests, (size_t)room * sizeof *requests);
    if (requests) mail->requests = requests;
    void **outgoing = realloc(mail->outgoing, (size_t)room * sizeof *outgoing);
    if (outgoing) mail->outgoing = outgoing;
    BellRung *rung = realloc(mail->rung, (size_t)room * sizeof *rung);
    if (rung) mail->rung = rung;
    int *done = realloc(mail->done, (size_t)room * sizeof *done);
    if (done) mail->done = done;
    MPI_Status *statuses = realloc(mail->statuses, (size_t)room * sizeof *statuses);
    if (statuses) mail->statuses = statuses;
    if (!requests || !outgoing || !rung || !done || !statuses) return false;
    mail->room = room;
    return true;
}

/* Whether all that did not arrive was for ranks that have died. */
static bool all_excused(Mail *mail, int error, int count)
{
    if (error != MPI_ERR_IN_STATUS) return !error || excused(mail, error);
    for (int i = 0; i < count; i++) {
        int status = mail->statuses[i].MPI_ERROR;
        if (status && !excused(mail, status)) return false;
    }
    return true;
}

/* Finds which messages MPI has sent; how many, -1 if it has failed. */
static int find_done(Mail *mail)
{
    int count = 0;
    int error =
        MPI_Testsome(mail->pending, mail->requests, &count, mail->done, mail->statuses);
    if (!all_excused(mail, error, count)) return -1;
    return count == MPI_UNDEFINED ? 0 : count;
}

/* The same on a simulated machine. SimGrid (3.32) keeps a list of what each rank sends and gets,
 * and takes from it what the rank has waited for, not what a test has found: then each wait would
 * search all messages of the run. So what is known to have been taken in is waited for. */
static int wait_for_taken(Mail *mail)
{
    int count = 0;
    for (int i = 0; i < mail->pending; i++) {
        if (!bell_was_taken(&mail->bell, &mail->rung[i])) continue;
        if (MPI_Wait(&mail->requests[i], MPI_STATUS_IGNORE)) return -1;
        mail->done[count++] = i;
    }
    return count;
}

/* Frees what has been sent, and keeps the others together. */
static bool clear_away(Mail *mail)
{
    int count = bell_is_simulated() ? wait_for_taken(mail) : find_done(mail);
    if (count < 0) return false;
    for (int i = 0; i < count; i++) {
        free(mail->outgoing[mail->done[i]]);
        mail->outgoing[mail->done[i]] = NULL;
    }
    int kept = 0;
    for (int i = 0; i < mail->pending; i++) {
        if (!mail->outgoing[i]) continue;
        mail->outgoing[kept] = mail->outgoing[i];
        mail->rung[kept] = mail->rung[i];
        mail->requests[kept++] = mail->requests[i];
    }
    mail->pending = kept;
    mail->clear_at = 2 * kept + KEPT;
    return true;
}

/* Sends a copy of these bytes under a tag. */
static bool send_copy(Mail *mail, int tag, BellRung rung, const void *message, size_t bytes)
{
    if (!make_room(mail)) return false;
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy) return false;
    memcpy(copy, message, bytes);
    MPI_Request *request = &mail->requests[mail->pending];
    int error = MPI_Isend(copy, (int)bytes, MPI_BYTE, rung.to, tag, mail->comm, request);
    if (error) {
        free(copy);
        return excused(mail, error);
    }
    mail->rung[mail->pending] = rung;
    mail->outgoing[mail->pending++] = copy;
    return true;
}

bool mail_send(Mail *mail, MailKind kind, int to, const void *message, size_t bytes)
{
    if (!bytes || bytes > INT_MAX || to < 0 || to >= mail->ranks) return false;
    if (mail->dead[to]) return true;
    if (mail->pending >= mail->clear_at && !clear_away(mail)) return false;
    BellRung rung = bell_ring(&mail->bell, kind, to);
    bool is_large = kind == MAIL_TASKS && mail->is_posted && bytes > POSTED_BYTES;
    if (!send_copy(mail, is_large ? MAIL_LARGE : (int)kind, rung, message, bytes)) return false;
    if (is_large && !send_copy(mail, MAIL_TASKS, rung, message, 0)) return false;
    mail->sent[to]++;
    mail->messages++;
    mail->bytes += bytes;
    return true;
}

/* Takes in what a look has found. */
static MailLook take(Mail *mail, MPI_Status *status, int *from, const uint8_t **message,
                     size_t *bytes)
{
    int count = 0;
    MPI_Get_count(status, MPI_BYTE, &count);
    if (!room_for(&mail->incoming, (size_t)count)) return MAIL_FAILED;
    *from = status->MPI_SOURCE;
    int error = MPI_Recv(mail->incoming.at, count, MPI_BYTE, *from, status->MPI_TAG, mail->comm,
                         MPI_STATUS_IGNORE);
    if (error) return excused(mail, error) ? MAIL_NONE : MAIL_FAILED;
    mail->received++;
    *message = mail->incoming.at;
    *bytes = (size_t)count;
    return MAIL_ONE;
}

/* Whether something has come where a receive is posted. A simulated rank, which knows that it is on
 * its way, waits for it, for the reason that `wait_for_taken` has. */
static bool has_come(Mail *mail, MPI_Status *status, bool *has_failed)
{
    int is_there = true;
    if (mail->has_come)
        *status = mail->came;
    else if (bell_is_simulated())
        *has_failed = MPI_Wait(&mail->posted[mail->turn], status);
    else
        *has_failed = MPI_Test(&mail->posted[mail->turn], &is_there, status);
    mail->has_come = false;
    return is_there && !*has_failed;
}

/* The same where a receive is posted: what it has got, or after an empty message what that stands
 * for. */
static MailLook look_at_posted(Mail *mail, int *from, const uint8_t **message, size_t *bytes)
{
    MPI_Status status;
    int count = 0;
    bool has_failed = false;
    if (!has_come(mail, &status, &has_failed)) return has_failed ? MAIL_FAILED : MAIL_NONE;
    bell_taken(&mail->bell, MAIL_TASKS, status.MPI_SOURCE);
    *message = mail->posted_room[mail->turn];
    mail->turn = !mail->turn;
    if (MPI_Start(&mail->posted[mail->turn])) return MAIL_FAILED;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (!count) {
        if (MPI_Probe(status.MPI_SOURCE, MAIL_LARGE, mail->comm, &status)) return MAIL_FAILED;
        return take(mail, &status, from, message, bytes);
    }
    mail->received++;
    *from = status.MPI_SOURCE;
    *bytes = (size_t)count;
    return MAIL_ONE;
}

/* Nobody else receives on this communicator, so what was seen is what comes. SMPI has no
 * MPI_Improbe. */
static int see(Mail *mail, MailKind kind, int *is_there, MPI_Status *status)
{
    return MPI_Iprobe(MPI_ANY_SOURCE, (int)kind, mail->comm, is_there, status);
}

/* The same where none is posted. */
static MailLook look_at_sent(Mail *mail, int *from, const uint8_t **message, size_t *bytes)
{
    MPI_Status status;
    int is_there = 0;
    int error = see(mail, MAIL_TASKS, &is_there, &status);
    if (error) return excused(mail, error) ? MAIL_NONE : MAIL_FAILED;
    if (!is_there) return MAIL_NONE;
    MailLook look = take(mail, &status, from, message, bytes);
    if (look == MAIL_ONE) bell_taken(&mail->bell, MAIL_TASKS, *from);
    return look;
}

/* Begins to take in all messages of gossip that are there. */
static int begin_coming(Mail *mail)
{
    MPI_Status status;
    int error = MPI_SUCCESS, is_there = true;
    while (!error && is_there && coming_has_room(&mail->coming)) {
        error = see(mail, MAIL_GOSSIP, &is_there, &status);
        if (!error && is_there) error = coming_begin(&mail->coming, mail->comm, &status);
    }
    return error;
}

/* The same of gossip, whose messages are long: the rank goes on while they come in. */
static MailLook look_at_gossip(Mail *mail, int *from, const uint8_t **message, size_t *bytes)
{
    const Incoming *come = NULL;
    int error = begin_coming(mail);
    if (!error) error = coming_next(&mail->coming, &come);
    if (error && !excused(mail, error)) return MAIL_FAILED;
    if (!come) return MAIL_NONE;
    mail->received++;
    *from = come->from;
    *message = come->room.at;
    *bytes = (size_t)come->bytes;
    bell_taken(&mail->bell, MAIL_GOSSIP, *from);
    return MAIL_ONE;
}

MailLook mail_look(Mail *mail, MailKind kind, int *from, const uint8_t **message, size_t *bytes)
{
    if (bell_is_silent(&mail->bell, kind)) return MAIL_NONE;
    if (kind == MAIL_GOSSIP) return look_at_gossip(mail, from, message, bytes);
    if (mail->is_posted) return look_at_posted(mail, from, message, bytes);
    return look_at_sent(mail, from, message, bytes);
}

bool mail_is_coming(const Mail *mail)
{
    return mail->coming.under_way > 0;
}

double mail_look_s(Mail *mail)
{
    double least_s = 1;
    for (int i = 0; i < MEASURED; i++) {
        int from;
        const uint8_t *message;
        size_t bytes;
        double began_s = MPI_Wtime();
        for (int look = 0; look < MEASURED; look++)
            mail_look(mail, MAIL_TASKS, &from, &message, &bytes);
        double took_s = (MPI_Wtime() - began_s) / MEASURED;
        if (took_s < least_s) least_s = took_s;
    }
    return least_s;
}

void mail_rest(int looks)
{
    const struct timespec nap = { .tv_nsec = NAP_NS };
    if (looks > (bell_is_simulated() ? SIMULATED_LOOKS : YIELDS))
        nanosleep(&nap, NULL);
    else if (looks > SPINS)
        sched_yield();
}

void mail_await(Mail *mail, int looks, double seconds)
{
    if (!bell_is_simulated() || !mail->is_posted) return mail_rest(looks);
    if (!mail->has_come && bell_wait(&mail->bell, seconds))
        mail->has_come = !MPI_Wait(&mail->posted[mail->turn], &mail->came);
}

int mail_death(Mail *mail)
{
    if (!mail->has_news || !deaths_mark(mail->comm, mail->known)) return -1;
    for (int rank = 0; rank < mail->ranks; rank++) {
        if (!mail->known[rank] || mail->dead[rank]) continue;
        mail->dead[rank] = true;
        mail->deaths++;
        return rank;
    }
    mail->has_news = false;
    return -1;
}

/* Takes in all that was sent to this rank, and waits until all that it has sent is gone. */
static void empty(Mail *mail)
{
    long long coming = 0;
    MPI_Reduce_scatter_block(mail->sent, &coming, 1, MPI_LONG_LONG, MPI_SUM, mail->comm);
    while (mail->received < coming) {
        int from;
        const uint8_t *message;
        size_t bytes;
        MailLook of_tasks = mail_look(mail, MAIL_TASKS, &from, &message, &bytes);
        MailLook of_gossip = mail_look(mail, MAIL_GOSSIP, &from, &message, &bytes);
        if (of_tasks == MAIL_FAILED || of_gossip == MAIL_FAILED) return;
        /* On a simulated machine a look may take no time, in which nothing comes. */
        if (of_tasks == MAIL_NONE && of_gossip == MAIL_NONE) mail_await(mail, 0, 1e-6 * COMING_US);
    }
    MPI_Waitall(mail->pending, mail->requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < mail->pending; i++)
        free(mail->outgoing[i]);
    mail->pending = 0;
}

/* Ends the receives that were posted, of which one may still wait. */
static void withdraw(Mail *mail)
{
    if (mail->is_posted) {
        /* SMPI cannot cancel it. */
        uint8_t nothing = 0;
        MPI_Request request;
        MPI_Isend(&nothing, 1, MPI_BYTE, mail->rank, MAIL_TASKS, mail->comm, &request);
        MPI_Wait(&mail->posted[mail->turn], MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int turn = 0; turn < 2; turn++)
            MPI_Request_free(&mail->posted[turn]);
    }
    for (int turn = 0; turn < 2; turn++)
        free(mail->posted_room[turn]);
}

void mail_close(Mail *mail, bool all)
{
    if (all && mail->sent) empty(mail);
    withdraw(mail);
    if (all) bell_close(&mail->bell, mail->comm);
    if (all) MPI_Comm_free(&mail->comm);
    /* What MPI may still read from stays allocated. */
    free(mail->requests);
    free(mail->outgoing);
    free(mail->rung);
    free(mail->done);
    free(mail->statuses);
    free(mail->sent);
    free(mail->dead);
    free(mail->known);
    free(mail->incoming.at);
    coming_close(&mail->coming);
    *mail = (Mail){ 0 };
}
