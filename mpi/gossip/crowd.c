/* See crowd.h. */
#include "crowd.h"

static uint64_t now_us(void *context)
{
    const Crowd *crowd = context;
    return crowd->below.now_us(crowd->below.context);
}

/*
 * To the rank that a node is at; from the crowd to one of the others, whomever it would speak to.
 */
static bool send(void *context, uint32_t to, const uint8_t *message, size_t bytes,
                 size_t segment_bytes)
{
    const Crowd *crowd = context;
    uint32_t rank = crowd->is_here ? to % crowd->first : to < crowd->first ? to : crowd->first;
    return crowd->below.send(crowd->below.context, rank, message, bytes, segment_bytes);
}

static size_t receive(void *context, uint8_t *room, size_t room_bytes, uint32_t *from,
                      size_t *segment_bytes)
{
    const Crowd *crowd = context;
    /* Without room a message is taken from the network and dropped. */
    size_t wanted = crowd->is_here ? 0 : room_bytes;
    return crowd->below.receive(crowd->below.context, room, wanted, from, segment_bytes);
}

TidingsTransport crowd_transport(Crowd *crowd, TidingsTransport below)
{
    crowd->below = below;
    return (TidingsTransport){
        .context = crowd, .now_us = now_us, .send = send, .receive = receive
    };
}

void crowd_speak(Crowd *crowd, TidingsNode *node, uint64_t now_us, uint32_t nodes,
                 const uint8_t *payload, size_t bytes)
{
    for (uint32_t said = 0; said < nodes; said++) {
        if (crowd->next <= crowd->first || crowd->next >= crowd->nodes)
            crowd->next = crowd->first + 1;
        tidings_node_speak_for(node, now_us, crowd->next++, payload, bytes);
    }
}
