/* See flows.h. */
#include "flows.h"

#include <math.h>
#include <stdlib.h>

#define TAG 11
/* Round trips of a repetition, and those that an acknowledgement is timed by. */
#define ROUNDS 10
#define TRIPS 21
#define MANY_MESSAGES 16
#define FEW_MESSAGES 4
#define FEW_FROM_BYTES 262144u

/* The one flow of a rank, in the communicator of all flows: sender 2 i, receiver 2 i + 1. */
typedef struct Stream {
    MPI_Comm comm;
    int partner, messages, rounds;
    bool sends, wrong;
    size_t bytes;
    long message;
    Buffers buffers;
} Stream;

int flow_messages(const Bench *bench, size_t bytes)
{
    if (bench->settings.messages > 0)
        return (int)bench->settings.messages;
    return bytes < FEW_FROM_BYTES && !bench->simulated ? MANY_MESSAGES : FEW_MESSAGES;
}

static void send(Stream *stream)
{
    char *buffer = buffers_next(&stream->buffers);
    stamp(buffer, stream->bytes, ++stream->message);
    MPI_Send(buffer, (int)stream->bytes, MPI_BYTE, stream->partner, TAG, stream->comm);
}

static void receive(Stream *stream)
{
    char *buffer = buffers_next(&stream->buffers);
    MPI_Recv(buffer, (int)stream->bytes, MPI_BYTE, stream->partner, TAG, stream->comm,
             MPI_STATUS_IGNORE);
    stream->wrong |= !is_stamped(buffer, stream->bytes, ++stream->message);
}

/* A repetition of the bandwidth: messages one way, and one small message back. */
static void pour(void *context)
{
    Stream *stream = context;
    char answer[4] = { 0 };
    for (int at = 0; at < stream->messages; at++)
        (stream->sends ? send : receive)(stream);
    if (stream->sends)
        MPI_Recv(answer, 4, MPI_BYTE, stream->partner, TAG, stream->comm, MPI_STATUS_IGNORE);
    else
        MPI_Send(answer, 4, MPI_BYTE, stream->partner, TAG, stream->comm);
}

/* A repetition of the latency: the receiver returns the buffer that it received. */
static void bounce(void *context)
{
    Stream *stream = context;
    for (int at = 0; at < stream->rounds; at++) {
        char *buffer = buffers_next(&stream->buffers);
        int bytes = (int)stream->bytes, partner = stream->partner;
        stream->message++;
        if (stream->sends) {
            stamp(buffer, stream->bytes, stream->message);
            MPI_Send(buffer, bytes, MPI_BYTE, partner, TAG, stream->comm);
        }
        MPI_Recv(buffer, bytes, MPI_BYTE, partner, TAG, stream->comm, MPI_STATUS_IGNORE);
        stream->wrong |= !is_stamped(buffer, stream->bytes, stream->message);
        if (!stream->sends)
            MPI_Send(buffer, bytes, MPI_BYTE, partner, TAG, stream->comm);
    }
}

/* How long the small message takes one way; of no meaning on the receiver. */
static double answer_s(Stream *stream)
{
    double took_s[TRIPS];
    char answer[4] = { 0 };
    for (int at = 0; at < TRIPS; at++) {
        double began_s = MPI_Wtime();
        if (stream->sends)
            MPI_Send(answer, 4, MPI_BYTE, stream->partner, TAG, stream->comm);
        MPI_Recv(answer, 4, MPI_BYTE, stream->partner, TAG, stream->comm, MPI_STATUS_IGNORE);
        if (!stream->sends)
            MPI_Send(answer, 4, MPI_BYTE, stream->partner, TAG, stream->comm);
        took_s[at] = (MPI_Wtime() - began_s) / 2;
    }
    return median_of(took_s, TRIPS);
}

/* Makes the stream of this rank, whose place among the flows' ranks is given. */
static void open_stream(Stream *stream, MPI_Comm comm, const Bench *bench, const FlowPlan *plan)
{
    int place;
    MPI_Comm_rank(comm, &place);
    *stream = (Stream){ .comm = comm, .partner = place ^ 1, .sends = place % 2 == 0,
                        .bytes = plan->bytes, .messages = flow_messages(bench, plan->bytes),
                        .rounds = bench->simulated ? 1 : ROUNDS };
    buffers_open(&stream->buffers, plan->bytes, plan->beyond_cache, stream->sends);
}

/* Sender and receiver of each flow, one after the other. */
static MPI_Comm all_ends(const Bench *bench, const Flow *flows, int count)
{
    int ranks[2 * MOST_FLOWS];
    for (int at = 0; at < count; at++) {
        ranks[2 * at] = flows[at].from;
        ranks[2 * at + 1] = flows[at].to;
    }
    return bench_group(bench, ranks, 2 * count);
}

/* Each time without that of the answer, per message: what is left is not less than a twentieth of
 * it, since an answer that came quicker than usual must not make a bandwidth endless. */
static void subtract(double *values_s, long count, double back_s, int messages)
{
    for (long at = 0; at < count; at++)
        values_s[at] = fmax(values_s[at] - back_s, values_s[at] / 20) / messages;
}

void flows_measure(Bench *bench, const Flow *flows, int count, const FlowPlan *plan)
{
    MPI_Comm comm = all_ends(bench, flows, count);
    if (comm != MPI_COMM_NULL) {
        Stream stream;
        Samples samples;
        open_stream(&stream, comm, bench, plan);
        double back_s = answer_s(&stream);
        samples_take(bench, comm, bench_repetitions(bench, (double)plan->bytes), pour, &stream,
                     &samples);
        bool whole = stream.sends || buffers_whole(&stream.buffers);
        bool valid = all_say(comm, whole && !stream.wrong);
        int place;
        MPI_Comm_rank(comm, &place);
        const Flow *own = &flows[place / 2];
        double *values_s = plan->is_sum ? samples.longest_s : samples.own_s;
        Label label = { plan->test, own->variant, (double)plan->bytes, plan->count,
                        stream.messages };
        subtract(values_s, samples.count, back_s, stream.messages);
        if (stream.sends && own->variant && (!plan->is_sum || place == 0))
            samples_report(bench, &samples, values_s, &label, valid);
        samples_free(&samples);
        buffers_close(&stream.buffers);
    }
    bench_together(bench, &comm);
}

void latency_measure(Bench *bench, const Flow *pair, const FlowPlan *plan)
{
    MPI_Comm comm = all_ends(bench, pair, 1);
    if (comm != MPI_COMM_NULL) {
        Stream stream;
        Samples samples;
        open_stream(&stream, comm, bench, plan);
        samples_take(bench, comm, bench_repetitions(bench, (double)plan->bytes), bounce, &stream,
                     &samples);
        bool valid = all_say(comm, buffers_whole(&stream.buffers) && !stream.wrong);
        Label label = { plan->test, pair->variant, (double)plan->bytes, plan->count,
                        2 * stream.rounds };
        subtract(samples.own_s, samples.count, 0, 2 * stream.rounds);
        if (stream.sends)
            samples_report(bench, &samples, samples.own_s, &label, valid);
        samples_free(&samples);
        buffers_close(&stream.buffers);
    }
    bench_together(bench, &comm);
}
