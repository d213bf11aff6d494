/*
 * Deaths of ranks, where MPI has User-Level Failure Mitigation (Bland, Bouteiller, Herault, Bosilca
 * and Dongarra, IJHPCA 2013) and the job was started so: Open MPI 5 with `mpirun --with-ft ulfm`.
 * Calls about a rank that has died return an error then, others go on, and the living agree. With
 * any other MPI the functions say that nothing is survived, and do nothing.
 */
#ifndef TIDINGS_STEAL_DEATHS_H
#define TIDINGS_STEAL_DEATHS_H

#include <mpi.h>
#include <stdbool.h>

/* Whether this job goes on when one of its ranks dies. */
bool deaths_are_survived(void);

/* Whether an error of MPI says that a rank has died. */
bool deaths_said(int error);

/* Marks in `dead`, one for each rank of the communicator, those that MPI knows to be dead, and
 * acknowledges them, so that calls for any rank go on. False if MPI refuses. */
bool deaths_mark(MPI_Comm comm, bool *dead);

/* Begins to agree among the living on the bits that all have set in `*bits`. */
int deaths_agree(MPI_Comm comm, int *bits, MPI_Request *request);

/* Makes a communicator of the living, in the order of their ranks. Collective among them. */
int deaths_living(MPI_Comm comm, MPI_Comm *living);

/* Ends the job with `code`, as the first rank that is not among the `dead`. The other ranks wait to
 * be ended, and abort themselves if that takes half a minute: the launcher of Open MPI 5 may wait
 * for itself (a lock in prterun) where two ranks abort at a time. Does not return. */
void deaths_end_job(MPI_Comm comm, const bool *dead, int code);

#endif
