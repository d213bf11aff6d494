/* room.h: memory, or the end of the program with a word of how much was asked for. */
#ifndef ROOM_H
#define ROOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Room for so many elements, all zero. */
static inline void *room_for(size_t count, size_t bytes)
{
    void *room = calloc(count ? count : 1, bytes);
    if (!room) {
        fprintf(stderr, "mafia: no memory for %zu elements of %zu bytes\n", count, bytes);
        exit(1);
    }
    return room;
}

#endif
