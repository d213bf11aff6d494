/* tidings.h: reads the board of this machine's Tidings agent: its vector in shared memory.
 * tidings_pick.h, beside it, asks the agent for nodes for work.
 *
 * One file, C11 or C++, no library: include it (first, or define _POSIX_C_SOURCE yourself) and
 * compile with gcc or clang. The bytes are described in docs/reference/board.md.
 *
 *     tidings_board board;
 *     tidings_entry entry;
 *     int status = tidings_open(&board, NULL, 5000000000);
 *     if (status == TIDINGS_OK) status = tidings_entry_of(&board, "n0007", &entry);
 *     if (status == TIDINGS_OK) printf("%.3f s\n", tidings_age_s(&entry, tidings_now_ns()));
 *     else fputs(tidings_message(&board, status, text, sizeof text), stderr);
 *
 * Nothing here allocates memory. Nothing waits for the agent, except while it is writing the very
 * entry that is read. All functions but open and close may be called by several threads with one
 * board. A file is checked when it is opened, and no number read from it is used as an offset
 * without a bound. Whoever may write a board can still shrink it, which ends its readers with
 * SIGBUS: trust it as you trust the agent's user. */
#ifndef TIDINGS_H
#define TIDINGS_H

#if !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "boards are for little-endian machines"
#endif

/* The version of the layout that this file reads. */
#define TIDINGS_LAYOUT 1u
/* Bytes of the longest payload, and of the longest name with a 0 behind it. */
#define TIDINGS_MAX_PAYLOAD 1024
#define TIDINGS_NAME 64

/* What calls return; tidings_message says each in words, with the file and the remedy. */
enum tidings_status {
    TIDINGS_OK = 0,
    TIDINGS_NOT_THERE = 1,    /* no such node, or the slot is empty */
    TIDINGS_UNREADABLE = -1,  /* the file cannot be opened or mapped: see errno_ of the board */
    TIDINGS_NO_BOARD = -2,    /* the file is not a board */
    TIDINGS_VERSION = -3,     /* it has another layout */
    TIDINGS_TRUNCATED = -4,   /* it is shorter than its header says */
    TIDINGS_DAMAGED = -5,     /* its numbers contradict each other */
    TIDINGS_DEAD_WRITER = -6, /* its writer has been silent for longer than the limit */
    TIDINGS_LEFT = -7,        /* its writer has ended, or stopped writing it */
    TIDINGS_REPLACED = -8,    /* another file has its name now: reopen it */
    TIDINGS_UNFINISHED = -9   /* its writer stopped while writing an entry */
};

enum tidings_state {
    TIDINGS_UNHEARD = 1,
    TIDINGS_ALIVE = 2,
    TIDINGS_SUSPECTED = 3,
    TIDINGS_DEAD = 4,
    TIDINGS_FAREWELL = 5
};

/* A board, open for reading. Its fields are for the functions here. */
typedef struct tidings_board {
    const uint64_t *words;
    size_t bytes;
    int64_t limit_ns;
    uint32_t slots, cells, slot_words, payload_bytes, payload_schema, found_version;
    size_t slots_at, rows_at, index_at; /* in words */
    int errno_;
    char path[4096];
} tidings_board;

/* One node's entry, whole, as it was at one moment. */
typedef struct tidings_entry {
    uint32_t state; /* of enum tidings_state */
    uint32_t node_id;
    uint32_t incarnation, sequence; /* 0 if not known */
    int64_t birth_ns;               /* on CLOCK_MONOTONIC; meaningless if unheard */
    char name[TIDINGS_NAME];
    uint8_t address[24]; /* 4 or 16 bytes of IP, 2 of port, big-endian */
    uint32_t address_bytes;
    uint32_t payload_bytes;
    uint8_t payload[TIDINGS_MAX_PAYLOAD];
} tidings_entry;

/* The current time on the clock of all births, ns. */
static inline int64_t tidings_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How old an entry is, s; negative if unheard. */
static inline double tidings_age_s(const tidings_entry *entry, int64_t now_ns)
{
    if (entry->state == TIDINGS_UNHEARD)
        return -1.0;
    /* Unsigned: the difference of two times of a file may not fit in 63 bits. */
    return now_ns > entry->birth_ns
               ? (double)((uint64_t)now_ns - (uint64_t)entry->birth_ns) * 1e-9
               : 0.0;
}

static inline uint64_t tidings_word_(const tidings_board *board, size_t at)
{
    return __atomic_load_n(board->words + at, __ATOMIC_RELAXED);
}

