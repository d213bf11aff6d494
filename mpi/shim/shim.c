/* See shim.h. */
#define _GNU_SOURCE /* dladdr */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finish.h"
#include "hidden.h"
#include "others.h"
#include "unfinished.h"

const MPI_Comm shim_all = MPI_COMM_WORLD;
MPI_Comm shim_world;
bool shim_timed;

static HiddenRule rule;
static HiddenPlace place;
ShimHidden shim_hidden;

/* Of all ranks, for starting, stopping and aborting. */
static MPI_Comm control = MPI_COMM_NULL;

/* The time in MPI, in nanoseconds and calls of any thread; only outermost calls count. */
static _Thread_local int depth;
static _Thread_local double entered;
static atomic_llong nanoseconds, calls;
static double started;

/* Whether ranks have been removed. */
bool shim_begun;

/*
 * Whether the world was made below the program's first session, and, if so, whether the program has
 * not called MPI_Init yet, and whether it has called MPI_Finalize.
 */
static bool is_of_session, before_init, is_left;

void *shim_find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "tidings: the MPI library has no %s\n", name);
        abort();
    }
    return found;
}

/* The kind of MPI whose mpi.h this was made from. */
#if defined(OPEN_MPI)
#define SHIM_MPI "Open MPI"
#elif defined(MPI_ABI_VERSION)
#define SHIM_MPI "the ABI of the MPI standard"
#else
#define SHIM_MPI "the family of MPICH"
#endif

/* MPI_Wtime has no wrapper, so it is the library's already. */

static void missing(void)
{
    fputs("tidings: a function was called that this MPI library does not have: build the shim with "
          "its mpicc\n", stderr);
    abort();
}

__attribute__((constructor)) static void resolve(void)
{
    shim_world = MPI_COMM_WORLD;
    for (int at = 0; at < shim_functions; at++) {
        shim_real[at] = dlsym(RTLD_NEXT, shim_names[at]);
        if (!shim_real[at])
            shim_real[at] = (void *)missing;
    }
}

void shim_enter(void)
{
    if (depth++ == 0)
        entered = MPI_Wtime();
}

