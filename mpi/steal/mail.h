/*
 * Mail between the ranks of a communicator: messages of any length that are sent at once and taken
 * in when somebody looks. Nothing waits, nothing is lost but what a rank that dies would have had
 * or said, and what is on its way when the mail is closed is taken in and dropped.
 */
#ifndef TIDINGS_STEAL_MAIL_H
#define TIDINGS_STEAL_MAIL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bell.h"
#include "coming.h"

typedef struct Mail {
    MPI_Comm comm; /* the mail's own */
    int rank, ranks;
    /* Messages on their way: what MPI still reads from. */
    MPI_Request *requests;
    void **outgoing;
    BellRung *rung;
    int *done;
    MPI_Status *statuses;
    int pending, room, clear_at; /* where it is looked which have gone */
    /* Messages sent to each rank, and received from all, since it was opened. */
    long long *sent, received;
    Room incoming;
    Coming coming; /* messages of gossip */
    /* Receives for messages of tasks, of which the one whose turn it is waits. */
    MPI_Request posted[2];
    uint8_t *posted_room[2];
    int turn;
    bool is_posted, has_come; /* and was waited for */
    MPI_Status came;
    Bell bell;
    uint64_t messages, bytes; /* sent */
    /* Where deaths are survived: whether a call has failed by one, whom MPI knows to be dead, and
     * those of them who were named. */
    bool survives, has_news, *known, *dead;
    int deaths;
} Mail;

/* Opens the mail, on a communicator that is the mail's own from then on, with whose errors calls
 * return. False if there is no memory. */
bool mail_open(Mail *mail, MPI_Comm comm);

/* Sends a copy of these bytes, one or more, to a rank that has died nothing. False if MPI refuses
 * it or there is no memory. */
bool mail_send(Mail *mail, MailKind kind, int to, const void *message, size_t bytes);

/* What has come of a look for a message. */
typedef enum MailLook { MAIL_NONE, MAIL_ONE, MAIL_FAILED } MailLook;

/* Takes in a message of a kind, if one has arrived; its bytes stay until the next look. */
MailLook mail_look(Mail *mail, MailKind kind, int *from, const uint8_t **message, size_t *bytes);

/* Whether a message of gossip comes in: the next look may find it sooner than another one. */
bool mail_is_coming(const Mail *mail);

/* How long a look takes that finds nothing. Nobody sends anything yet. */
double mail_look_s(Mail *mail);

/* Lets others have the processor, after so many looks in a row for which nothing had come: who
 * sends to a rank that has had nothing for long waits for up to 50 us. */
void mail_rest(int looks);

/* The same where nothing is to be done for so long but if a message of tasks comes. On a simulated
 * machine this takes until one has, or all the time. */
void mail_await(Mail *mail, int looks, double seconds);

/* A rank that has died, whom no call has named before; -1 if there is none. */
int mail_death(Mail *mail);

/* Ends it, and frees the communicator. Collective if `all` ranks take part; else what others still
 * send is left to MPI. */
void mail_close(Mail *mail, bool all);

#endif
