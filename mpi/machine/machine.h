/*
 * What a program needs of its machine, where a real one and a simulated one differ.
 *
 * On a simulated machine (SimGrid's SMPI) all ranks live in one process, and time is virtual: work
 * is charged (machine_work) instead of done, and memory whose content does not matter is shared by
 * all ranks and never copied (machine_shared), so that a thousand ranks with a gibibyte each fit
 * into one computer. Messages still have their full size on the simulated wire.
 */
#ifndef TIDINGS_MPI_MACHINE_H
#define TIDINGS_MPI_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this is a simulated machine. The functions below are for those only. */
bool machine_simulated(void);

/* Passes this many seconds of one core's time. */
void machine_work(double seconds);

/* Passes time in which the core is not used. */
void machine_rest(double seconds);

/* Memory without content, one and the same for all ranks; null if there is none. */
void *machine_shared(size_t bytes);

/*
 * Memory of which only the first `own` bytes have content: these are the rank's own, and sent; the
 * rest is as machine_shared. Null if there is none.
 */
void *machine_partly_shared(size_t bytes, size_t own);

/* Frees memory of the two functions above. Null is allowed. */
void machine_free(void *memory);

#endif