static inline void tidings_acquire_(void)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Whether an agent has begun in a directory. */
static inline int tidings_has_agent_(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/board", directory);
    if (access(path, F_OK) == 0)
        return 1;
    snprintf(path, sizeof path, "%s/control.sock", directory);
    return access(path, F_OK) == 0;
}

/* The agent's runtime directory if none is named: see docs/reference/board.md. */
static inline void tidings_default_dir_(char *path, size_t bytes)
{
    const char *named = getenv("TIDINGS_RUNTIME_DIR");
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    if (named && *named)
        snprintf(path, bytes, "%s", named);
    else if (getuid() == 0)
        snprintf(path, bytes, "/run/tidings");
    else if (xdg && *xdg)
        snprintf(path, bytes, "%s/tidings", xdg);
    else
        snprintf(path, bytes, "/tmp/tidings-%lu", (unsigned long)getuid());
    if (!(named && *named) && !tidings_has_agent_(path) && tidings_has_agent_("/run/tidings"))
        snprintf(path, bytes, "/run/tidings");
}

/* The path of the board if none is named. */
static inline void tidings_default_path(char *path, size_t bytes)
{
    size_t length;
    tidings_default_dir_(path, bytes);
    length = strlen(path);
    snprintf(path + length, bytes - length, "/board");
}

/* Whether the writer lives: TIDINGS_OK, or what is wrong. The other calls check this too. */
static inline int tidings_check(const tidings_board *board)
{
    uint64_t life = tidings_word_(board, 32);
    int64_t beat_ns = (int64_t)tidings_word_(board, 48), now_ns = tidings_now_ns();
    /* Unsigned, as in tidings_age_s. */
    uint64_t silence_ns = (uint64_t)now_ns - (uint64_t)beat_ns;
    if (life == 2)
        return TIDINGS_LEFT;
    if (life == 3)
        return TIDINGS_REPLACED;
    if (life != 1)
        return TIDINGS_DAMAGED;
    if (beat_ns >= now_ns)
        return (uint64_t)beat_ns - (uint64_t)now_ns > 1000000000 ? TIDINGS_DAMAGED : TIDINGS_OK;
    return board->limit_ns < 0 || silence_ns > (uint64_t)board->limit_ns ? TIDINGS_DEAD_WRITER
                                                                         : TIDINGS_OK;
}

static inline int tidings_check_header_(tidings_board *board)
{
    uint64_t slots, cells = 2, slot_bytes, payload, end;
    if (board->bytes < 8 || tidings_word_(board, 0) != 0x4452414f42444954u)
        return TIDINGS_NO_BOARD;
    if (board->bytes < 512)
        return TIDINGS_TRUNCATED;
    board->found_version = (uint32_t)tidings_word_(board, 1);
    if (board->found_version != TIDINGS_LAYOUT)
        return TIDINGS_VERSION;
    slots = tidings_word_(board, 3) & 0xffffffffu;
    payload = tidings_word_(board, 4) >> 32;
    if (slots < 1 || slots > 1048576 || payload > TIDINGS_MAX_PAYLOAD)
        return TIDINGS_DAMAGED;
    while (cells < 2 * slots)
        cells *= 2;
    slot_bytes = (32 + payload + 31) / 32 * 32;
    end = 512 + slots * (slot_bytes + 96) + 8 * cells;
    if (tidings_word_(board, 1) >> 32 != 512 || tidings_word_(board, 2) != end ||
        tidings_word_(board, 3) >> 32 != cells ||
        (tidings_word_(board, 4) & 0xffffffffu) != slot_bytes ||
        (tidings_word_(board, 5) & 0xffffffffu) != 96 || tidings_word_(board, 6) != 512 ||
        tidings_word_(board, 7) != 512 + slots * slot_bytes ||
        tidings_word_(board, 8) != 512 + slots * (slot_bytes + 96))
        return TIDINGS_DAMAGED;
    if (board->bytes < end)
        return TIDINGS_TRUNCATED;
    board->slots = (uint32_t)slots;
    board->cells = (uint32_t)cells;
    board->slot_words = (uint32_t)(slot_bytes / 8);
    board->payload_bytes = (uint32_t)payload;
    board->payload_schema = (uint32_t)(tidings_word_(board, 5) >> 32);
    board->slots_at = 64;
    board->rows_at = (size_t)(512 + slots * slot_bytes) / 8;
    board->index_at = (size_t)(512 + slots * (slot_bytes + 96)) / 8;
    return tidings_check(board);
}

/* Closes a board. A board that could not be opened may be closed too. */
static inline void tidings_close(tidings_board *board)
{
    if (board->words)
        munmap((void *)(uintptr_t)board->words, board->bytes);
    board->words = NULL;
}

