/*
 * Ranks that outnumber the cores: a library for LD_PRELOAD that makes a waiting rank yield to
 * another one.
 *
 * A rank that waits in MPI polls without pause. With a core to itself that is fastest; if ranks
 * share cores, the awaited rank does not run until the scheduler takes the core away, some
 * milliseconds later. A rank that polled in vain calls sched_yield here, so that each cycle of
 * polls ends with the rank that has work.
 *
 * MPICH polls in UCX, by ucp_worker_progress, which returns whether anything happened: it is
 * wrapped. Open MPI yields by itself if mpi_yield_when_idle is set, which is done here unless the
 * user has set it. In a program without MPI the library does nothing.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>

typedef unsigned Progress(void *worker);

static Progress *library_progress;

__attribute__((constructor)) static void prepare(void)
{
    library_progress = (Progress *)dlsym(RTLD_NEXT, "ucp_worker_progress");
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

/* UCX itself may come later than this library's constructor, with a plugin of MPI. */
static Progress *progress(void)
{
    if (!library_progress)
        library_progress = (Progress *)dlsym(RTLD_NEXT, "ucp_worker_progress");
    return library_progress;
}

unsigned ucp_worker_progress(void *worker)
{
    unsigned happened = progress()(worker);
    if (happened == 0)
        sched_yield();
    return happened;
}
