/* Begins with a session, and has no world before. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    puts("a session");
    MPI_Session_finalize(&session);
    return 0;
}