/* Opens the board at path; NULL is the usual place. Its writer must have updated its heartbeat
 * within limit_ns, now and at each call; the agent does so each unit of time or more often. */
static inline int tidings_open(tidings_board *board, const char *path, int64_t limit_ns)
{
    struct stat found;
    void *mapped = MAP_FAILED;
    int status, file;
    memset(board, 0, sizeof *board);
    board->limit_ns = limit_ns;
    if (path)
        snprintf(board->path, sizeof board->path, "%s", path);
    else
        tidings_default_path(board->path, sizeof board->path);
    file = open(board->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &found) != 0) {
        board->errno_ = errno;
        if (file >= 0)
            close(file);
        return TIDINGS_UNREADABLE;
    }
    if (!S_ISREG(found.st_mode) || found.st_size < 8) {
        close(file);
        return TIDINGS_NO_BOARD;
    }
    board->bytes = found.st_size > 0x7fffffff ? 0x7fffffff : (size_t)found.st_size;
    mapped = mmap(NULL, board->bytes, PROT_READ, MAP_SHARED, file, 0);
    board->errno_ = errno;
    close(file);
    if (mapped == MAP_FAILED)
        return TIDINGS_UNREADABLE;
    board->words = (const uint64_t *)mapped;
    status = tidings_check_header_(board);
    if (status != TIDINGS_OK)
        tidings_close(board);
    return status;
}

/* A name as the board has it: a byte of length, the text, zeros. 0 if it is too long. */
static inline size_t tidings_text_(const char *text, uint64_t words[8])
{
    unsigned char bytes[64] = {0};
    size_t length = strlen(text);
    if (length > 63)
        return 0;
    bytes[0] = (unsigned char)length;
    memcpy(bytes + 1, text, length);
    memcpy(words, bytes, 64);
    return length / 8 + 1;
}

/* Waits, longer with each turn; 0 when it is time to give up. */
static inline int tidings_wait_(unsigned turn)
{
    struct timespec pause = {0, 100000};
    if (turn >= 2200)
        return 0;
    if (turn >= 200)
        nanosleep(&pause, NULL);
    else if (turn >= 100)
        sched_yield();
    return 1;
}

/* Copies a text from a row into room of the given bytes; 0 if no writer wrote it. */
static inline int tidings_untext_(const unsigned char *from, size_t room, void *to,
                                  uint32_t *length)
{
    size_t at;
    *length = from[0];
    if (*length >= room)
        return 0;
    for (at = 1 + *length; at < room; at++)
        if (from[at])
            return 0;
    memcpy(to, from + 1, room - 1);
    return 1;
}

/* Reads a slot once; wanted, if not NULL, is the name that it must have. Returns
 * TIDINGS_UNFINISHED if it was being written. */
static inline int tidings_look_(const tidings_board *board, size_t slot, const uint64_t *wanted,
                                size_t wanted_words, tidings_entry *entry)
{
    size_t at = board->slots_at + slot * board->slot_words, row = board->rows_at + slot * 12, i;
    uint64_t version = tidings_word_(board, at), state, stamp, birth, word;
    uint64_t text[11];
    uint32_t length;
    int same = 1;
    if (version & 1)
        return TIDINGS_UNFINISHED;
    tidings_acquire_();
    for (i = 0; i < 11; i++)
        text[i] = tidings_word_(board, row + i);
    for (i = 0; i < wanted_words; i++)
        same &= text[i] == wanted[i];
    state = tidings_word_(board, at + 1);
    stamp = tidings_word_(board, at + 2);
    birth = tidings_word_(board, at + 3);
    for (i = 0; same && 8 * i < board->payload_bytes; i++) {
        word = tidings_word_(board, at + 4 + i);
        memcpy(entry->payload + 8 * i, &word, 8);
    }
    tidings_acquire_();
    if (tidings_word_(board, at) != version)
        return TIDINGS_UNFINISHED;
    if (!same || (uint32_t)state == 0)
        return TIDINGS_NOT_THERE;
    if ((uint32_t)state > 5 ||
        !tidings_untext_((const unsigned char *)text, 64, entry->name, &length) ||
        !tidings_untext_((const unsigned char *)(text + 8), 24, entry->address,
                         &entry->address_bytes))
        return TIDINGS_DAMAGED;
    entry->name[63] = 0;
    entry->address[23] = 0;
    entry->state = (uint32_t)state;
    entry->node_id = (uint32_t)(state >> 32);
    entry->incarnation = (uint32_t)stamp;
    entry->sequence = (uint32_t)(stamp >> 32);
    entry->birth_ns = (int64_t)birth;
    entry->payload_bytes = board->payload_bytes;
    return TIDINGS_OK;
}

