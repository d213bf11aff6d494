/*
 * How long ranks wait for each other: the median time of a ping-pong of 8 bytes between ranks 0
 * and 1, one way, while the others wait in a barrier, and of an allreduce of 8 bytes over all.
 * Rank 0 prints both, in microseconds.
 * usage: waits PING_PONGS ALLREDUCES
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median_us(double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, ascending);
    return seconds[count / 2] * 1e6;
}

static void ping_pong(int rank)
{
    double sent = 1;
    int other = 1 - rank;
    if (rank == 0)
        MPI_Send(&sent, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
    MPI_Recv(&sent, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(&sent, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
}

int main(int count, char **words)
{
    int rank, pings = count > 1 ? atoi(words[1]) : 0, reduces = count > 2 ? atoi(words[2]) : 0;
    double one_way = 0, mine = 1, sum;
    if (pings < 1 || reduces < 1)
        return 2;
    double *times = malloc(sizeof *times * (size_t)(pings > reduces ? pings : reduces));
    if (!times)
        return 1;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int at = 0; rank < 2 && at < pings; at++) {
        double begin = MPI_Wtime();
        ping_pong(rank);
        times[at] = (MPI_Wtime() - begin) / 2;
    }
    one_way = median_us(times, pings);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < reduces; at++) {
        double begin = MPI_Wtime();
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        times[at] = MPI_Wtime() - begin;
    }
    if (rank == 0)
        printf("%.2f %.2f\n", one_way, median_us(times, reduces));
    free(times);
    MPI_Finalize();
    return 0;
}
