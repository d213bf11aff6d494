/*
 * A driver for UDP, in C: a node that says its process id, and prints what it knows of all nodes.
 *
 *     udp FOLDER NUMBER ADDRESS...
 *
 * starts the node of that number, from 0. All are given the same addresses, as 127.0.0.1:9700.
 * FOLDER/key has 32 bytes that all share. The end of the input (Ctrl-D) ends the node. Nodes of
 * crates/gossip/examples/udp.rs may be in the same cluster.
 */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <tidings_node.h>
#include <unistd.h>

#define MAX_NODES 64

typedef struct Udp {
    int socket;
    uint32_t nodes;
    struct sockaddr_in addresses[MAX_NODES];
} Udp;

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "udp: %s: %s\n", what, why);
    return 1;
}

static uint64_t microseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t now_us(void *context)
{
    (void)context;
    return microseconds(CLOCK_MONOTONIC);
}

/* A message is several datagrams. What the kernel does not take at once is lost. */
static bool send_message(void *context, uint32_t to, const uint8_t *message, size_t bytes,
                         size_t segment_bytes)
{
    const Udp *udp = context;
    bool taken = to < udp->nodes;
    for (size_t at = 0; taken && at < bytes; at += segment_bytes) {
        size_t length = bytes - at < segment_bytes ? bytes - at : segment_bytes;
        taken = sendto(udp->socket, message + at, length, MSG_DONTWAIT,
                       (const struct sockaddr *)&udp->addresses[to],
                       sizeof udp->addresses[to]) == (ssize_t)length;
    }
    return taken;
}

/* One datagram. After a stranger's the turn ends, and poll(2) comes back for the rest. */
static size_t receive_message(void *context, uint8_t *room, size_t room_bytes, uint32_t *from,
                              size_t *segment_bytes)
{
    const Udp *udp = context;
    struct sockaddr_in sender;
    socklen_t length = sizeof sender;
    ssize_t bytes = recvfrom(udp->socket, room, room_bytes, MSG_DONTWAIT | MSG_TRUNC,
                             (struct sockaddr *)&sender, &length);
    if (bytes <= 0 || (size_t)bytes > room_bytes)
        return 0;
    for (uint32_t at = 0; at < udp->nodes; at++)
        if (udp->addresses[at].sin_port == sender.sin_port &&
            udp->addresses[at].sin_addr.s_addr == sender.sin_addr.s_addr) {
            *from = at;
            *segment_bytes = (size_t)bytes;
            return (size_t)bytes;
        }
    return 0;
}

static bool read_bytes(const char *path, void *bytes, size_t count)
{
    FILE *file = fopen(path, "rb");
    bool read = file && fread(bytes, 1, count, file) == count;
    if (file)
        fclose(file);
    return read;
}

static bool parse_address(const char *text, struct sockaddr_in *address)
{
    char ip[INET_ADDRSTRLEN], rest;
    unsigned port;
    *address = (struct sockaddr_in){ .sin_family = AF_INET };
    if (sscanf(text, "%15[0-9.]:%u%c", ip, &port, &rest) != 2 || port == 0 || port > 65535)
        return false;
    address->sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, ip, &address->sin_addr) == 1;
}

static void show(TidingsNode *node, uint32_t nodes)
{
    static const char *const states[] = { "Unheard", "Alive", "Suspected", "Dead", "Left" };
    TidingsEntry entry;
    for (uint32_t at = 0; at < nodes; at++) {
        if (tidings_node_entry(node, now_us(NULL), at, &entry) != TIDINGS_STATUS_OK)
            continue;
        double age_s = entry.age_us == TIDINGS_NO_AGE ? 0 : (double)entry.age_us / 1e6;
        /* Payloads are padded with zeros to one length; the precision ends one that has none. */
        printf("n%" PRIu32 " %s, %.3f s old: %.*s\n", at, states[entry.state], age_s,
               (int)entry.payload_bytes, entry.payload ? (const char *)entry.payload : "");
    }
    fflush(stdout);
}

/* Turns of the node, until the input ends. */
static int live(TidingsNode *node, Udp *udp)
{
    TidingsTransport transport = { udp, now_us, send_message, receive_message };
    uint64_t due_us = 0, show_us = 0;
    char payload[32], input[64];
    for (;;) {
        uint64_t now = now_us(udp);
        uint64_t wait_us = due_us > now ? due_us - now : 0;
        struct pollfd waits[2] = { { .fd = udp->socket, .events = POLLIN },
                                   { .fd = STDIN_FILENO, .events = POLLIN } };
        if (poll(waits, 2, (int)((wait_us + 999) / 1000)) < 0 && errno != EINTR)
            return failed("poll", strerror(errno));
        if (waits[1].revents && read(STDIN_FILENO, input, sizeof input) <= 0)
            return 0;
        if (now_us(udp) >= due_us) {
            int bytes = snprintf(payload, sizeof payload, "pid %ld", (long)getpid());
            tidings_node_publish(node, (const uint8_t *)payload, (size_t)bytes);
            tidings_node_set_clock(node, now_us(udp), microseconds(CLOCK_REALTIME));
        }
        uint32_t status = tidings_node_turn(node, &transport, &due_us);
        if (status != TIDINGS_STATUS_OK)
            return failed("turn", tidings_status_text(status));
        if (now_us(udp) >= show_us) {
            show(node, udp->nodes);
            show_us = now_us(udp) + 1000000;
        }
    }
}

int main(int count, char **words)
{
    static Udp udp;
    uint8_t key[TIDINGS_KEY_BYTES];
    char path[4096], why[200];
    unsigned number;
    TidingsNode *node;
    if (count < 5 || count - 3 > MAX_NODES || sscanf(words[2], "%u", &number) != 1)
        return failed("usage", "udp FOLDER NUMBER ADDRESS ADDRESS..., for 2 to 64 nodes");
    udp.nodes = (uint32_t)(count - 3);
    for (uint32_t at = 0; at < udp.nodes; at++)
        if (!parse_address(words[3 + at], &udp.addresses[at]))
            return failed(words[3 + at], "no address, such as 127.0.0.1:9700");
    TidingsConfig config = tidings_config_default(udp.nodes, number);
    config.death_after_us = 2500000;
    config.key = key;
    snprintf(path, sizeof path, "%s/key", words[1]);
    if (!read_bytes(path, key, sizeof key))
        return failed(path, "not 32 bytes: head -c 32 /dev/urandom >key");
    /* Of the system's: nobody may foresee it, and no two lives share it. */
    if (!read_bytes("/dev/urandom", &config.seed, sizeof config.seed))
        return failed("/dev/urandom", strerror(errno));
    if (tidings_node_new(&config, &node, why, sizeof why) != TIDINGS_STATUS_OK)
        return failed("configuration", why);
    udp.socket = socket(AF_INET, SOCK_DGRAM, 0);
    if (udp.socket < 0 || bind(udp.socket, (struct sockaddr *)&udp.addresses[number],
                               sizeof udp.addresses[number]) != 0)
        return failed(words[3 + number], strerror(errno));
    int status = live(node, &udp);
    tidings_node_free(node);
    close(udp.socket);
    return status;
}
