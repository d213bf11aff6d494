/*
 * tidings-mpi-gossip: every rank gossips, and rank 0 prints what that gave as one JSON object.
 *
 * Exit status: 0 when done, 1 if the run failed, 2 for a wrong command line.
 */
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"
#include "gossip.h"
#include "report.h"

int main(int count, char **words)
{
    int rank, ranks, status = 0;
    char why[256] = "";
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Arguments arguments = arguments_read(count, words);
    GossipOptions options = arguments_options(&arguments, ranks);
    if (!arguments.help)
        arguments_fit(&arguments, ranks);
    GossipReport report;
    if (arguments.wrong[0]) {
        if (rank == 0)
            fprintf(stderr, "tidings-mpi-gossip: %s; see --help\n", arguments.wrong);
        status = 2;
    } else if (arguments.help) {
        if (rank == 0)
            printf("usage: mpirun -n RANKS tidings-mpi-gossip [OPTIONS]\n\n%s", ARGUMENTS_USAGE);
    } else if (gossip_run(MPI_COMM_WORLD, &options, &report, why, sizeof why)) {
        report_print(stdout, MPI_COMM_WORLD, &options, &report);
    } else {
        if (why[0] && rank == 0)
            fprintf(stderr, "tidings-mpi-gossip: %s\n", why);
        status = 1;
    }
    MPI_Finalize();
    return status;
}
