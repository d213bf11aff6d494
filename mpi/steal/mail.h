/*
 * Mail between the ranks of a communicator: messages of any length that are sent at once and taken
 * in when somebody looks. Nothing waits, nothing is lost, and what is on its way when the mail is
 * closed is taken in and dropped.
 */
#ifndef TIDINGS_STEAL_MAIL_H
#define TIDINGS_STEAL_MAIL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of messages, which are looked for apart. */
typedef enum MailKind { MAIL_TASKS = 1, MAIL_GOSSIP = 2 } MailKind;

typedef struct Mail {
    MPI_Comm comm; /* the mail's own */
    int rank, ranks;
    /* Messages on their way: what MPI still reads from. */
    MPI_Request *requests;
    void **outgoing;
    int *done;
    int pending, room;
    /* Messages sent to each rank, and received from all, since it was opened. */
    long long *sent, received;
    uint8_t *incoming;
    size_t incoming_room;
    uint64_t messages, bytes; /* sent */
} Mail;

/* Opens the mail, on a communicator that is the mail's own from then on, with whose errors calls
 * return. False if there is no memory. */
bool mail_open(Mail *mail, MPI_Comm comm);

/* Sends a copy of these bytes. False if MPI refuses it or there is no memory. */
bool mail_send(Mail *mail, MailKind kind, int to, const void *message, size_t bytes);

/* What has come of a look for a message. */
typedef enum MailLook { MAIL_NONE, MAIL_ONE, MAIL_FAILED } MailLook;

/* Takes in a message of a kind, if one has arrived; its bytes stay until the next look. */
MailLook mail_look(Mail *mail, MailKind kind, int *from, const uint8_t **message, size_t *bytes);

/* Ends it, and frees the communicator. Collective if `all` ranks take part; else what others still
 * send is left to MPI. */
void mail_close(Mail *mail, bool all);

#endif
