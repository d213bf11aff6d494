/*
 * The shim: a library for LD_PRELOAD that reserves some ranks of an unmodified MPI program for
 * gossip, hides them from it, and measures how long the program is in MPI.
 *
 * For MPI_COMM_WORLD the program gets a communicator of its own ranks: the wrappers of generate.py
 * replace it in every function that takes one. What replacing cannot do is written by hand: start
 * and end, abort and spawning (shim.c), attributes (attributes.c), error handlers (errors.c),
 * sessions (sessions.c) and environment variables (hidden.c).
 *
 * | variable | value |
 * |---|---|
 * | TIDINGS_HIDE | `every:K`: ranks K-1, 2K-1, ... are hidden; `node`: the last of each node |
 * | TIDINGS_HIDE_ONE_A_NODE | set: do not start unless every node has one hidden rank |
 * | TIDINGS_HIDDEN | what hidden ranks do: `gossip` (the default) or `sleep` |
 * | TIDINGS_GOSSIP | options of the gossip process, as for tidings-mpi-gossip |
 * | TIDINGS_REPORT | a file for the report of the hidden ranks |
 * | TIDINGS_TIMES | a file for the time that the program was in MPI |
 */
#ifndef TIDINGS_SHIM_H
#define TIDINGS_SHIM_H

#include <mpi.h>
#include <stdbool.h>

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#define SHIM_EXPORT __attribute__((visibility("default")))

/* Private: reached without the indirection of a symbol that several libraries share. */
#pragma GCC visibility push(hidden)

/* The functions of the library below, by number. */
extern const int shim_functions;
extern void *shim_real[];
extern const char *const shim_names[];

/* MPI_COMM_WORLD, where jump.h can read it. */
extern const MPI_Comm shim_all;

/* What the application has in its place; that itself before MPI_Init and in MPI_Finalize. */
extern MPI_Comm shim_world;

/* Whether time is measured. */
extern bool shim_timed;

/* Which ranks of the job are hidden; none before MPI_Init and after MPI_Finalize. */
typedef struct ShimHidden {
    int all; /* ranks of the job */
    int count;
    int *ranks;
} ShimHidden;
extern ShimHidden shim_hidden;

/* Whether ranks have been removed, if any are to be. */
extern bool shim_begun;

void shim_enter(void);
void shim_leave(void);

/* A function of the library below; a program that calls a missing one ends here. */
void *shim_find(const char *name);

/* Ends the job with status 2 unless the program's MPI is the one that this shim was made for. */
void shim_require_own_library(void);

/* Removes the hidden ranks of a program that has not called MPI_Init, at this level of threads. */
void shim_begin_without_init(int level);

/* What MPI_Finalize does otherwise, for such a program. */
void shim_end_without_finalize(void);

#pragma GCC visibility pop

#define REAL(function) ((__typeof__(&function))shim_find("P" #function))

static inline MPI_Comm shim_comm(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD ? shim_world : comm;
}

/* The other way: what the program may see of a communicator of the library. */
static inline MPI_Comm shim_seen(MPI_Comm comm)
{
    return comm == shim_world ? MPI_COMM_WORLD : comm;
}

#endif
