/* How a rank ends that does not call MPI_Finalize. */
#ifndef TIDINGS_SHIM_UNFINISHED_H
#define TIDINGS_SHIM_UNFINISHED_H

/* To be called when ranks have been hidden. */
void unfinished_watch(void);

#endif
