/* See simulated_ring.h. */
#include "simulated_ring.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../gossip/ring.h"
#include "../machine/machine.h"

#define TAG 1
#define ALARM_TAG 2

/* Before each message: bytes of a segment, and of all segments, as the node made them. */
typedef struct Frame {
    uint32_t segment_bytes, bytes;
} Frame;

/* Messages that may be sent and received at a time; those above wait at their senders. */
#define SENDS 4
#define RECEIVES 2

/* Places in Simulated.waiting. */
enum { ALARM = RECEIVES, STOP, WAITING };

typedef struct Simulated {
    RingMachine *machine;
    uint8_t *incoming[RECEIVES], *outgoing[SENDS];
    MPI_Request waiting[WAITING], sends[SENDS];
    MPI_Status status[RECEIVES];
    bool here[RECEIVES];
    int most_bytes; /* of a message on the wire */
    bool asked;     /* whether the alarm will answer */
    double answer;
} Simulated;

void alarm_live(MPI_Comm world, int node)
{
    double until_s;
    for (;;) {
        MPI_Recv(&until_s, 1, MPI_DOUBLE, node, ALARM_TAG, world, MPI_STATUS_IGNORE);
        if (isnan(until_s))
            return;
        machine_rest(until_s - MPI_Wtime());
        MPI_Send(&until_s, 1, MPI_DOUBLE, node, ALARM_TAG, world);
    }
}

void alarm_end(MPI_Comm world, int alarm)
{
    double never = NAN;
    MPI_Send(&never, 1, MPI_DOUBLE, alarm, ALARM_TAG, world);
}

static uint32_t entries_of(const RingMachine *machine, size_t bytes)
{
    size_t entry = TIDINGS_ENTRY_OVERHEAD_BYTES + machine->payload_bytes;
    if (bytes < TIDINGS_DATAGRAM_OVERHEAD_BYTES)
        return 0;
    return (uint32_t)((bytes - TIDINGS_DATAGRAM_OVERHEAD_BYTES) / entry);
}

/* What a message of so many entries takes on the wire. */
static int wire_bytes(const RingMachine *machine, uint32_t entries)
{
    uint32_t entry = TIDINGS_ENTRY_OVERHEAD_BYTES + machine->wire_payload_bytes;
    uint32_t a_datagram = (TIDINGS_MAX_DATAGRAM_BYTES - TIDINGS_DATAGRAM_OVERHEAD_BYTES) / entry;
    uint32_t datagrams = entries / a_datagram + 1;
    return (int)(sizeof(Frame) + datagrams * TIDINGS_DATAGRAM_OVERHEAD_BYTES + entries * entry);
}

static void post(Ring *ring, int at)
{
    Simulated *own = ring->simulated;
    own->here[at] = false;
    MPI_Irecv(own->incoming[at], own->most_bytes, MPI_BYTE, MPI_ANY_SOURCE, TAG, ring->comm,
              &own->waiting[at]);
}

static bool make_room(Simulated *own, size_t content_bytes)
{
    bool all = true;
    for (int at = 0; at < RECEIVES + SENDS; at++) {
        uint8_t **room = at < RECEIVES ? &own->incoming[at] : &own->outgoing[at - RECEIVES];
        *room = machine_partly_shared((size_t)own->most_bytes, content_bytes);
        all = all && *room;
    }
    return all;
}

bool ring_open(Ring *ring, MPI_Comm comm, int slots, size_t message_bytes,
               const struct RingMachine *machine)
{
    Simulated *own = calloc(1, sizeof *own);
    *ring = (Ring){ .slots = slots, .message_bytes = message_bytes, .simulated = own };
    MPI_Comm_dup(comm, &ring->comm);
    own->machine = (RingMachine *)machine;
    /* Windows may be short of entries and still be several datagrams: a few entries' room more. */
    size_t entry = TIDINGS_ENTRY_OVERHEAD_BYTES + machine->payload_bytes;
    size_t content =
        sizeof(Frame) + TIDINGS_DATAGRAM_OVERHEAD_BYTES + (machine->window_entries + 4) * entry;
    own->most_bytes = wire_bytes(machine, machine->window_entries + 4);
    if (content > (size_t)own->most_bytes)
        own->most_bytes = (int)content;
    if (!make_room(own, content))
        return false;
    for (int at = 0; at < SENDS; at++)
        own->sends[at] = MPI_REQUEST_NULL;
    for (int at = 0; at < RECEIVES; at++)
        post(ring, at);
    own->waiting[ALARM] = MPI_REQUEST_NULL;
    ring->origin = MPI_Wtime();
    return true;
}

void ring_close(Ring *ring)
{
    Simulated *own = ring->simulated;
    for (int at = 0; at < RECEIVES; at++) {
        if (own->waiting[at] != MPI_REQUEST_NULL) {
            MPI_Cancel(&own->waiting[at]);
            MPI_Request_free(&own->waiting[at]);
        }
        machine_free(own->incoming[at]);
    }
    for (int at = 0; at < SENDS; at++)
        machine_free(own->outgoing[at]);
    free(own);
}

