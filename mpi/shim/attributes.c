/*
 * Attributes of MPI_COMM_WORLD: the program's own are those of its world, predefined ones those of
 * the true world, with the slots of hidden ranks taken from MPI_UNIVERSE_SIZE.
 *
 * In Fortran attributes are numbers and not addresses, so Fortran's functions do not call C's. They
 * call internals of the library, which get the true world unless it is replaced before: in the
 * family of MPICH the internals themselves are wrapped, which take a handle; Open MPI's take the
 * attributes of a communicator, so there Fortran's functions are wrapped, under all their names.
 * tests/mpi/internals.py finds all functions of Fortran libraries that call such internals.
 */
#include "fortran.h"
#include "hidden.h"
#include "shim.h"

static bool is_predefined(int key)
{
    return key == MPI_TAG_UB || key == MPI_IO || key == MPI_HOST || key == MPI_WTIME_IS_GLOBAL ||
           key == MPI_UNIVERSE_SIZE || key == MPI_LASTUSEDCODE || key == MPI_APPNUM;
}

/* The visible size of the universe. */
static int visible_universe(int slots)
{
    return hidden_universe(shim_hidden.all, shim_hidden.count, slots);
}

SHIM_EXPORT int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
    static int universe;
    MPI_Comm meant = is_predefined(key) ? comm : shim_comm(comm);
    int answer = REAL(MPI_Comm_get_attr)(meant, key, value, flag);
    if (answer == MPI_SUCCESS && *flag && key == MPI_UNIVERSE_SIZE && shim_hidden.count > 0) {
        universe = visible_universe(**(int **)value);
        *(int **)value = &universe;
    }
    return answer;
}
SHIM_EXPORT int PMPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
    __attribute__((alias("MPI_Comm_get_attr")));

SHIM_EXPORT int MPI_Attr_get(MPI_Comm comm, int key, void *value, int *flag)
{
    return MPI_Comm_get_attr(comm, key, value, flag);
}
SHIM_EXPORT int PMPI_Attr_get(MPI_Comm comm, int key, void *value, int *flag)
    __attribute__((alias("MPI_Attr_get")));

#if defined(OPEN_MPI)

/* A function of Fortran without its result, and what its value is: of MPI-1 and of MPI-2. */
typedef void Get(const MPI_Fint *comm, const MPI_Fint *key, void *value, MPI_Fint *flag,
                 MPI_Fint *error);
typedef void Set(const MPI_Fint *comm, const MPI_Fint *key, const void *value, MPI_Fint *error);

static MPI_Fint meant_in_fortran(MPI_Fint comm)
{
    return shim_hidden.count > 0 && comm == REAL(MPI_Comm_c2f)(MPI_COMM_WORLD)
               ? REAL(MPI_Comm_c2f)(shim_world)
               : comm;
}

/* Whether the size of the universe was found, and is to be another. */
static bool is_universe(MPI_Fint key, MPI_Fint flag, MPI_Fint error)
{
    return error == MPI_SUCCESS && flag && key == MPI_UNIVERSE_SIZE && shim_hidden.count > 0;
}

SHIM_EXPORT void ompi_comm_get_attr_f(const MPI_Fint *comm, const MPI_Fint *key, MPI_Aint *value,
                                      MPI_Fint *flag, MPI_Fint *error)
{
    MPI_Fint meant = is_predefined(*key) ? *comm : meant_in_fortran(*comm);
    ((Get *)shim_find("ompi_comm_get_attr_f"))(&meant, key, value, flag, error);
    if (is_universe(*key, *flag, *error))
        *value = visible_universe((int)*value);
}

SHIM_EXPORT void ompi_attr_get_f(const MPI_Fint *comm, const MPI_Fint *key, MPI_Fint *value,
                                 MPI_Fint *flag, MPI_Fint *error)
{
    MPI_Fint meant = is_predefined(*key) ? *comm : meant_in_fortran(*comm);
    ((Get *)shim_find("ompi_attr_get_f"))(&meant, key, value, flag, error);
    if (is_universe(*key, *flag, *error))
        *value = visible_universe(*value);
}

SHIM_EXPORT void ompi_comm_set_attr_f(const MPI_Fint *comm, const MPI_Fint *key,
                                      const MPI_Aint *value, MPI_Fint *error)
{
    MPI_Fint meant = meant_in_fortran(*comm);
    ((Set *)shim_find("ompi_comm_set_attr_f"))(&meant, key, value, error);
}

SHIM_EXPORT void ompi_attr_put_f(const MPI_Fint *comm, const MPI_Fint *key, const MPI_Fint *value,
                                 MPI_Fint *error)
{
    MPI_Fint meant = meant_in_fortran(*comm);
    ((Set *)shim_find("ompi_attr_put_f"))(&meant, key, value, error);
}

SHIM_FORTRAN_NAMES(comm_get_attr, COMM_GET_ATTR, Comm_get_attr)
SHIM_FORTRAN_NAMES(attr_get, ATTR_GET, Attr_get)
SHIM_FORTRAN_NAMES(comm_set_attr, COMM_SET_ATTR, Comm_set_attr)
SHIM_FORTRAN_NAMES(attr_put, ATTR_PUT, Attr_put)

#elif !defined(MPI_ABI_VERSION)

/* A value's type: an address (0), or a number as Fortran has it. */
typedef int Get(MPI_Comm comm, int key, void *value, int *flag, int type);
typedef int Set(MPI_Comm comm, int key, void *value, int type);

/* In Fortran a predefined key is the number that follows C's. */
static bool is_predefined_in(int key, int type)
{
    return is_predefined(key) || (type != 0 && is_predefined(key - 1));
}

SHIM_EXPORT int MPII_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag, int type)
{
    MPI_Comm meant = is_predefined_in(key, type) ? comm : shim_comm(comm);
    int answer = ((Get *)shim_find("MPII_Comm_get_attr"))(meant, key, value, flag, type);
    bool is_universe = key == MPI_UNIVERSE_SIZE || key - 1 == MPI_UNIVERSE_SIZE;
    if (answer == MPI_SUCCESS && *flag && type != 0 && is_universe && shim_hidden.count > 0)
        *(MPI_Aint *)value = visible_universe((int)*(MPI_Aint *)value);
    return answer;
}

SHIM_EXPORT int MPII_Comm_set_attr(MPI_Comm comm, int key, void *value, int type)
{
    return ((Set *)shim_find("MPII_Comm_set_attr"))(shim_comm(comm), key, value, type);
}

#endif
