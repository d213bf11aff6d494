/*
 * Sessions: sets of processes without the hidden ones, and ranks hidden from programs that begin
 * with a session and may never call MPI_Init.
 */
#include "shim.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open MPI 5 has sessions, but calls itself 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
static int group_without_hidden(MPI_Session session, const char *set, MPI_Group *group)
{
    MPI_Group all;
    int answer = REAL(MPI_Group_from_session_pset)(session, set, &all), size;
    if (answer != MPI_SUCCESS || shim_hidden.count == 0) {
        *group = all;
        return answer;
    }
    REAL(MPI_Group_size)(all, &size);
    if (size != shim_hidden.all) {
        *group = all; /* not the job: MPI has sets of the whole job, and of a process itself */
        return MPI_SUCCESS;
    }
    /*
     * A set of the whole job is in the order of its world. MPI_Group_difference would not need
     * that, but MPICH 5.0 ends a program that compares groups of a session and of the world.
     */
    answer = REAL(MPI_Group_excl)(all, shim_hidden.count, shim_hidden.ranks, group);
    REAL(MPI_Group_free)(&all);
    return answer;
}

/* A set of processes without the hidden ones. */
SHIM_EXPORT int MPI_Group_from_session_pset(MPI_Session session, const char *set, MPI_Group *group)
{
    return group_without_hidden(session, set, group);
}
SHIM_EXPORT int PMPI_Group_from_session_pset(MPI_Session session, const char *set,
                                             MPI_Group *group)
    __attribute__((alias("MPI_Group_from_session_pset")));

/* The visible information of a set is its number of processes. */
SHIM_EXPORT int MPI_Session_get_pset_info(MPI_Session session, const char *set, MPI_Info *info)
{
    MPI_Group group;
    int answer = REAL(MPI_Session_get_pset_info)(session, set, info), size;
    if (answer != MPI_SUCCESS || shim_hidden.count == 0)
        return answer;
    answer = group_without_hidden(session, set, &group);
    if (answer != MPI_SUCCESS)
        return answer;
    char text[16];
    REAL(MPI_Group_size)(group, &size);
    snprintf(text, sizeof text, "%d", size);
    if (size > 0)
        REAL(MPI_Group_free)(&group);
    return REAL(MPI_Info_set)(*info, "mpi_size", text);
}
SHIM_EXPORT int PMPI_Session_get_pset_info(MPI_Session session, const char *set, MPI_Info *info)
    __attribute__((alias("MPI_Session_get_pset_info")));

/*
 * Ranks are hidden from the world that MPI_Init makes. A program that begins with a session has
 * none, so one is made below its first session, and ended when the program ends.
 */

/* Sessions of the program that it has not finalized. */
static atomic_int open_sessions;

/* The hidden ranks are told that the program has ended, unless it does so without finalizing. */
static void end_world(void)
{
    int is_finalized;
    REAL(MPI_Finalized)(&is_finalized);
    if (!is_finalized && atomic_load(&open_sessions) == 0)
        shim_end_without_finalize();
}

/* The level of threads that a session asks for; the highest where it asks for none. */
static int level_of(MPI_Info info)
{
    static const struct { const char *name; int level; } LEVELS[] = {
        { "MPI_THREAD_SINGLE", MPI_THREAD_SINGLE }, { "MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED },
        { "MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED },
    };
    char asked[64] = "";
    int found = 0;
    if (info != MPI_INFO_NULL)
        REAL(MPI_Info_get)(info, "thread_level", sizeof asked - 1, asked, &found);
    for (size_t at = 0; found && at < sizeof LEVELS / sizeof *LEVELS; at++)
        if (strcmp(asked, LEVELS[at].name) == 0)
            return LEVELS[at].level;
    return MPI_THREAD_MULTIPLE;
}

SHIM_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    const char *hide = getenv("TIDINGS_HIDE");
    shim_require_own_library();
    if (hide && *hide && !shim_begun) {
        shim_begin_without_init(level_of(info));
        atexit(end_world);
    }
    int answer = REAL(MPI_Session_init)(info, handler, session);
    if (answer == MPI_SUCCESS)
        atomic_fetch_add(&open_sessions, 1);
    return answer;
}
SHIM_EXPORT int PMPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
    __attribute__((alias("MPI_Session_init")));

SHIM_EXPORT int MPI_Session_finalize(MPI_Session *session)
{
    int answer = REAL(MPI_Session_finalize)(session);
    if (answer == MPI_SUCCESS)
        atomic_fetch_sub(&open_sessions, 1);
    return answer;
}
SHIM_EXPORT int PMPI_Session_finalize(MPI_Session *session)
    __attribute__((alias("MPI_Session_finalize")));
#endif
