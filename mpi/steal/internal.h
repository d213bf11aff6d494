/* What the files of mpi/steal share beside the headers: ranks as workers, and a task that runs. */
#ifndef TIDINGS_STEAL_INTERNAL_H
#define TIDINGS_STEAL_INTERNAL_H

#include <stdalign.h>

#include "board.h"
#include "enter.h"
#include "mail.h"
#include "places.h"
#include "shelf.h"
#include "tidings_steal_mpi.h"

#define FUNCTIONS 1024
#define SLOT_BYTES 4096

typedef struct Function {
    TidingsStealBody body;
    void *user;
} Function;

/* The task that runs, within its rank. */
struct TidingsStealTasks {
    TidingsSteal *steal;
    double began_s;
    uint16_t function;
    uint32_t step;
    uint64_t work_ns;
    size_t bytes;
    bool has_ended;
    alignas(max_align_t) uint8_t state[SLOT_BYTES];
};

struct TidingsSteal {
    Mail mail;
    Board board; /* empty where it is not used */
    Shelf shelf; /* the same */
    Places places; /* the same */
    TidingsStealWorker *worker;
    TidingsStealOptions options;
    double origin_s, poll_s; /* between two looks for messages while tasks run */
    Function functions[FUNCTIONS];
    int count;
    bool has_begun, is_within, is_over, has_failed, is_split, has_lost;
    bool is_again; /* the next phase is one that was traced, or this one is */
    uint64_t diverged; /* after so many steps it was another */
    TidingsStealPhase phase;
    TidingsStealTasks tasks;
    /* As an idle rank last saw them. */
    uint64_t attempts, answers, steals;
    double asked_s, looked_s;
    int arrays;  /* that there are */
    int trouble; /* the first that a task or a message caused */
};

/* Takes in messages until the task that runs may spawn or end, where a phase runs again. */
void tidings_steal_hold(TidingsSteal *steal);

/* How this rank enters a phase, or another thing that all ranks do. */
Entering tidings_steal_entering(TidingsSteal *steal);

/* Ends all phases; the status. That phases differ all ranks know, and can close together. */
int tidings_steal_fail(TidingsSteal *steal, int status);

/* What a rank did in a phase: the difference of counters. */
TidingsStealCounters tidings_steal_since(const TidingsStealCounters *before,
                                         const TidingsStealCounters *now);

/* Says of which phase a status is, and what it means; the status. */
int errors_tell(TidingsStealError *error, int status, const char *name);

/* The same of a phase that this rank was in, with what it knows. */
int errors_tell_phase(const TidingsSteal *steal, int status, const char *name,
                  TidingsStealError *error);

/* The communicator whose messages are the library's own. */
MPI_Comm tidings_steal_communicator(const TidingsSteal *steal);

#endif