uint64_t ring_now_us(const Ring *ring)
{
    double passed_s = MPI_Wtime() - ring->origin;
    return passed_s > 0 ? (uint64_t)(passed_s * 1e6) : 0;
}

static uint64_t now_us(void *context)
{
    return ring_now_us(context);
}

static int free_slot(Simulated *own)
{
    for (int at = 0; at < SENDS; at++) {
        int ended = own->sends[at] == MPI_REQUEST_NULL;
        if (!ended)
            MPI_Test(&own->sends[at], &ended, MPI_STATUS_IGNORE);
        if (ended)
            return at;
    }
    return -1;
}

static bool send(void *context, uint32_t to, const uint8_t *message, size_t bytes,
                 size_t segment_bytes)
{
    Ring *ring = context;
    Simulated *own = ring->simulated;
    RingMachine *machine = own->machine;
    uint32_t entries = entries_of(machine, bytes);
    int slot = free_slot(own), wire = wire_bytes(machine, entries);
    machine_work(entries * machine->entry_us * 1e-6);
    if (slot < 0 || wire > own->most_bytes) {
        ring->counters.dropped++;
        return false;
    }
    Frame frame = { (uint32_t)segment_bytes, (uint32_t)bytes };
    memcpy(own->outgoing[slot], &frame, sizeof frame);
    memcpy(own->outgoing[slot] + sizeof frame, message, bytes);
    MPI_Isend(own->outgoing[slot], wire, MPI_BYTE, (int)to, TAG, ring->comm, &own->sends[slot]);
    machine->wire_bytes += (uint64_t)wire;
    ring->counters.sent++;
    return true;
}

static size_t receive(void *context, uint8_t *room, size_t room_bytes, uint32_t *from,
                      size_t *segment_bytes)
{
    Ring *ring = context;
    Simulated *own = ring->simulated;
    for (int at = 0; at < RECEIVES; at++) {
        Frame frame;
        if (!own->here[at])
            continue;
        memcpy(&frame, own->incoming[at], sizeof frame);
        size_t bytes = frame.bytes < room_bytes ? frame.bytes : room_bytes;
        memcpy(room, own->incoming[at] + sizeof frame, bytes);
        *from = (uint32_t)own->status[at].MPI_SOURCE;
        *segment_bytes = frame.segment_bytes;
        ring->counters.received++;
        ring->took = true;
        post(ring, at);
        machine_work(entries_of(own->machine, bytes) * own->machine->entry_us * 1e-6);
        return bytes;
    }
    return 0;
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

static bool any_here(const Simulated *own)
{
    for (int at = 0; at < RECEIVES; at++)
        if (own->here[at])
            return true;
    return false;
}

/* Waits for one of the requests, and notes which it was. */
static void await(Simulated *own)
{
    int at;
    MPI_Status status;
    own->waiting[STOP] = *own->machine->stop;
    MPI_Waitany(WAITING, own->waiting, &at, &status);
    *own->machine->stop = own->waiting[STOP];
    if (at < RECEIVES) {
        own->here[at] = true;
        own->status[at] = status;
    } else if (at == ALARM) {
        own->asked = false;
    }
}

void ring_rest(Ring *ring, uint64_t until_us, uint64_t nap_us)
{
    (void)nap_us; /* messages wake it */
    Simulated *own = ring->simulated;
    if (any_here(own))
        return;
    if (!own->asked) {
        /* Half a microsecond later, so that a clock of whole microseconds has come there. */
        double until_s = ring->origin + ((double)until_us + 0.5) * 1e-6;
        MPI_Irecv(&own->answer, 1, MPI_DOUBLE, own->machine->alarm, ALARM_TAG,
                  own->machine->world, &own->waiting[ALARM]);
        MPI_Send(&until_s, 1, MPI_DOUBLE, own->machine->alarm, ALARM_TAG, own->machine->world);
        own->asked = true;
    }
    await(own);
}

/* Takes in what has come since, without work: nobody measures any more. */
static void take_all(Ring *ring)
{
    Simulated *own = ring->simulated;
    for (int at = 0; at < RECEIVES; at++) {
        int ended = own->here[at];
        while (ended || (own->waiting[at] != MPI_REQUEST_NULL &&
                         MPI_Test(&own->waiting[at], &ended, &own->status[at]) == MPI_SUCCESS &&
                         ended)) {
            ring->counters.received++;
            post(ring, at);
            ended = 0;
        }
    }
}

/* How long ranks leave messages between two counts at the end. */
#define DRAIN_S 1e-3

void ring_drain(Ring *ring)
{
    unsigned long long mine[2], all[2];
    Simulated *own = ring->simulated;
    do {
        take_all(ring);
        machine_rest(DRAIN_S);
        take_all(ring);
        mine[0] = ring->counters.sent;
        mine[1] = ring->counters.received;
        MPI_Allreduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, ring->comm);
    } while (all[0] != all[1]);
    MPI_Waitall(SENDS, own->sends, MPI_STATUSES_IGNORE);
    if (own->asked)
        MPI_Wait(&own->waiting[ALARM], MPI_STATUS_IGNORE);
}
