/*
 * tidings-mpi-characterize: what an MPI machine does under load (Balaji et al., Toward Message
 * Passing for a Million Processes, 2009), as JSON Lines for tidings lab characterize.
 *
 * Exit status: 0 when done, also if parts were skipped (their rows say why) or a result was wrong
 * (its row is not valid); 2 for a wrong command line.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "../machine/machine.h"
#include "tests.h"

static const struct {
    const char *name;
    void (*run)(Bench *);
} TESTS[] = {
    { "pair", test_pair },       { "cores", test_cores },       { "hops", test_hops },
    { "through", test_through }, { "overlap", test_overlap },   { "streams", test_streams },
    { "hotspot", test_hotspot }, { "fans", test_fans },         { "collectives", test_collectives },
    { "parallel", test_parallel }, { "halo", test_halo },
};
#define TEST_COUNT ((int)(sizeof TESTS / sizeof *TESTS))

static int test_of(const char *name)
{
    for (int at = 0; at < TEST_COUNT; at++)
        if (strcmp(TESTS[at].name, name) == 0)
            return at;
    return -1;
}

static void usage(void)
{
    printf("usage: mpirun -n RANKS tidings-mpi-characterize [OPTIONS]\n\ntests:");
    for (int at = 0; at < TEST_COUNT; at++)
        printf(" %s", TESTS[at].name);
    printf("\n\n%s", SETTINGS_USAGE);
}

static void run_all(Bench *bench)
{
    bench->networks = networks_open();
    places_find(&bench->places, &bench->settings, MPI_COMM_WORLD, &bench->rows);
    rows_print(&bench->rows, MPI_COMM_WORLD);
    for (int at = 0; at < TEST_COUNT; at++)
        if (!bench->settings.tests || bench->settings.tests >> at & 1) {
            TESTS[at].run(bench);
            rows_print(&bench->rows, MPI_COMM_WORLD);
        }
    places_free(&bench->places);
    networks_close(bench->networks);
}

int main(int count, char **words)
{
    int status = 0;
    Bench bench = { 0 };
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    bench.simulated = machine_simulated();
    bench.settings = settings_read(count, words, test_of);
    if (bench.settings.wrong[0]) {
        if (bench.rank == 0)
            fprintf(stderr, "tidings-mpi-characterize: %s; see --help\n", bench.settings.wrong);
        status = 2;
    } else if (bench.settings.help) {
        if (bench.rank == 0)
            usage();
    } else {
        run_all(&bench);
    }
    MPI_Finalize();
    return status;
}
