#ifndef TIDINGS_NODE_H
#define TIDINGS_NODE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * The gossip core of Tidings for C: a node of a cluster whose nodes have numbers, as MPI ranks do.
 * The program supplies a clock, sending and receiving (TidingsTransport) and gives the node a turn
 * whenever it is due or something may have arrived. No threads; nothing allocates after the first
 * turns; a node must not be used by two threads at a time. Link with libtidings_node.a, -lpthread,
 * -ldl and -lm. Made by cbindgen from crates/ffi: change it there.
 */


/*
 Bytes of a datagram that carries a window, beside its entries.
 */
#define TIDINGS_DATAGRAM_OVERHEAD_BYTES 50

/*
 Bytes of an entry beside its payload.
 */
#define TIDINGS_ENTRY_OVERHEAD_BYTES 12

/*
 The most bytes of a datagram.
 */
#define TIDINGS_MAX_DATAGRAM_BYTES 65507

/*
 The most bytes of a payload.
 */
#define TIDINGS_MAX_PAYLOAD_BYTES 1024

/*
 Bytes of a key.
 */
#define TIDINGS_KEY_BYTES 32

/*
 The age of an entry that was never heard of.
 */
#define TIDINGS_NO_AGE UINT64_MAX

/*
 What a call answers. Only `TIDINGS_STATUS_OK` is 0.
 */
typedef enum TidingsStatus {
    /*
     All went well.
     */
    TIDINGS_STATUS_OK = 0,
    /*
     A pointer that must not be null is null. Nothing was done.
     */
    TIDINGS_STATUS_NULL = 1,
    /*
     The configuration is not one that a node can run with; the message says which part. No node
     was made.
     */
    TIDINGS_STATUS_CONFIGURATION = 2,
    /*
     The payload is longer than `payload_bytes`. What was published before stays.
     */
    TIDINGS_STATUS_TOO_LONG = 3,
    /*
     There is no node of this number. Nothing was done.
     */
    TIDINGS_STATUS_NUMBER = 4,
    /*
     A call went wrong inside, which is a fault of the library; this node does nothing any more.
     */
    TIDINGS_STATUS_BROKEN = 5,
} TidingsStatus;

/*
 How a node stands, as another one sees it.
 */
typedef enum TidingsState {
    /*
     Nothing was heard of it.
     */
    TIDINGS_STATE_UNHEARD = 0,
    /*
     It lives.
     */
    TIDINGS_STATE_ALIVE = 1,
    /*
     It is silent for longer than is usual.
     */
    TIDINGS_STATE_SUSPECTED = 2,
    /*
     It was declared dead.
     */
    TIDINGS_STATE_DEAD = 3,
    /*
     It said farewell.
     */
    TIDINGS_STATE_LEFT = 4,
} TidingsState;

/*
 How a unit's bytes are given away; see the gossip core's `Strategy`.
 */
typedef enum TidingsStrategy {
    /*
     A window to one other node, chosen uniformly at random: the algorithm of ROSS'14.
     */
    TIDINGS_STRATEGY_UNIFORM = 0,
    /*
     One datagram each to several nodes, chosen uniformly at random.
     */
    TIDINGS_STRATEGY_SPREAD = 1,
    /*
     Half a window to a random node, which answers with half of its own.
     */
    TIDINGS_STRATEGY_PUSH_PULL = 2,
    /*
     A window to the node whose turn is next. Wants a shared clock.
     */
    TIDINGS_STRATEGY_STAGGERED = 3,
    /*
     The own entry to one's row, and every other row asked for in turn. Gains by a shared clock.
     */
    TIDINGS_STRATEGY_GRID = 4,
} TidingsStrategy;

/*
 A node. Only pointers to it leave the library.
 */
typedef struct TidingsNode TidingsNode;

/*
 What a node is told at its start. All nodes of a cluster share all of it but `number` and
 `seed`. Start from `tidings_config_default`.
 */
