/*
 * Fans (figure 7): one rank receives from 1, 2, ... neighbours at once, or sends to them. On a
 * torus neighbours are the nodes one link away, two for each dimension, on a mesh those that there
 * are; else the next ranks.
 */
#include "buffers.h"
#include "flows.h"
#include "tests.h"

#include <math.h>
#include <stdlib.h>

#define TAG 13
#define MOST_NEIGHBOURS (2 * DIMENSIONS)

typedef struct Fan {
    MPI_Comm comm;
    int rank, neighbours, messages;
    size_t bytes;
    bool in, wrong;
    long message;
    Buffers buffers[MOST_NEIGHBOURS];
} Fan;

/* The one in the middle: a message from or to each neighbour, as often as there are messages. */
static void middle(Fan *fan)
{
    MPI_Request requests[MOST_NEIGHBOURS];
    char answer[4] = { 0 };
    int bytes = (int)fan->bytes;
    for (int message = 0; message < fan->messages; message++) {
        fan->message++;
        for (int at = 0; at < fan->neighbours; at++) {
            char *buffer = buffers_next(&fan->buffers[at]);
            if (fan->in) {
                MPI_Irecv(buffer, bytes, MPI_BYTE, at + 1, TAG, fan->comm, &requests[at]);
                continue;
            }
            stamp(buffer, fan->bytes, fan->message);
            MPI_Isend(buffer, bytes, MPI_BYTE, at + 1, TAG, fan->comm, &requests[at]);
        }
        MPI_Waitall(fan->neighbours, requests, MPI_STATUSES_IGNORE);
        for (int at = 0; fan->in && at < fan->neighbours; at++)
            fan->wrong |= !is_stamped(fan->buffers[at].memory, fan->bytes, fan->message);
    }
    for (int at = 0; at < fan->neighbours; at++)
        if (fan->in)
            MPI_Send(answer, 4, MPI_BYTE, at + 1, TAG, fan->comm);
        else
            MPI_Recv(answer, 4, MPI_BYTE, at + 1, TAG, fan->comm, MPI_STATUS_IGNORE);
}

static void neighbour(Fan *fan)
{
    char answer[4] = { 0 }, *buffer = fan->buffers[0].memory;
    int bytes = (int)fan->bytes;
    for (int message = 0; message < fan->messages; message++) {
        fan->message++;
        if (fan->in) {
            stamp(buffer, fan->bytes, fan->message);
            MPI_Send(buffer, bytes, MPI_BYTE, 0, TAG, fan->comm);
            continue;
        }
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, TAG, fan->comm, MPI_STATUS_IGNORE);
        fan->wrong |= !is_stamped(buffer, fan->bytes, fan->message);
    }
    if (fan->in)
        MPI_Recv(answer, 4, MPI_BYTE, 0, TAG, fan->comm, MPI_STATUS_IGNORE);
    else
        MPI_Send(answer, 4, MPI_BYTE, 0, TAG, fan->comm);
}

static void repetition(void *context)
{
    Fan *fan = context;
    (fan->rank == 0 ? middle : neighbour)(fan);
}

static void measure(Bench *bench, MPI_Comm comm, int neighbours, double bytes, bool in)
{
    Fan fan = { .comm = comm, .neighbours = neighbours, .bytes = (size_t)bytes, .in = in,
                .messages = flow_messages(bench, (size_t)bytes) };
    Samples samples;
    MPI_Comm_rank(comm, &fan.rank);
    int buffers = fan.rank == 0 ? neighbours : 1;
    for (int at = 0; at < buffers; at++)
        buffers_open(&fan.buffers[at], fan.bytes, 0, in == (fan.rank > 0));
    samples_take(bench, comm, bench_repetitions(bench, bytes), repetition, &fan, &samples);
    bool whole = !fan.wrong;
    for (int at = 0; at < buffers; at++)
        whole = whole && buffers_whole(&fan.buffers[at]);
    bool valid = all_say(comm, whole);
    for (long at = 0; at < samples.count; at++)
        samples.own_s[at] /= fan.messages;
    Label label = { in ? "fan-in" : "fan-out", "sum of neighbours", bytes, neighbours,
                    fan.messages };
    if (fan.rank == 0)
        samples_report(bench, &samples, samples.own_s, &label, valid);
    for (int at = 0; at < buffers; at++)
        buffers_close(&fan.buffers[at]);
    samples_free(&samples);
}

/* The middle and its neighbours; returns how many neighbours there are. */
static int ranks_of_fan(const Bench *bench, int ranks[MOST_NEIGHBOURS + 1])
{
    const Places *places = &bench->places;
    int count = 0;
    ranks[0] = places_rank(places, 0, 0);
    for (int axis = 0; axis < DIMENSIONS && !places->unknown[0] && places->nodes > 1; axis++)
        for (int step = 1; step >= -1; step -= 2) {
            int node = places_node(places, axis == 0 ? step : 0, axis == 1 ? step : 0,
                                   axis == 2 ? step : 0);
            bool again = node == 0 || (step < 0 && places->length[axis] == 2);
            bool linked = step > 0 || !places->mesh; /* node 0 is the first of its rows */
            if (!again && linked)
                ranks[++count] = places_rank(places, node, 0);
        }
    while (count == 0 && places->unknown[0] && bench->ranks > 1)
        for (; count < MOST_NEIGHBOURS && count < bench->ranks - 1; count++)
            ranks[count + 1] = count + 1;
    return count;
}

void test_fans(Bench *bench)
{
    int ranks[MOST_NEIGHBOURS + 1], most = ranks_of_fan(bench, ranks);
    double largest = bench->settings.largest;
    for (int in = 0; in < 2 && most < 1; in++)
        skip(bench, in ? "fan-in" : "fan-out", "", "needs 2 ranks: start more");
    for (int count = 1; count <= most; count++) {
        MPI_Comm comm = bench_group(bench, ranks, count + 1);
        for (double bytes = fmin(64, largest); bytes <= largest; bytes = bench_next(bench, bytes))
            for (int in = 0; in < 2 && comm != MPI_COMM_NULL; in++)
                measure(bench, comm, count, bytes, in);
        bench_together(bench, &comm);
    }
}
