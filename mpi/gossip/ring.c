/* See ring.h. */
#include "ring.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Before each message: how long its segments are. */
#define FRAME_BYTES 4

/* The communicator is the ring's own, so any tag will do. */
#define TAG 1

static void put_frame(uint8_t *frame, uint32_t value)
{
    for (int at = 0; at < FRAME_BYTES; at++)
        frame[at] = (uint8_t)(value >> (8 * at));
}

static uint32_t get_frame(const uint8_t *frame)
{
    uint32_t value = 0;
    for (int at = 0; at < FRAME_BYTES; at++)
        value |= (uint32_t)frame[at] << (8 * at);
    return value;
}

/* Whether all ranks say yes, and the same number. */
static bool agreed(MPI_Comm comm, bool yes, size_t number)
{
    /* The least of a number and of its negation are alike only if all numbers are. */
    long long mine[3] = { yes, (long long)number, -(long long)number }, least[3];
    MPI_Allreduce(mine, least, 3, MPI_LONG_LONG, MPI_MIN, comm);
    return least[0] == 1 && least[1] == -least[2];
}

static void give_back(Ring *ring)
{
    free(ring->requests);
    free(ring->indices);
    free(ring->outgoing);
    free(ring->incoming);
    MPI_Comm_free(&ring->comm);
}

bool ring_open(Ring *ring, MPI_Comm comm, int slots, size_t message_bytes,
               const struct RingMachine *machine)
{
    (void)machine; /* there is none */
    *ring = (Ring){ .slots = slots, .message_bytes = message_bytes };
    MPI_Comm_dup(comm, &ring->comm);
    size_t slot_bytes = message_bytes + FRAME_BYTES;
    bool usable = slots > 0 && message_bytes <= (size_t)INT_MAX - FRAME_BYTES;
    if (usable) {
        ring->requests = malloc((size_t)slots * sizeof *ring->requests);
        ring->indices = malloc((size_t)slots * sizeof *ring->indices);
        ring->outgoing = calloc((size_t)slots, slot_bytes);
        ring->incoming = malloc(slot_bytes);
        usable = ring->requests && ring->indices && ring->outgoing && ring->incoming;
    }
    if (!agreed(ring->comm, usable, message_bytes)) {
        give_back(ring);
        return false;
    }
    for (int slot = 0; slot < slots; slot++)
        ring->requests[slot] = MPI_REQUEST_NULL;
    ring->origin = MPI_Wtime();
    return true;
}

void ring_close(Ring *ring)
{
    give_back(ring);
}

uint64_t ring_now_us(const Ring *ring)
{
    double passed = MPI_Wtime() - ring->origin;
    return passed > 0 ? (uint64_t)(passed * 1e6) : 0;
}

void ring_rest(Ring *ring, uint64_t until_us, uint64_t nap_us)
{
    uint64_t now_us = ring_now_us(ring), left_us = until_us > now_us ? until_us - now_us : 0;
    if (left_us > 0)
        usleep((useconds_t)(left_us < nap_us ? left_us : nap_us));
}

static int free_slot(const Ring *ring)
{
    for (int slot = 0; slot < ring->slots; slot++)
        if (ring->requests[slot] == MPI_REQUEST_NULL)
            return slot;
    return -1;
}

static uint64_t now_us(void *context)
{
    return ring_now_us(context);
}

static bool send(void *context, uint32_t to, const uint8_t *message, size_t bytes,
                 size_t segment_bytes)
{
    Ring *ring = context;
    int slot = free_slot(ring), ended;
    if (slot < 0) {
        MPI_Testsome(ring->slots, ring->requests, &ended, ring->indices, MPI_STATUSES_IGNORE);
        slot = free_slot(ring);
    }
    if (slot < 0 || bytes > ring->message_bytes) {
        ring->counters.dropped++;
        return false;
    }
    uint8_t *out = ring->outgoing + (size_t)slot * (ring->message_bytes + FRAME_BYTES);
    put_frame(out, (uint32_t)segment_bytes);
    memcpy(out + FRAME_BYTES, message, bytes);
    MPI_Isend(out, (int)bytes + FRAME_BYTES, MPI_BYTE, (int)to, TAG, ring->comm,
              &ring->requests[slot]);
    ring->counters.sent++;
    return true;
}

/* The bytes of the next message that has arrived, its frame among them; 0 if there is none. */
static int take(Ring *ring, int *from)
{
    int here, bytes;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, ring->comm, &here, &status);
    if (!here)
        return 0;
    /* Nobody else receives on this communicator, so what was seen is what is received. */
    MPI_Recv(ring->incoming, (int)ring->message_bytes + FRAME_BYTES, MPI_BYTE, status.MPI_SOURCE,
             TAG, ring->comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    ring->counters.received++;
    *from = status.MPI_SOURCE;
    return bytes;
}

static size_t receive(void *context, uint8_t *room, size_t room_bytes, uint32_t *from,
                      size_t *segment_bytes)
{
    Ring *ring = context;
    int sender, bytes = take(ring, &sender);
    if (bytes == 0)
        return 0;
    ring->took = true;
    size_t length = (size_t)(bytes - FRAME_BYTES);
    if (length > room_bytes)
        length = room_bytes; /* what is cut does not open, and is dropped by the node */
    memcpy(room, ring->incoming + FRAME_BYTES, length);
    *from = (uint32_t)sender;
    *segment_bytes = get_frame(ring->incoming);
    return length;
}

TidingsTransport ring_transport(Ring *ring)
{
    return (TidingsTransport){
        .context = ring, .now_us = now_us, .send = send, .receive = receive
    };
}

bool ring_took(Ring *ring)
{
    bool took = ring->took;
    ring->took = false;
    return took;
}

void ring_drain(Ring *ring)
{
    unsigned long long mine[2], all[2];
    int from;
    do {
        MPI_Request counted;
        int done = 0;
        mine[0] = ring->counters.sent;
        mine[1] = ring->counters.received;
        MPI_Iallreduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, ring->comm, &counted);
        /* Receiving goes on, or a sender that waits to be received would never come to count. */
        while (!done) {
            while (take(ring, &from) > 0) {
            }
            MPI_Test(&counted, &done, MPI_STATUS_IGNORE);
        }
    } while (all[0] != all[1]);
    MPI_Waitall(ring->slots, ring->requests, MPI_STATUSES_IGNORE);
}
