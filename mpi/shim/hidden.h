/* Which ranks are hidden, what they do, and what the others see of the job. */
#ifndef TIDINGS_SHIM_HIDDEN_H
#define TIDINGS_SHIM_HIDDEN_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* How hidden ranks are chosen. */
typedef struct HiddenRule {
    int every;     /* every k-th rank; 0: not this rule */
    bool per_node; /* the last rank of each node */
    bool one_a_node;
} HiddenRule;

/* A rank's place in the job. */
typedef struct HiddenPlace {
    bool hidden;
    int rank, ranks; /* in the whole job */
} HiddenPlace;

/* Reads the rule from the environment; false, with the reason in `why`, if it is wrong. */
bool hidden_rule(HiddenRule *rule, char *why, size_t why_bytes);

/*
 * This rank's place; false, with the reason in `why`, if the rule cannot be followed.
 * Collective.
 */
bool hidden_place(const HiddenRule *rule, MPI_Comm world, HiddenPlace *place, char *why,
                  size_t why_bytes);

/*
 * Rewrites what launchers put into the environment, so that it describes the application's ranks
 * and not all `ranks` of the job.
 */
void hidden_rewrite_environment(MPI_Comm app, MPI_Comm node, int ranks);

/*
 * The slots that the application sees, out of those of a job of `ranks`, some hidden.
 */
int hidden_universe(int ranks, int hidden, int slots);

/*
 * The work of a hidden rank, until a message on `control` stops it, which all ranks of the job
 * have. Collective over `comm`, and at its begin with hidden_await over `control`.
 */
void hidden_live(MPI_Comm comm, MPI_Comm control);

/*
 * Waits until all hidden ranks are ready, on the application's ranks. To get ready hidden ranks
 * wait for each other, without pause: if they share cores with an application that has begun,
 * each such wait makes its ranks share the remaining time, for a step or more.
 */
void hidden_await(MPI_Comm control);

/* Stops `count` hidden ranks. Called by one rank of the application. */
void hidden_stop(MPI_Comm control, const int *ranks, int count);

/* The tag of that message. */
#define HIDDEN_STOP_TAG 3

#endif
