/* What C sees of attributes that Fortran has set, and the other way; handles are Fortran's. */
#include <mpi.h>

/* A communicator's attribute as C has it: its address as a number, or -1. */
long c_sees(MPI_Fint comm, MPI_Fint key)
{
    void *value;
    int found;
    MPI_Comm_get_attr(MPI_Comm_f2c(comm), key, &value, &found);
    return found ? (long)*(MPI_Aint *)value : -1;
}

/* Sets an attribute, whose value in Fortran is the address. */
void c_sets(MPI_Fint comm, MPI_Fint key, long value)
{
    MPI_Comm_set_attr(MPI_Comm_f2c(comm), key, (void *)value);
}
