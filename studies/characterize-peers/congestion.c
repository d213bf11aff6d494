/*
 * What congestion costs, in the way of GPCNeT (Chunduri et al., SC 2019), written from that paper's
 * description: some ranks, canaries, measure alone and while others, congestors, load the network
 * without a pause, each of them at its own pace. The factor is the second over the first.
 *
 * The first rank of each node is a canary, the second one a congestor. Prints a row for each case
 * and phase, as tidings-mpi-characterize does. Congestors learn by a message that canaries are
 * done; who is to know it of them learns it by the last message of the pattern itself.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAG 21
#define STOP_TAG 22
/* Messages of a flow between two answers. */
#define MESSAGES 16
/* First repetitions, in which congestors come to their pace. */
#define WARMUPS 2
#define MOST_NODES 64
#define NAP_NS 500000

enum { CONGESTOR = 1, EACH = 2 };
typedef enum Pattern { FLOW, ROUND_TRIP, INCAST, ALLREDUCE } Pattern;

/* Canaries measure `test` from one node to another, congestors do `load` between two others. */
typedef struct Case {
    const char *name;
    Pattern test;
    int from, to;
    Pattern load;
    int load_from, load_to;
    int bytes, repetitions;
} Case;

static const Case CASES[] = {
    { "P0-P3 with P1-P2", FLOW, 0, 3, FLOW, 1, 2, 32768, 4 },
    { "P1-P2 with P0-P3", FLOW, 1, 2, FLOW, 0, 3, 32768, 4 },
    { "P0-P2 with P1-P3", FLOW, 0, 2, FLOW, 1, 3, 32768, 4 },
    { "P1-P3 with P0-P2", FLOW, 1, 3, FLOW, 0, 2, 32768, 4 },
    { "two streams", FLOW, 0, 1, FLOW, 0, 1, 32768, 4 },
    { "hot spot", ROUND_TRIP, 1, 0, INCAST, 0, 0, 16384, 20 },
    { "two allreduce at once", ALLREDUCE, 0, 0, ALLREDUCE, 0, 0, 16384, 20 },
};
#define CASE_COUNT ((int)(sizeof CASES / sizeof *CASES))

/* A rank: its node is its place in the communicator of its kind. */
typedef struct Rank {
    MPI_Comm own; /* of all canaries, or of all congestors */
    int node, nodes;
    bool congests;
    char *out, *in;
} Rank;

static const int MOST_BYTES = 32768;

/* All wait for the last one, asleep: nobody who waits may take a processor from who measures. */
static void together(void)
{
    const struct timespec nap = { 0, NAP_NS };
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        nanosleep(&nap, NULL);
}

/* Sends a flow of messages, or receives one; their first byte says whether they are the last ones.
 * Returns whether they are. */
static bool flow(Rank *rank, int from, int to, int bytes, bool last)
{
    char answer = 0;
    for (int at = 0; at < MESSAGES; at++)
        if (rank->node == from) {
            rank->out[0] = last;
            MPI_Send(rank->out, bytes, MPI_BYTE, to, TAG, rank->own);
        } else {
            MPI_Recv(rank->in, bytes, MPI_BYTE, from, TAG, rank->own, MPI_STATUS_IGNORE);
        }
    if (rank->node == from) {
        MPI_Recv(&answer, 1, MPI_BYTE, to, TAG, rank->own, MPI_STATUS_IGNORE);
        return last;
    }
    last = rank->in[0];
    MPI_Send(&answer, 1, MPI_BYTE, from, TAG, rank->own);
    return last;
}

static void round_trip(Rank *rank, int from, int to, int bytes)
{
    int partner = rank->node == from ? to : from;
    if (rank->node == from)
        MPI_Send(rank->out, bytes, MPI_BYTE, partner, TAG, rank->own);
    MPI_Recv(rank->in, bytes, MPI_BYTE, partner, TAG, rank->own, MPI_STATUS_IGNORE);
    if (rank->node == to)
        MPI_Send(rank->in, bytes, MPI_BYTE, partner, TAG, rank->own);
}

/* All but one send it a message; its answer says whether that was the last one: it decides. */
static bool incast(Rank *rank, int to, int bytes, bool last)
{
    MPI_Request requests[MOST_NODES];
    char answer = last;
    int count = 0;
    if (rank->node != to) {
        MPI_Send(rank->out, bytes, MPI_BYTE, to, TAG, rank->own);
        MPI_Recv(&answer, 1, MPI_BYTE, to, TAG, rank->own, MPI_STATUS_IGNORE);
        return answer;
    }
    for (int from = 0; from < rank->nodes; from++)
        if (from != to)
            MPI_Irecv(rank->in + (size_t)from * (size_t)bytes, bytes, MPI_BYTE, from, TAG,
                      rank->own, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int from = 0; from < rank->nodes; from++)
        if (from != to)
            MPI_Send(&answer, 1, MPI_BYTE, from, TAG, rank->own);
    return last;
}