/* Slots in use: tidings_slot with each of them visits all nodes. */
static inline size_t tidings_used_slots(const tidings_board *board)
{
    uint64_t used = tidings_word_(board, 42);
    return used < board->slots ? (size_t)used : board->slots;
}

/* Changes whenever a node comes, goes, or changes its name or address. */
static inline uint64_t tidings_generation(const tidings_board *board)
{
    return tidings_word_(board, 40) & ~(uint64_t)1;
}

/* The entry in a slot; TIDINGS_NOT_THERE if it is empty. */
static inline int tidings_slot(const tidings_board *board, size_t slot, tidings_entry *entry)
{
    unsigned turn = 0;
    int status = tidings_check(board);
    if (status != TIDINGS_OK || slot >= board->slots)
        return status != TIDINGS_OK ? status : TIDINGS_NOT_THERE;
    do {
        status = tidings_look_(board, slot, NULL, 0, entry);
    } while (status == TIDINGS_UNFINISHED && tidings_wait_(turn++));
    return status;
}

/* Searches for a name once. */
static inline int tidings_search_(const tidings_board *board, uint64_t hash, const uint64_t *name,
                                  size_t words, tidings_entry *entry)
{
    uint64_t generation = tidings_word_(board, 40), cell;
    uint32_t step, slot;
    int status;
    tidings_acquire_();
    for (step = 0; step < board->cells; step++) {
        cell = tidings_word_(board, board->index_at + ((hash + step) & (board->cells - 1)));
        slot = (uint32_t)cell - 1;
        if (cell == 0)
            break;
        if (cell >> 32 != hash >> 32)
            continue;
        if (slot >= board->slots)
            return TIDINGS_DAMAGED;
        status = tidings_look_(board, slot, name, words, entry);
        if (status != TIDINGS_NOT_THERE)
            return status;
    }
    tidings_acquire_();
    /* The name may have been moving in the index. */
    if (generation & 1 || tidings_word_(board, 40) != generation)
        return TIDINGS_UNFINISHED;
    return TIDINGS_NOT_THERE;
}

/* The entry of the node of that name; TIDINGS_NOT_THERE if there is none. */
static inline int tidings_entry_of(const tidings_board *board, const char *name,
                                   tidings_entry *entry)
{
    uint64_t words[8], hash = 0;
    size_t used = tidings_text_(name, words), i;
    unsigned turn = 0;
    int status = tidings_check(board);
    if (status != TIDINGS_OK || used == 0)
        return status != TIDINGS_OK ? status : TIDINGS_NOT_THERE;
    for (i = 0; i < used; i++) {
        hash = (hash ^ words[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    do {
        status = tidings_search_(board, hash, words, used, entry);
    } while (status == TIDINGS_UNFINISHED && tidings_wait_(turn++));
    return status;
}

/* Writes what a status means, with the file and the remedy, and returns text. */
static inline const char *tidings_message(const tidings_board *board, int status, char *text,
                                          size_t bytes)
{
    const char *what = "no error";
    switch (status) {
    case TIDINGS_NOT_THERE: what = "no such node; see `tidings nodes`"; break;
    case TIDINGS_UNREADABLE:
        snprintf(text, bytes,
                 "the board %s cannot be read (%s): is an agent running here, with `board` not "
                 "off, and the same runtime directory?",
                 board->path, strerror(board->errno_));
        return text;
    case TIDINGS_NO_BOARD:
        what = "this is not a board; name `board` in the agent's runtime directory";
        break;
    case TIDINGS_VERSION:
        snprintf(text, bytes,
                 "the board %s has layout version %u, this reader knows version %u: compile it "
                 "with the tidings.h that came with the agent",
                 board->path, board->found_version, TIDINGS_LAYOUT);
        return text;
    case TIDINGS_TRUNCATED:
        what = "it is cut off; name the file in the agent's runtime directory";
        break;
    case TIDINGS_DAMAGED: what = "it is damaged; restart the agent, which rewrites it"; break;
    case TIDINGS_DEAD_WRITER:
        what = "its writer has been silent for too long; check that the agent runs";
        break;
    case TIDINGS_LEFT:
        what = "its agent has ended, or stopped writing it; check that it runs, and reopen";
        break;
    case TIDINGS_REPLACED: what = "another file of this name has replaced it: reopen it"; break;
    case TIDINGS_UNFINISHED:
        what = "its writer stopped while writing an entry; check whether the agent is stopped";
        break;
    default: break;
    }
    snprintf(text, bytes, "the board %s: %s", board->path, what);
    return text;
}

#ifdef __cplusplus
}
#endif

#endif