typedef struct TidingsConfig {
    /*
     Nodes in the cluster: 2 to 2^20.
     */
    uint32_t nodes;
    /*
     This node's number, from 0.
     */
    uint32_t number;
    /*
     The unit of time in microseconds: 100 to 3.6e9.
     */
    uint64_t interval_us;
    /*
     Entries that a node sends in a unit, from 1; more than there are nodes means all.
     */
    uint32_t window_entries;
    /*
     Bytes of what a node says of itself: 0 to 1,024.
     */
    uint16_t payload_bytes;
    /*
     The most bytes of a datagram, 208 and the payload to 65,507. A window that takes several
     goes to the transport as one message of equal segments as far as `message_bytes` allows.
     */
    uint16_t datagram_bytes;
    /*
     The most bytes that the transport is asked to send at once; at least `datagram_bytes`.
     */
    uint32_t message_bytes;
    /*
     How a unit's bytes are given away: one of `TidingsStrategy`.
     */
    uint32_t strategy;
    /*
     Silence, in microseconds, after which a node is declared dead: 10,000 to 3.6e9; 0: none is.
     */
    uint64_t death_after_us;
    /*
     What all random choices are drawn from. It must differ from node to node, and from run to
     run where a key is given: it keeps the nonces of two runs apart.
     */
    uint64_t seed;
    /*
     `TIDINGS_KEY_BYTES` bytes that all nodes share, or null: then datagrams are sealed under a
     key that anybody can derive.
     */
    const uint8_t *key;
} TidingsConfig;

/*
 What the program does for a node. All three are called only inside `tidings_node_turn`, on the
 thread that called it.
 */
typedef struct TidingsTransport {
    /*
     Handed to each of the functions.
     */
    void *context;
    /*
     Microseconds on a clock of this node that never goes back. Clocks of two nodes need not
     agree.
     */
    uint64_t (*now_us)(void *context);
    /*
     Sends `bytes` bytes to a node: datagrams of `segment_bytes` each, the last maybe shorter.
     The bytes are the library's and change after the call. Answers whether the message was
     taken.
     */
    bool (*send)(void *context,
                 uint32_t to,
                 const uint8_t *message,
                 size_t bytes,
                 size_t segment_bytes);
    /*
     Writes the next message that has arrived to `room`, of `room_bytes` bytes, tells who sent it
     and what `segment_bytes` was given to `send`, and answers how many bytes it has; 0 if there
     is none. A message longer than the room is to be dropped.
     */
    size_t (*receive)(void *context,
                      uint8_t *room,
                      size_t room_bytes,
                      uint32_t *from,
                      size_t *segment_bytes);
} TidingsTransport;

/*
 What a node knows of another one.
 */
typedef struct TidingsEntry {
    /*
     How it stands.
     */
    enum TidingsState state;
    /*
     Which life of it this is; 0 if unheard.
     */
    uint32_t incarnation;
    /*
     The number of the entry in that life; 0 if unheard.
     */
    uint32_t sequence;
    /*
     How old the entry is, in microseconds; `TIDINGS_NO_AGE` if it is.
     */
    uint64_t age_us;
    /*
     What it says of itself, until the next call with this node that is no reading; null if
     unheard.
     */
    const uint8_t *payload;
    /*
     Bytes of that.
     */
    size_t payload_bytes;
} TidingsEntry;

/*
 How complete and how fresh all entries but the own one are.
 */
typedef struct TidingsAges {
    /*
     Nodes that were heard of.
     */
    uint32_t known;
    /*
     Nodes that were not.
     */
    uint32_t unheard;
    /*
     Mean age of the known, in microseconds; 0 if there are none.
     */
    uint64_t mean_us;
    /*
     Age of the oldest, in microseconds.
     */
    uint64_t oldest_us;
} TidingsAges;

/*
 What a node did since it was made.
 */
typedef struct TidingsCounters {
    /*
     Units of time it gossiped in.
     */
    uint64_t rounds;
    /*
     Units passed over because it was not given a turn in time.
     */
    uint64_t rounds_skipped;
    /*
     Messages that the transport took.
     */
    uint64_t messages_sent;
    /*
     Messages that the transport refused.
     */
    uint64_t messages_refused;
    /*
     Datagrams made; a message holds one or several.
     */
    uint64_t datagrams_sent;
    /*
     Bytes of these.
     */
    uint64_t bytes_sent;
    /*
     Entries sent.
     */
    uint64_t entries_sent;
    /*
     Datagrams that arrived, dropped ones among them.
     */
    uint64_t datagrams_received;
    /*
     Bytes of these.
     */
    uint64_t bytes_received;
    /*
     Entries that arrived.
     */
    uint64_t entries_received;
    /*
     Entries that were newer than the held ones.
     */
    uint64_t entries_news;
} TidingsCounters;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 A sentence that says what a status means. It lives as long as the program.
 */
const char *tidings_status_text(uint32_t status);

/*
 A configuration of 256 ms, windows of a fifth of the nodes and payloads of 64 bytes, which
 `grid` spreads, for node `number` of `nodes`; nobody is declared dead.
 */
