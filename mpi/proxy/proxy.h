/*
 * A proxy of COSMO-SPECS+FD4: the messages of its processes, and their times, without its physics.
 *
 * The weather model's columns are distributed once, in rectangles (dynamics). The clouds' cells are
 * in blocks, distributed again each step along a Hilbert curve, so that every rank has the same
 * work (partition). Where clouds are, a block's work is a multiple of that of clear air, and the
 * clouds grow. Five phases, timed apart, as in Levy et al. (ROSS'14), section 4.3:
 *
 *     dynamics_halo   edges of the rectangles: static, regular
 *     coupling        between a block's columns and the block: dynamic, irregular, small
 *     micro_halo      edges of the blocks: dynamic, irregular
 *     partition       the new distribution: collectives, most of them on sub-communicators
 *     migration       blocks that get another rank: mostly between neighbours on the curve
 *
 * All state is whole numbers, and every sum has a fixed order, so the result is the same, bit for
 * bit, for any number of ranks.
 */
#ifndef TIDINGS_MPI_PROXY_H
#define TIDINGS_MPI_PROXY_H

#include <mpi.h>

/* Runs it; rank 0 prints a JSON object. Returns an exit status: 0 done, 2 a wrong command line. */
int proxy_main(MPI_Comm comm, int count, char **words);

#endif
