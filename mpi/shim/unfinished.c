/*
 * The end of a rank that does not call MPI_Finalize, below MPICH's launcher.
 *
 * HYDRA ends a job of which a rank has closed its connection without MPI_Finalize, by SIGKILL, and
 * the job's status is that of the process that it reaps first: 9, unless that one was quicker than
 * the signal and had exited with 0. Hidden ranks change who is first. So that a job that was not
 * finalized never succeeds, a rank that hides others and exits with 0 ends as HYDRA ends it.
 */
#define _GNU_SOURCE /* on_exit */
#include "unfinished.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

#if !defined(OPEN_MPI)

/* What the program exits with; -1 before it does. */
static int exits_with = -1;

static void note(int status, void *unused)
{
    (void)unused;
    exits_with = status;
}

void unfinished_watch(void)
{
    if (getenv("HYDI_CONTROL_FD"))
        on_exit(note, NULL);
}

/* Of all that is called at exit the last but the library's: the program's own has been called. */
__attribute__((destructor)) static void end(void)
{
    if (exits_with != 0 || shim_hidden.count == 0)
        return;
    fflush(NULL);
    raise(SIGKILL);
}

#else

void unfinished_watch(void)
{
}

#endif
