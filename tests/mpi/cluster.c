/*
 * Sixteen nodes in one process, with a network of memory between them that loses every tenth
 * message and duplicates every seventh: the C interface as a program uses it, in simulated
 * time. Built with a sanitizer, and once more with the allocator counted (-DCOUNT_ALLOCATIONS).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidings_node.h"

enum { NODES = 16, UNIT_US = 1000, MESSAGE_BYTES = 2048, QUEUE = 4096, STEP_US = 50 };

static unsigned long allocations;

#ifdef COUNT_ALLOCATIONS
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    allocations++;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    allocations++;
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    allocations++;
    return __real_realloc(block, bytes);
}
#endif

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

struct message {
    uint32_t from;
    size_t bytes, segment_bytes;
    uint8_t content[MESSAGE_BYTES];
};

/* The messages on their way to one node. */
struct mailbox {
    struct message *messages;
    size_t first, count;
};

struct place {
    uint32_t number;
    TidingsNode *node;
    struct mailbox mailbox;
};

static struct place places[NODES];
static uint64_t time_us, sent, refused;

static uint64_t now_us(void *context)
{
    (void)context;
    return time_us;
}

static void deliver(uint32_t from, uint32_t to, const uint8_t *content, size_t bytes,
                    size_t segment_bytes)
{
    struct mailbox *box = &places[to].mailbox;
    CHECK(box->count < QUEUE);
    struct message *message = &box->messages[(box->first + box->count++) % QUEUE];
    message->from = from;
    message->bytes = bytes;
    message->segment_bytes = segment_bytes;
    memcpy(message->content, content, bytes);
}

static bool send_message(void *context, uint32_t to, const uint8_t *content, size_t bytes,
                         size_t segment_bytes)
{
    struct place *place = context;
    CHECK(to < NODES && bytes <= MESSAGE_BYTES);
    if (++sent % 23 == 0) {
        refused++;
        return false;
    }
    if (sent % 10 == 0)
        return true; /* lost on its way */
    deliver(place->number, to, content, bytes, segment_bytes);
    if (sent % 7 == 0)
        deliver(place->number, to, content, bytes, segment_bytes);
    return true;
}

static size_t receive_message(void *context, uint8_t *room, size_t room_bytes, uint32_t *from,
                              size_t *segment_bytes)
{
    struct mailbox *box = &((struct place *)context)->mailbox;
    if (box->count == 0)
        return 0;
    struct message *message = &box->messages[box->first];
    box->first = (box->first + 1) % QUEUE;
    box->count--;
    CHECK(message->bytes <= room_bytes);
    memcpy(room, message->content, message->bytes);
    *from = message->from;
    *segment_bytes = message->segment_bytes;
    return message->bytes;
}

static TidingsConfig configuration(uint32_t number)
{
    static const uint8_t KEY[TIDINGS_KEY_BYTES] = { 1, 2, 3 };
    TidingsConfig config = tidings_config_default(NODES, number);
    config.interval_us = UNIT_US;
    config.window_entries = NODES;
    config.payload_bytes = 8;
    config.datagram_bytes = 320; /* so that a window needs several */
    config.message_bytes = MESSAGE_BYTES;
    config.strategy = TIDINGS_STRATEGY_UNIFORM;
    config.key = KEY;
    return config;
}

static void run(unsigned units)
{
    for (uint64_t end_us = time_us + (uint64_t)units * UNIT_US; time_us < end_us;
         time_us += STEP_US)
        for (uint32_t number = 0; number < NODES; number++) {
            TidingsTransport transport = { &places[number], now_us, send_message,
                                           receive_message };
            uint64_t due_us = 0;
            CHECK(tidings_node_turn(places[number].node, &transport, &due_us) == TIDINGS_STATUS_OK);
            CHECK(due_us > time_us);
        }
}

static void all_know_all(void)
{
    for (uint32_t reader = 0; reader < NODES; reader++) {
        TidingsAges ages;
        TidingsEntry entry;
        uint64_t each_us[NODES];
        CHECK(tidings_node_ages(places[reader].node, time_us, &ages) == TIDINGS_STATUS_OK);
        CHECK(ages.known == NODES - 1 && ages.unheard == 0);
        CHECK(ages.mean_us <= ages.oldest_us && ages.oldest_us < 100 * UNIT_US);
        CHECK(tidings_node_all_ages(places[reader].node, time_us, each_us) == TIDINGS_STATUS_OK);
        for (uint32_t number = 0; number < NODES; number++) {
            CHECK(tidings_node_entry(places[reader].node, time_us, number, &entry) ==
                  TIDINGS_STATUS_OK);
            CHECK(entry.state == TIDINGS_STATE_ALIVE && entry.age_us == each_us[number]);
            CHECK(entry.payload_bytes == 8);
            CHECK(memcmp(entry.payload, &number, sizeof number) == 0);
        }
    }
}

