/* What a gossip process gave, as one JSON object: docs/reference/mpi.md. */
#ifndef TIDINGS_MPI_REPORT_H
#define TIDINGS_MPI_REPORT_H

#include <mpi.h>
#include <stdio.h>

#include "gossip.h"

/* Sums the reports of all ranks of `comm` up; rank 0 prints the object to `out`. Collective. */
void report_print(FILE *out, MPI_Comm comm, const GossipOptions *options,
                  const GossipReport *report);

#endif
