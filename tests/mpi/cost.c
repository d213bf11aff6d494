/*
 * The named call of MPI, this many times, in a function of its own: callgrind counts the
 * instructions of that function and of all that it calls.
 * usage: cost CALL TIMES
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int answer, ranks[2];

static void call_rank(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &answer);
}

static void call_size(void)
{
    MPI_Comm_size(MPI_COMM_WORLD, &answer);
}

static void call_send(void)
{
    MPI_Send(ranks, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

/* Twelve parameters, six of them on the stack. */
static void call_sendrecv(void)
{
    MPI_Sendrecv(ranks, 1, MPI_INT, MPI_PROC_NULL, 0, ranks + 1, 1, MPI_INT, MPI_PROC_NULL, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) void measured(void (*call)(void), long times)
{
    for (long at = 0; at < times; at++)
        call();
}

int main(int count, char **words)
{
    static const struct { const char *name; void (*call)(void); } CALLS[] = {
        { "MPI_Comm_rank", call_rank }, { "MPI_Comm_size", call_size },
        { "MPI_Send", call_send },      { "MPI_Sendrecv", call_sendrecv },
    };
    if (count != 3)
        return 2;
    MPI_Init(&count, &words);
    for (size_t at = 0; at < sizeof CALLS / sizeof *CALLS; at++)
        if (strcmp(words[1], CALLS[at].name) == 0) {
            CALLS[at].call(); /* one-time work is done before */
            measured(CALLS[at].call, atol(words[2]));
        }
    MPI_Finalize();
    return 0;
}
