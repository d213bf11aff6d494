/* See deaths.h. */
#include "deaths.h"

#include <unistd.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#ifdef OMPI_HAVE_MPI_EXT_FTMPI

#include <stdlib.h>

/* The variable of MPI's tools interface that says how the job was started. */
static bool read_setting(void)
{
    int at, count, provided, enabled = 0;
    MPI_T_cvar_handle handle;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided)) return false;
    if (!MPI_T_cvar_get_index("mpi_ft_enable", &at) &&
        !MPI_T_cvar_handle_alloc(at, NULL, &handle, &count)) {
        unsigned char value[sizeof(int)] = { 0 };
        if (count == 1 && !MPI_T_cvar_read(handle, value)) enabled = value[0];
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    return enabled;
}

bool deaths_are_survived(void)
{
    return read_setting();
}

bool deaths_said(int error)
{
    int class = MPI_SUCCESS;
    if (!error || MPI_Error_class(error, &class)) return false;
    return class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_PROC_FAILED_PENDING;
}

/* Marks the ranks of a group, which `all` has by another number. */
static bool mark(MPI_Group group, MPI_Group all, bool *dead)
{
    int count;
    if (MPI_Group_size(group, &count)) return false;
    if (!count) return true;
    int *there = malloc(2 * (size_t)count * sizeof *there), *here = there + count;
    if (!there) return false;
    for (int i = 0; i < count; i++)
        there[i] = i;
    bool is_done = !MPI_Group_translate_ranks(group, count, there, all, here);
    for (int i = 0; is_done && i < count; i++)
        dead[here[i]] = true;
    free(there);
    return is_done;
}

bool deaths_mark(MPI_Comm comm, bool *dead)
{
    MPI_Group group, all;
    if (MPIX_Comm_failure_ack(comm)) return false;
    if (MPIX_Comm_failure_get_acked(comm, &group)) return false;
    bool is_done = !MPI_Comm_group(comm, &all);
    if (is_done) {
        is_done = mark(group, all, dead);
        MPI_Group_free(&all);
    }
    if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
    return is_done;
}

int deaths_agree(MPI_Comm comm, int *bits, MPI_Request *request)
{
    return MPIX_Comm_iagree(comm, bits, request);
}

int deaths_living(MPI_Comm comm, MPI_Comm *living)
{
    return MPIX_Comm_shrink(comm, living);
}

#else

bool deaths_are_survived(void)
{
    return false;
}

bool deaths_said(int error)
{
    (void)error;
    return false;
}

bool deaths_mark(MPI_Comm comm, bool *dead)
{
    (void)comm;
    (void)dead;
    return false;
}

int deaths_agree(MPI_Comm comm, int *bits, MPI_Request *request)
{
    (void)comm;
    (void)bits;
    (void)request;
    return MPI_ERR_OTHER;
}

int deaths_living(MPI_Comm comm, MPI_Comm *living)
{
    return MPI_Comm_dup(comm, living);
}

#endif

/* What the first rank that lives may take to learn of a death and to end the job. */
enum { PATIENCE_S = 30 };

void deaths_end_job(MPI_Comm comm, const bool *dead, int code)
{
    int rank, first = 0;
    MPI_Comm_rank(comm, &rank);
    while (first < rank && dead[first])
        first++;
    if (first < rank) sleep(PATIENCE_S);
    MPI_Abort(comm, code);
}
