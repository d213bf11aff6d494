/* An application whose length is known, to see whether a campaign finds what was added to it.
 *
 * Every rank does the same arithmetic in steps, and after each step all ranks add up a number. The
 * work is counted, not timed, so that whatever disturbs a run makes it longer. With --longer 0.005
 * it does half a per cent more, but only where --if and --now are the same word:
 *
 *     known_length --work 300 --longer 0.005 --if gossip --now {hidden}
 *
 * in a campaign file makes the arm with gossip 0.5 % slower by design. Prints one JSON object.
 *
 * mpicc.openmpi -O2 studies/injected-slowdown/known_length.c -o known_length
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* About a millisecond of arithmetic on a processor of 2020. */
#define TURNS_PER_WORK 600000

static uint64_t work(uint64_t state, uint64_t turns)
{
    for (uint64_t turn = 0; turn < turns; turn++)
        state = state * 6364136223846793005u + 1442695040888963407u;
    return state;
}

static const char *option(int count, char **words, const char *name, const char *otherwise)
{
    for (int at = 1; at + 1 < count; at++)
        if (strcmp(words[at], name) == 0)
            return words[at + 1];
    return otherwise;
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    const char *when = option(count, words, "--if", "gossip");
    const char *now = option(count, words, "--now", "");
    double turns = atof(option(count, words, "--work", "300")) * TURNS_PER_WORK;
    int steps = atoi(option(count, words, "--steps", "50")), rank;
    double longer = strcmp(when, now) == 0 ? atof(option(count, words, "--longer", "0")) : 0;
    uint64_t each, state = 1, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (turns <= 0 || steps <= 0 || longer < 0) {
        if (rank == 0)
            fprintf(stderr,
                    "known_length: --work and --steps are above 0, --longer is not below\n");
        MPI_Finalize();
        return 2;
    }
    each = (uint64_t)(turns * (1 + longer) / steps);
    work(state, each); /* the processor's caches and clock have seen it once */
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), passed, most;
    for (int step = 0; step < steps; step++) {
        state = work(state, each);
        MPI_Allreduce(&state, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    }
    passed = MPI_Wtime() - begin;
    MPI_Reduce(&passed, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("{\"seconds\":%.9f,\"longer\":%g,\"sum\":%llu}\n", most, longer,
               (unsigned long long)sum);
    MPI_Finalize();
    return 0;
}