void shim_leave(void)
{
    if (--depth > 0)
        return;
    double passed = MPI_Wtime() - entered;
    atomic_fetch_add_explicit(&nanoseconds, (long long)(passed * 1e9), memory_order_relaxed);
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

/* Ends this rank before MPI has begun: one rank of the job prints why, if launchers number them. */
static void refuse_early(const char *why)
{
    static const char *const RANK[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK" };
    const char *rank = NULL;
    for (size_t at = 0; at < sizeof RANK / sizeof *RANK && !rank; at++)
        rank = getenv(RANK[at]);
    if (!rank || strcmp(rank, "0") == 0)
        fprintf(stderr, "tidings: %s\n", why);
    exit(2);
}

/* Whether the library that the program uses is of the kind that this shim was made for. */
static bool is_own_library(const char *version, const char *file)
{
    bool is_open_mpi = strstr(version, "Open MPI") != NULL, is_abi = strstr(file, "libmpi_abi");
#if defined(OPEN_MPI)
    return is_open_mpi && !is_abi;
#elif defined(MPI_ABI_VERSION)
    (void)is_open_mpi;
    return is_abi;
#else
    return !is_open_mpi && !is_abi;
#endif
}

/*
 * A shim made from the mpi.h of one MPI uses the handles of another as its own, and crashes. So
 * before anything else the program's MPI is identified.
 */
void shim_require_own_library(void)
{
    static char version[8192], why[512]; /* as long as any MPI's version */
    Dl_info found;
    int length;
    void *init = shim_find("PMPI_Init");
    const char *file = dladdr(init, &found) && found.dli_fname ? found.dli_fname : "?";
    REAL(MPI_Get_library_version)(version, &length);
    if (is_own_library(version, file))
        return;
    version[strcspn(version, "\n,")] = 0;
    snprintf(why, sizeof why, "this shim is made for " SHIM_MPI ", but the program uses %.100s "
             "(%.200s): preload the shim that mpi/build makes with its own mpicc", version,
             file);
    refuse_early(why);
}

/* The library's MPI_Finalize. */
static int finish(void)
{
    finish_begins();
    return REAL(MPI_Finalize)();
}

/* Ends the job because it cannot be run as requested. */
static void refuse(const char *why)
{
    if (place.rank == 0)
        fprintf(stderr, "tidings: %s\n", why);
    REAL(MPI_Barrier)(MPI_COMM_WORLD);
    finish();
    exit(2);
}

/*
 * Ends the job if the file that a rank of the job is to write at its end cannot be written: what a
 * run is for must not be lost then. Collective.
 */
static void require_writable(const char *variable, int writer)
{
    char why[512];
    const char *path = getenv(variable);
    int error = 0;
    if (place.rank == writer && path) {
        FILE *out = fopen(path, "a");
        error = out ? 0 : errno;
        if (out)
            fclose(out);
    }
    REAL(MPI_Bcast)(&error, 1, MPI_INT, writer, MPI_COMM_WORLD);
    if (!error)
        return;
    snprintf(why, sizeof why, "%s: %.128s cannot be written (%.64s): name a file in a folder that "
             "exists and that you may write", variable, path ? path : "its file", strerror(error));
    refuse(why);
}

/* Finds which ranks are hidden, on every rank. */
static void learn_hidden(void)
{
    int hidden = place.hidden, found = 0;
    int *all = malloc((size_t)place.ranks * sizeof *all);
    int *ranks = malloc((size_t)place.ranks * sizeof *ranks);
    if (!all || !ranks)
        REAL(MPI_Abort)(MPI_COMM_WORLD, 1);
    REAL(MPI_Allgather)(&hidden, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = 0; rank < place.ranks; rank++)
        if (all[rank])
            ranks[found++] = rank;
    shim_hidden = (ShimHidden){ .all = place.ranks, .count = found, .ranks = ranks };
    free(all);
}

/*
 * Open MPI 5 makes a communicator of all ranks of the job when a process has its first partitioned
 * transfer. Hidden ranks would have none, and the others would wait for them for ever: so all ranks
 * have one here, each with itself.
 */
static void begin_partitions(void)
{
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    char out = 0, in;
    MPI_Request requests[2];
    REAL(MPI_Precv_init)(&in, 1, 1, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
    REAL(MPI_Psend_init)(&out, 1, 1, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]);
    REAL(MPI_Startall)(2, requests);
    REAL(MPI_Pready)(0, requests[1]);
    REAL(MPI_Waitall)(2, requests, MPI_STATUSES_IGNORE);
    for (int at = 0; at < 2; at++)
        REAL(MPI_Request_free)(&requests[at]);
#endif
}

/* Removes the hidden ranks; they never return from here. */
static void begin(void)
{
    char why[256] = "";
    MPI_Comm own, node;
    shim_begun = true;
    REAL(MPI_Comm_rank)(MPI_COMM_WORLD, &place.rank);
    started = MPI_Wtime();
    shim_timed = false;
    if (!hidden_rule(&rule, why, sizeof why))
        refuse(why);
    require_writable("TIDINGS_TIMES", 0);
    if (rule.every == 0 && !rule.per_node) {
        shim_timed = getenv("TIDINGS_TIMES") != NULL;
        if (shim_timed)
            others_begin(false);
        return;
    }
    if (!hidden_place(&rule, MPI_COMM_WORLD, &place, why, sizeof why))
        refuse(why);
    learn_hidden();
    require_writable("TIDINGS_REPORT", shim_hidden.ranks[0]);
    begin_partitions();
    if (getenv("TIDINGS_TIMES"))
        others_begin(place.hidden);
    REAL(MPI_Comm_dup)(MPI_COMM_WORLD, &control);
    REAL(MPI_Comm_split)(MPI_COMM_WORLD, place.hidden, place.rank, &own);
    if (place.hidden) {
        hidden_live(own, control);
        REAL(MPI_Comm_free)(&own);
        REAL(MPI_Comm_free)(&control);
        finish();
        /* Not _exit: at exit launchers learn that a rank has ended normally. */
        exit(0);
    }
    REAL(MPI_Comm_set_name)(own, "MPI_COMM_WORLD");
    REAL(MPI_Comm_split_type)(own, MPI_COMM_TYPE_SHARED, place.rank, MPI_INFO_NULL, &node);
    hidden_rewrite_environment(own, node, place.ranks);
    REAL(MPI_Comm_free)(&node);
    hidden_await(control);
    unfinished_watch();
    shim_world = own;
    started = MPI_Wtime();
    shim_timed = getenv("TIDINGS_TIMES") != NULL;
}

/* What the application's ranks report together. */
typedef struct Times {
    int ranks;
    double sums[2]; /* of seconds and those in MPI */
    double most;    /* share in MPI, of a rank */
    long long calls;
    Others others;
} Times;

/* One JSON object. Closes the file; returns whether it has all. */
static bool print_times(FILE *out, const Times *times)
{
    const double *sums = times->sums;
    char others[80] = "\"others_share\":null,\"steal_share\":null";
    if (times->others.known)
        snprintf(others, sizeof others, "\"others_share\":%.6f,\"steal_share\":%.6f",
                 times->others.share, times->others.stolen);
    int printed = fprintf(out, "{\"ranks\":%d,\"seconds\":%.6f,\"mpi_seconds\":%.6f,"
                          "\"mpi_share\":%.6f,\"mpi_share_most\":%.6f,\"calls\":%lld,%s}\n",
                          times->ranks, sums[0] / times->ranks, sums[1] / times->ranks,
                          sums[0] > 0 ? sums[1] / sums[0] : 0.0, times->most, times->calls, others);
    return fclose(out) == 0 && printed > 0;
}

/* Writes how long the application's ranks were in MPI. */
static void write_times(void)
{
    double passed = MPI_Wtime() - started, in_mpi = (double)atomic_load(&nanoseconds) / 1e9;
    double mine[2] = { passed, in_mpi }, share = passed > 0 ? in_mpi / passed : 0;
    long long count = atomic_load(&calls);
    int rank;
    Times times = { .others = others_end(shim_world) };
    REAL(MPI_Comm_rank)(shim_world, &rank);
    REAL(MPI_Comm_size)(shim_world, &times.ranks);
    REAL(MPI_Reduce)(mine, times.sums, 2, MPI_DOUBLE, MPI_SUM, 0, shim_world);
    REAL(MPI_Reduce)(&share, &times.most, 1, MPI_DOUBLE, MPI_MAX, 0, shim_world);
    REAL(MPI_Reduce)(&count, &times.calls, 1, MPI_LONG_LONG, MPI_SUM, 0, shim_world);
    if (rank != 0)
        return;
    FILE *out = fopen(getenv("TIDINGS_TIMES"), "w");
    if (!out || !print_times(out, &times))
        fprintf(stderr, "tidings: TIDINGS_TIMES: %s was not written (%s): the times of this run "
                "are lost\n", getenv("TIDINGS_TIMES"), strerror(errno));
}

void shim_begin_without_init(int level)
{
    int provided;
    REAL(MPI_Init_thread)(NULL, NULL, level, &provided);
    begin();
    is_of_session = before_init = true;
}

void shim_end_without_finalize(void)
{
    is_of_session = false;
    MPI_Finalize();
}

/* For a program that has had a session before: its world is there since then. */
static int adopt(int *provided)
{
    before_init = false;
    return provided ? REAL(MPI_Query_thread)(provided) : MPI_SUCCESS;
}

SHIM_EXPORT int MPI_Initialized(int *flag)
{
    int answer = REAL(MPI_Initialized)(flag);
    *flag = *flag && !before_init;
    return answer;
}
SHIM_EXPORT int PMPI_Initialized(int *flag) __attribute__((alias("MPI_Initialized")));

SHIM_EXPORT int MPI_Finalized(int *flag)
{
    int answer = REAL(MPI_Finalized)(flag);
    *flag = *flag || is_left;
    return answer;
}
SHIM_EXPORT int PMPI_Finalized(int *flag) __attribute__((alias("MPI_Finalized")));

SHIM_EXPORT int MPI_Init(int *count, char ***words)
{
    if (before_init)
        return adopt(NULL);
    shim_require_own_library();
    int answer = REAL(MPI_Init)(count, words);
    if (answer == MPI_SUCCESS)
        begin();
    return answer;
}
SHIM_EXPORT int PMPI_Init(int *count, char ***words) __attribute__((alias("MPI_Init")));

SHIM_EXPORT int MPI_Init_thread(int *count, char ***words, int wanted, int *provided)
{
    if (before_init)
        return adopt(provided);
    shim_require_own_library();
    int answer = REAL(MPI_Init_thread)(count, words, wanted, provided);
    if (answer == MPI_SUCCESS)
        begin();
    return answer;
}
SHIM_EXPORT int PMPI_Init_thread(int *count, char ***words, int wanted, int *provided)
    __attribute__((alias("MPI_Init_thread")));

SHIM_EXPORT int MPI_Finalize(void)
{
    if (is_of_session) {
        is_left = true; /* its sessions need the world until they end */
        return MPI_SUCCESS;
    }
    if (shim_timed) {
        shim_timed = false;
        write_times();
    }
    if (control != MPI_COMM_NULL) {
        MPI_Comm own = shim_world;
        int rank;
        REAL(MPI_Barrier)(own);
        REAL(MPI_Comm_rank)(own, &rank);
        if (rank == 0)
            hidden_stop(control, shim_hidden.ranks, shim_hidden.count);
        shim_world = MPI_COMM_WORLD;
        REAL(MPI_Comm_free)(&own);
        REAL(MPI_Comm_free)(&control);
        free(shim_hidden.ranks);
        shim_hidden = (ShimHidden){ 0 };
    }
    return finish();
}
SHIM_EXPORT int PMPI_Finalize(void) __attribute__((alias("MPI_Finalize")));

/* The whole job ends, whichever of its ranks the program sees. */
SHIM_EXPORT int MPI_Abort(MPI_Comm comm, int code)
{
    return REAL(MPI_Abort)(comm, code);
}
SHIM_EXPORT int PMPI_Abort(MPI_Comm comm, int code) __attribute__((alias("MPI_Abort")));

/* A spawned job would have ranks without hidden ranks, that see the hidden ones. */
static int refuse_to_spawn(MPI_Comm comm)
{
    fputs("tidings: MPI_Comm_spawn is unavailable while ranks are hidden (TIDINGS_HIDE)\n", stderr);
    REAL(MPI_Comm_call_errhandler)(shim_comm(comm), MPI_ERR_SPAWN);
    return MPI_ERR_SPAWN;
}

SHIM_EXPORT int MPI_Comm_spawn(const char *command, char *words[], int most, MPI_Info info,
                               int root, MPI_Comm comm, MPI_Comm *between, int codes[])
{
    if (control != MPI_COMM_NULL)
        return refuse_to_spawn(comm);
    return REAL(MPI_Comm_spawn)(command, words, most, info, root, comm, between, codes);
}
SHIM_EXPORT int PMPI_Comm_spawn(const char *command, char *words[], int most, MPI_Info info,
                                int root, MPI_Comm comm, MPI_Comm *between, int codes[])
    __attribute__((alias("MPI_Comm_spawn")));

SHIM_EXPORT int MPI_Comm_spawn_multiple(int count, char *commands[], char **words[],
                                        const int most[], const MPI_Info infos[], int root,
                                        MPI_Comm comm, MPI_Comm *between, int codes[])
{
    if (control != MPI_COMM_NULL)
        return refuse_to_spawn(comm);
    return REAL(MPI_Comm_spawn_multiple)(count, commands, words, most, infos, root, comm, between,
                                         codes);
}
SHIM_EXPORT int PMPI_Comm_spawn_multiple(int count, char *commands[], char **words[],
                                         const int most[], const MPI_Info infos[], int root,
                                         MPI_Comm comm, MPI_Comm *between, int codes[])
    __attribute__((alias("MPI_Comm_spawn_multiple")));
