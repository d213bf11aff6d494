/*
 * The shim: a library for LD_PRELOAD that reserves some ranks of an unmodified MPI program for
 * gossip, hides them from it, and measures how long the program is in MPI.
 *
 * For MPI_COMM_WORLD the program gets a communicator of its own ranks: the wrappers of generate.py
 * replace it in every function that takes one. What replacing cannot do is written by hand: start
 * and end, abort, attributes, spawning, sessions and environment variables.
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

void shim_enter(void);
void shim_leave(void);

#pragma GCC visibility pop

static inline MPI_Comm shim_comm(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD ? shim_world : comm;
}

#endif
