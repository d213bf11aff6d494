/*
 * Buffers of messages: one that stays in the cache, or so many, used in turn, that none is in it.
 *
 * Contents are checked: every byte but the first eight follows from its place, and the first eight
 * say which message it is.
 */
#ifndef TIDINGS_CHARACTERIZE_BUFFERS_H
#define TIDINGS_CHARACTERIZE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Buffers {
    char *memory;
    size_t bytes, stride, slots, at;
} Buffers;

/* Buffers of so many bytes that fill `total` bytes, at least one; with contents if `filled`. */
void buffers_open(Buffers *buffers, size_t bytes, size_t total, bool filled);
void buffers_close(Buffers *buffers);

/* The next one. */
char *buffers_next(Buffers *buffers);

/* Marks a buffer as this message, and whether it is marked so. */
void stamp(char *buffer, size_t bytes, long message);
bool is_stamped(const char *buffer, size_t bytes, long message);

/* Whether the buffer that was last used has all of its contents. */
bool buffers_whole(const Buffers *buffers);

#endif
