/*
 * The names of a function of Open MPI's Fortran library, which compilers' and interfaces' customs
 * need: they are one function there, ompi_..._f, and so they are here.
 */
#ifndef TIDINGS_SHIM_FORTRAN_H
#define TIDINGS_SHIM_FORTRAN_H

#include "shim.h"

#define SHIM_ALSO(alias, name)                                                                 \
    __asm__(".globl " #alias "\n.type " #alias ", @function\n.set " #alias ", ompi_" #name "_f");

#define SHIM_FORTRAN_NAMES(name, upper, mixed)                                                 \
    SHIM_ALSO(mpi_##name, name)                                                                \
    SHIM_ALSO(mpi_##name##_, name)                                                             \
    SHIM_ALSO(mpi_##name##__, name)                                                            \
    SHIM_ALSO(MPI_##upper, name)                                                               \
    SHIM_ALSO(MPI_##mixed##_f, name)                                                           \
    SHIM_ALSO(MPI_##mixed##_f08, name)                                                         \
    SHIM_ALSO(pmpi_##name, name)                                                               \
    SHIM_ALSO(pmpi_##name##_, name)                                                            \
    SHIM_ALSO(pmpi_##name##__, name)                                                           \
    SHIM_ALSO(PMPI_##upper, name)                                                              \
    SHIM_ALSO(PMPI_##mixed##_f, name)                                                          \
    SHIM_ALSO(PMPI_##mixed##_f08, name)

#endif