static void wrong_calls_are_answered(void)
{
    TidingsNode *node = NULL, *one = places[0].node;
    TidingsEntry entry;
    TidingsTransport without = { NULL, NULL, NULL, NULL };
    TidingsConfig config = configuration(0);
    char why[200], small[8];
    CHECK(tidings_node_new(NULL, &node, NULL, 0) == TIDINGS_STATUS_NULL);
    config.number = NODES;
    CHECK(tidings_node_new(&config, &node, why, sizeof why) == TIDINGS_STATUS_CONFIGURATION);
    CHECK(node == NULL && strcmp(why, "number = 16 is not below nodes = 16") == 0);
    CHECK(tidings_node_new(&config, &node, small, sizeof small) == TIDINGS_STATUS_CONFIGURATION);
    CHECK(strcmp(small, "number ") == 0);
    config = configuration(0);
    config.strategy = 77;
    CHECK(tidings_node_new(&config, &node, why, sizeof why) == TIDINGS_STATUS_CONFIGURATION);
    CHECK(strstr(why, "strategy = 77 is none"));
    config = configuration(0);
    config.interval_us = 10;
    CHECK(tidings_node_new(&config, &node, why, sizeof why) == TIDINGS_STATUS_CONFIGURATION);
    CHECK(strstr(why, "interval is out of range: allowed are 100us to 1h"));
    config = configuration(0);
    config.message_bytes = 100;
    CHECK(tidings_node_new(&config, &node, NULL, 0) == TIDINGS_STATUS_CONFIGURATION);
    CHECK(tidings_node_publish(one, (const uint8_t *)"nine byte", 9) == TIDINGS_STATUS_TOO_LONG);
    CHECK(tidings_node_publish(one, NULL, 3) == TIDINGS_STATUS_NULL);
    CHECK(tidings_node_entry(one, 0, NODES, &entry) == TIDINGS_STATUS_NUMBER);
    CHECK(tidings_node_entry(NULL, 0, 0, &entry) == TIDINGS_STATUS_NULL);
    CHECK(tidings_node_speak_for(one, 0, NODES, NULL, 0) == TIDINGS_STATUS_NUMBER);
    CHECK(tidings_node_speak_for(one, 0, 1, NULL, 1) == TIDINGS_STATUS_NULL);
    CHECK(tidings_node_speak_for(one, 0, 1, (const uint8_t *)"nine byte", 9) ==
          TIDINGS_STATUS_TOO_LONG);
    CHECK(tidings_node_turn(one, &without, NULL) == TIDINGS_STATUS_NULL);
    CHECK(tidings_node_turn(one, NULL, NULL) == TIDINGS_STATUS_NULL);
    CHECK(strlen(tidings_status_text(TIDINGS_STATUS_BROKEN)) > 0 &&
          strlen(tidings_status_text(99)) > 0);
    tidings_node_free(NULL);
}

/* Node 0's report of node 3 is new, and spreads like its own; of itself it is not new. */
static void one_speaks_for_another(void)
{
    TidingsEntry before, after;
    TidingsNode *one = places[0].node;
    CHECK(tidings_node_entry(one, time_us, 3, &before) == TIDINGS_STATUS_OK);
    CHECK(tidings_node_speak_for(one, time_us, 3, (const uint8_t *)"for it", 6) ==
          TIDINGS_STATUS_OK);
    CHECK(tidings_node_entry(one, time_us, 3, &after) == TIDINGS_STATUS_OK);
    CHECK(after.sequence > before.sequence && after.age_us == 0);
    CHECK(memcmp(after.payload, "for it\0\0", 8) == 0);
    CHECK(tidings_node_entry(one, time_us, 0, &before) == TIDINGS_STATUS_OK);
    CHECK(tidings_node_speak_for(one, time_us, 0, (const uint8_t *)"myself", 6) ==
          TIDINGS_STATUS_OK);
    CHECK(tidings_node_entry(one, time_us, 0, &after) == TIDINGS_STATUS_OK);
    CHECK(after.sequence == before.sequence);
}

int main(void)
{
    for (uint32_t number = 0; number < NODES; number++) {
        TidingsConfig config = configuration(number);
        char why[200] = "";
        places[number].number = number;
        places[number].mailbox.messages = malloc(QUEUE * sizeof(struct message));
        CHECK(places[number].mailbox.messages);
        CHECK(tidings_node_new(&config, &places[number].node, why, sizeof why) ==
              TIDINGS_STATUS_OK);
        uint64_t payload = number;
        CHECK(tidings_node_publish(places[number].node, (uint8_t *)&payload, sizeof payload) ==
              TIDINGS_STATUS_OK);
    }
    run(100);
    all_know_all();
    unsigned long before = allocations;
    run(200);
    unsigned long steady = allocations - before;
    all_know_all();
    one_speaks_for_another();
    wrong_calls_are_answered();
    uint64_t taken = 0, turned_away = 0, datagrams = 0;
    for (uint32_t number = 0; number < NODES; number++) {
        TidingsCounters counters;
        CHECK(tidings_node_counters(places[number].node, &counters) == TIDINGS_STATUS_OK);
        CHECK(counters.rounds >= 299 && counters.rounds_skipped == 0);
        taken += counters.messages_sent;
        turned_away += counters.messages_refused;
        datagrams += counters.datagrams_sent;
        tidings_node_free(places[number].node);
        free(places[number].mailbox.messages);
    }
    CHECK(taken + turned_away == sent && turned_away == refused);
    CHECK(datagrams > sent); /* messages of several */
    printf("%lu\n", steady);
    return 0;
}