struct TidingsConfig tidings_config_default(uint32_t nodes, uint32_t number);

/*
 Makes a node and writes it to `node`. If that cannot be, null is written there, and what is
 wrong to `message` (`message_bytes` bytes, 0 at its end, cut if it is longer), unless it is
 null.

 # Safety
 `config` and `node` are null or valid; its `key` is null or points to `TIDINGS_KEY_BYTES` bytes;
 `message` is null or has `message_bytes` bytes.
 */
enum TidingsStatus tidings_node_new(const struct TidingsConfig *config,
                                    struct TidingsNode **node,
                                    char *message,
                                    size_t message_bytes);

/*
 Ends a node and gives its memory back. Null is allowed.

 # Safety
 `node` is null or from `tidings_node_new`, was not freed, and is in use by nobody.
 */
void tidings_node_free(struct TidingsNode *node);

/*
 Sets what the node says of itself from its next round on: `bytes` bytes; a shorter text than
 `payload_bytes` is padded with zeros.

 # Safety
 As [`tidings_node_free`]; `payload` has `bytes` bytes, or is null and `bytes` is 0.
 */
enum TidingsStatus tidings_node_publish(struct TidingsNode *node,
                                        const uint8_t *payload,
                                        size_t bytes);

/*
 Says for node `number` what it would say of itself at `now_us` of this node's clock, as if that
 had just come from there. For nodes that this program simulates, as one process of a load test
 does all the others. Nothing happens if the number is this node's own.

 # Safety
 As [`tidings_node_publish`].
 */
enum TidingsStatus tidings_node_speak_for(struct TidingsNode *node,
                                          uint64_t now_us,
                                          uint32_t number,
                                          const uint8_t *payload,
                                          size_t bytes);

/*
 Tells the node what a clock shows that all nodes share, at the time `now_us` of its own clock.
 `staggered` and `grid` keep better time with it; if it is wrong, that costs freshness only.

 # Safety
 As [`tidings_node_free`].
 */
enum TidingsStatus tidings_node_set_clock(struct TidingsNode *node,
                                          uint64_t now_us,
                                          uint64_t shared_us);

/*
 Says whether the node asks others for their entries, as it does from its start. One that does
 not still says what it has, and answers, with a part of the messages; its own vector gets old
 meanwhile. For programs that look at the vector at times only. Of strategy `grid`; the others do
 not ask.

 # Safety
 As [`tidings_node_free`].
 */
enum TidingsStatus tidings_node_set_asks(struct TidingsNode *node,
                                         bool asks);

/*
 One turn: takes in at most 512 messages that have arrived, does what is due, sends what follows,
 and writes to `due_us` when the next turn is due on the transport's clock, unless it is null.

 # Safety
 As [`tidings_node_free`]; `transport` is null or valid and keeps its word; `due_us` is null or
 valid. The functions of the transport must not use the node.
 */
enum TidingsStatus tidings_node_turn(struct TidingsNode *node,
                                     const struct TidingsTransport *transport,
                                     uint64_t *due_us);

/*
 Writes what the node knows of the one called `number`, itself included, to `entry`.

 # Safety
 `node` as for `tidings_node_free`; `entry` is null or valid.
 */
enum TidingsStatus tidings_node_entry(struct TidingsNode *node,
                                      uint64_t now_us,
                                      uint32_t number,
                                      struct TidingsEntry *entry);

/*
 Writes the age of each node's entry in microseconds to `ages_us[number]`, its own as well;
 `TIDINGS_NO_AGE` where there is none.

 # Safety
 `node` as for `tidings_node_free`; `ages_us` is null or has a place for each node.
 */
enum TidingsStatus tidings_node_all_ages(struct TidingsNode *node,
                                         uint64_t now_us,
                                         uint64_t *ages_us);

/*
 Writes how complete and how fresh the node's picture is to `ages`.

 # Safety
 `node` as for `tidings_node_free`; `ages` is null or valid.
 */
enum TidingsStatus tidings_node_ages(struct TidingsNode *node,
                                     uint64_t now_us,
                                     struct TidingsAges *ages);

/*
 Writes what the node did since it was made to `counters`.

 # Safety
 `node` as for `tidings_node_free`; `counters` is null or valid.
 */
enum TidingsStatus tidings_node_counters(struct TidingsNode *node,
                                         struct TidingsCounters *counters);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDINGS_NODE_H */