/* The greatest of all words: a one among them says that it is the last time. */
static bool allreduce(Rank *rank, int bytes, bool last)
{
    memset(rank->out, 0, (size_t)bytes);
    rank->out[0] = last;
    MPI_Allreduce(rank->out, rank->in, bytes / (int)sizeof(int), MPI_INT, MPI_MAX, rank->own);
    return rank->in[0];
}

static bool takes_part(const Rank *rank, Pattern pattern, int from, int to)
{
    return pattern == INCAST || pattern == ALLREDUCE || rank->node == from || rank->node == to;
}

/* One repetition of a pattern; returns whether it was the last one. */
static bool once(Rank *rank, Pattern pattern, int from, int to, int bytes, bool last)
{
    switch (pattern) {
    case FLOW: return flow(rank, from, to, bytes, last);
    case INCAST: return incast(rank, to, bytes, last);
    case ALLREDUCE: return allreduce(rank, bytes, last);
    default: round_trip(rank, from, to, bytes); return last;
    }
}

/* Canaries measure; the one that takes the times prints them. */
static void measure(Rank *rank, const Case *one, const char *beside)
{
    double samples_s[128];
    bool times = rank->node == one->from;
    int each = one->test == FLOW ? MESSAGES : one->test == ROUND_TRIP ? 2 : 1;
    int all = one->repetitions + WARMUPS;
    for (int at = 0; at < all; at++) {
        double began_s = MPI_Wtime();
        once(rank, one->test, one->from, one->to, one->bytes, false);
        samples_s[at] = (MPI_Wtime() - began_s) / each;
    }
    if (!times)
        return;
    printf("{\"test\":\"congestion\",\"variant\":\"%s\",\"beside\":\"%s\",\"bytes\":%d,"
           "\"warmups\":%d,\"samples_s\":[", one->name, beside, one->bytes, WARMUPS);
    for (int at = 0; at < all; at++)
        printf("%s%.9g", at ? "," : "", samples_s[at]);
    printf("]}\n");
    fflush(stdout);
}

/* Which of the congestors decides when they end: it is sent the word. */
static int decider(const Case *one)
{
    return one->load == INCAST ? one->load_to : one->load_from;
}

static void congest(Rank *rank, const Case *one)
{
    bool decides = rank->node == decider(one), last = false;
    while (!last) {
        int stopped = 0;
        if (decides)
            MPI_Iprobe(MPI_ANY_SOURCE, STOP_TAG, MPI_COMM_WORLD, &stopped, MPI_STATUS_IGNORE);
        last = once(rank, one->load, one->load_from, one->load_to, one->bytes, stopped);
    }
    if (decides)
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, STOP_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void phase(Rank *rank, const Case *one, bool congested)
{
    together();
    if (rank->congests) {
        if (congested && takes_part(rank, one->load, one->load_from, one->load_to))
            congest(rank, one);
    } else if (takes_part(rank, one->test, one->from, one->to)) {
        measure(rank, one, congested ? "congested" : "alone");
        if (congested && rank->node == one->from)
            MPI_Send(NULL, 0, MPI_BYTE, EACH * decider(one) + CONGESTOR, STOP_TAG, MPI_COMM_WORLD);
    }
    together();
}

/* Whether ranks are laid two by two on nodes, as the roles want it. */
static bool are_in_pairs(int rank)
{
    char names[2][MPI_MAX_PROCESSOR_NAME] = { { 0 } };
    int length, right, all;
    MPI_Get_processor_name(names[0], &length);
    MPI_Sendrecv(names[0], MPI_MAX_PROCESSOR_NAME, MPI_CHAR, rank ^ 1, TAG, names[1],
                 MPI_MAX_PROCESSOR_NAME, MPI_CHAR, rank ^ 1, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    right = strcmp(names[0], names[1]) == 0;
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

int main(int count, char **words)
{
    int number, ranks;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 8 || !are_in_pairs(number)) {
        if (number == 0)
            fprintf(stderr, "congestion: start it on four nodes, with two ranks on each\n");
        MPI_Finalize();
        return 2;
    }
    Rank rank = { .congests = number % EACH == CONGESTOR };
    MPI_Comm_split(MPI_COMM_WORLD, rank.congests, number, &rank.own);
    MPI_Comm_rank(rank.own, &rank.node);
    MPI_Comm_size(rank.own, &rank.nodes);
    rank.out = calloc(1, (size_t)MOST_BYTES);
    rank.in = calloc((size_t)rank.nodes, (size_t)MOST_BYTES);
    for (int at = 0; rank.out && rank.in && at < CASE_COUNT; at++) {
        phase(&rank, &CASES[at], false);
        phase(&rank, &CASES[at], true);
    }
    free(rank.out);
    free(rank.in);
    MPI_Comm_free(&rank.own);
    MPI_Finalize();
    return 0;
}
