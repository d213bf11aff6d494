/*
 * Error handlers of communicators: a handler of the program is called with MPI_COMM_WORLD where the
 * library has an error of the program's world.
 *
 * A handler gets nothing but the communicator and the error, so each function of the program needs
 * a function here that calls it. They are made beforehand: a function keeps the first free place,
 * for every handler that is made of it. What finds none is called as the library does it.
 */
#include "shim.h"

#include <stdatomic.h>
#include <stddef.h>

#include "fortran.h"

typedef void Handler(MPI_Comm *comm, int *error, ...);

/* Places are numbered in octal, 000 to 077. */
#define ROW(use, a)                                                                            \
    use(0##a##0) use(0##a##1) use(0##a##2) use(0##a##3) use(0##a##4) use(0##a##5) use(0##a##6) \
        use(0##a##7)
#define EVERY(use)                                                                             \
    ROW(use, 0) ROW(use, 1) ROW(use, 2) ROW(use, 3) ROW(use, 4) ROW(use, 5) ROW(use, 6)        \
        ROW(use, 7)
#define PLACES 64

/* The place of a function, where it is put if it has none yet; PLACES if all are taken. */
static int place_of(_Atomic(Handler *) *handlers, Handler *handler)
{
    for (int at = 0; at < PLACES; at++) {
        Handler *there = NULL;
        if (atomic_compare_exchange_strong(&handlers[at], &there, handler) || there == handler)
            return at;
    }
    return PLACES;
}

static _Atomic(Handler *) handlers[PLACES];

static void handle(int at, MPI_Comm *comm, int *error)
{
    MPI_Comm seen = shim_seen(*comm);
    Handler *handler = atomic_load(&handlers[at]);
#if defined(OPEN_MPI)
    handler(&seen, error, "", NULL); /* which has the name of a function here */
#else
    handler(&seen, error);
#endif
}

#define HANDLE(at)                                                                             \
    static void handle_##at(MPI_Comm *comm, int *error, ...)                                   \
    {                                                                                          \
        handle(at, comm, error);                                                               \
    }
EVERY(HANDLE)
#define NAME(at) handle_##at,
static Handler *const handles[PLACES] = { EVERY(NAME) };

SHIM_EXPORT int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function,
                                           MPI_Errhandler *handler)
{
    int at = function ? place_of(handlers, function) : PLACES;
    return REAL(MPI_Comm_create_errhandler)(at < PLACES ? handles[at] : function, handler);
}
SHIM_EXPORT int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function,
                                            MPI_Errhandler *handler)
    __attribute__((alias("MPI_Comm_create_errhandler")));

#if defined(OPEN_MPI)

/* Open MPI calls a handler of Fortran with a number, and has two names for making one. */
typedef void FortranHandler(MPI_Fint *comm, MPI_Fint *error, ...);
typedef void Create(FortranHandler *function, MPI_Fint *handler, MPI_Fint *error);

static _Atomic(Handler *) fortran_handlers[PLACES];

static void handle_in_fortran(int at, const MPI_Fint *comm, MPI_Fint *error)
{
    MPI_Comm meant = REAL(MPI_Comm_f2c)(*comm);
    MPI_Fint seen = meant == shim_world ? REAL(MPI_Comm_c2f)(MPI_COMM_WORLD) : *comm;
    ((FortranHandler *)(void *)atomic_load(&fortran_handlers[at]))(&seen, error);
}

#define HANDLE_IN_FORTRAN(at)                                                                  \
    static void fortran_handle_##at(MPI_Fint *comm, MPI_Fint *error, ...)                      \
    {                                                                                          \
        handle_in_fortran(at, comm, error);                                                    \
    }
EVERY(HANDLE_IN_FORTRAN)
#define FORTRAN_NAME(at) fortran_handle_##at,
static FortranHandler *const fortran_handles[PLACES] = { EVERY(FORTRAN_NAME) };

SHIM_EXPORT void ompi_comm_create_errhandler_f(FortranHandler *function, MPI_Fint *handler,
                                               MPI_Fint *error)
{
    int at = place_of(fortran_handlers, (Handler *)(void *)function);
    Create *create = (Create *)shim_find("ompi_comm_create_errhandler_f");
    create(at < PLACES ? fortran_handles[at] : function, handler, error);
}
SHIM_FORTRAN_NAMES(comm_create_errhandler, COMM_CREATE_ERRHANDLER, Comm_create_errhandler)

#endif

/*
 * Errors that belong to no communicator, an invalid datatype for instance, are raised on the
 * true world: a program that sets the handler of its world means those as well.
 */
SHIM_EXPORT int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    int answer = REAL(MPI_Comm_set_errhandler)(shim_comm(comm), handler);
    if (answer == MPI_SUCCESS && shim_comm(comm) != comm)
        answer = REAL(MPI_Comm_set_errhandler)(comm, handler);
    return answer;
}
SHIM_EXPORT int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
    __attribute__((alias("MPI_Comm_set_errhandler")));

/* The names of MPI-1: programs may call them, though today's mpi.h forbids it. */
#undef MPI_Errhandler_create
#undef MPI_Errhandler_set
#undef MPI_Errhandler_get
SHIM_EXPORT int MPI_Errhandler_create(MPI_Comm_errhandler_function *function,
                                      MPI_Errhandler *handler)
{
    return MPI_Comm_create_errhandler(function, handler);
}
SHIM_EXPORT int PMPI_Errhandler_create(MPI_Comm_errhandler_function *function,
                                       MPI_Errhandler *handler)
    __attribute__((alias("MPI_Errhandler_create")));

SHIM_EXPORT int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler)
{
    return MPI_Comm_set_errhandler(comm, handler);
}
SHIM_EXPORT int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler)
    __attribute__((alias("MPI_Errhandler_set")));

SHIM_EXPORT int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler)
{
    return REAL(MPI_Comm_get_errhandler)(shim_comm(comm), handler);
}
SHIM_EXPORT int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler)
    __attribute__((alias("MPI_Errhandler_get")));
