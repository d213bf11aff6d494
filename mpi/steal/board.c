/* See board.h. */
#include "board.h"

#include <stdlib.h>
#include <string.h>

/* How often a rank takes in what others send, in a unit of time. */
#define LOOKS_A_UNIT 4

/* The part of all ranks whose entries two exchange in a unit of time, half of them each. A quarter
 * of that takes 4,096 ranks less time, but leaves them with older entries, and less was gained: an
 * efficiency of 0.977 instead of 0.984 (studies/stealing). */
#define WINDOW_PART 2

/* A message begins with the bytes of its datagrams. */
#define SEGMENT_BYTES sizeof(uint64_t)

static uint64_t now_us(void *context)
{
    double passed_s = MPI_Wtime() - ((Board *)context)->origin_s;
    return passed_s > 0 ? (uint64_t)(passed_s * 1e6) : 0;
}

static bool send(void *context, uint32_t to, const uint8_t *message, size_t bytes, size_t segment)
{
    Board *board = context;
    if (SEGMENT_BYTES + bytes > board->room) return false;
    board->message[0] = segment;
    memcpy(board->message + 1, message, bytes);
    return mail_send(board->mail, MAIL_GOSSIP, (int)to, board->message, SEGMENT_BYTES + bytes);
}

static size_t receive(void *context, uint8_t *room, size_t room_bytes, uint32_t *from,
                      size_t *segment)
{
    Board *board = context;
    int sender;
    const uint8_t *message;
    size_t bytes;
    uint64_t said;
    if (mail_look(board->mail, MAIL_GOSSIP, &sender, &message, &bytes) != MAIL_ONE) return 0;
    if (bytes <= SEGMENT_BYTES || bytes - SEGMENT_BYTES > room_bytes) return SIZE_MAX;
    memcpy(&said, message, SEGMENT_BYTES);
    memcpy(room, message + SEGMENT_BYTES, bytes - SEGMENT_BYTES);
    *from = (uint32_t)sender;
    *segment = said;
    return bytes - SEGMENT_BYTES;
}

/* Looks a rank up, which takes a while: for idle ranks, and not oftener than they learn more. */
static void look_up(Board *board, uint32_t rank)
{
    TidingsEntry entry;
    Said *said = &board->said[rank];
    *said = (Said){ .age_us = TIDINGS_NO_AGE, .looked_us = board->at_us };
    if (tidings_node_entry(board->node, board->at_us, rank, &entry)) return;
    if (entry.payload_bytes != sizeof said->work_ns || !entry.payload) return;
    memcpy(&said->work_ns, entry.payload, sizeof said->work_ns);
    said->age_us = entry.age_us;
}

static bool entry(void *user, uint32_t worker, uint64_t *work_ns, uint64_t *age_us)
{
    Board *board = user;
    if (worker >= (uint32_t)board->mail->ranks) return false;
    Said *said = &board->said[worker];
    if (!said->looked_us || board->at_us - said->looked_us > board->unit_us / 2)
        look_up(board, worker);
    if (said->age_us == TIDINGS_NO_AGE) return false;
    *work_ns = said->work_ns;
    *age_us = said->age_us + (board->at_us - said->looked_us);
    return true;
}

static TidingsConfig configuration(const Board *board, uint64_t seed)
{
    TidingsConfig config =
        tidings_config_default((uint32_t)board->mail->ranks, (uint32_t)board->mail->rank);
    config.interval_us = board->unit_us;
    /* What is sent reaches a rank that runs a task when that ends. Entries of strategy `grid` were
     * older there, probably since it asks a member of a row for what was said since it last
     * answered, and four units before: it does not get from it what came there later than that. */
    config.strategy = TIDINGS_STRATEGY_PUSH_PULL;
    config.window_entries = ((uint32_t)board->mail->ranks + WINDOW_PART - 1) / WINDOW_PART;
    config.payload_bytes = sizeof(uint64_t);
    config.datagram_bytes = TIDINGS_MAX_DATAGRAM_BYTES;
    config.message_bytes = 4 * TIDINGS_MAX_DATAGRAM_BYTES;
    config.seed = seed * 0x9E3779B97F4A7C15u + (uint64_t)board->mail->rank + 1;
    return config;
}

bool board_open(Board *board, Mail *mail, uint64_t unit_us, uint64_t seed, double origin_s)
{
    *board = (Board){ .mail = mail, .unit_us = unit_us, .origin_s = origin_s };
    TidingsConfig config = configuration(board, seed);
    board->room = SEGMENT_BYTES + config.message_bytes;
    board->message = malloc(board->room);
    board->said = calloc((size_t)mail->ranks, sizeof *board->said);
    board->transport = (TidingsTransport){ board, now_us, send, receive };
    board->shown = (TidingsStealBoard){ .user = board, .entry = entry };
    return board->message && board->said &&
           !tidings_node_new(&config, &board->node, NULL, 0);
}

void board_close(Board *board)
{
    tidings_node_free(board->node);
    free(board->message);
    free(board->said);
    *board = (Board){ 0 };
}

bool board_is_due(const Board *board, uint64_t now)
{
    return board->node && now >= board->due_us;
}

void board_turn(Board *board, uint64_t work_ns)
{
    uint64_t due_us = 0;
    tidings_node_publish(board->node, (const uint8_t *)&work_ns, sizeof work_ns);
    tidings_node_turn(board->node, &board->transport, &due_us);
    uint64_t wait_us = board->unit_us / LOOKS_A_UNIT;
    if (mail_is_coming(board->mail) && wait_us > COMING_US) wait_us = COMING_US;
    uint64_t look_us = now_us(board) + wait_us;
    board->due_us = due_us < look_us ? due_us : look_us;
}
