/*
 * What is saved of an array between two jobs: after which step, and all its blocks. A job that
 * finds it adds it to an array of zeros and goes on with the next step.
 */
#ifndef TIDINGS_RECOVER_SAVED_H
#define TIDINGS_RECOVER_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Saved {
    uint64_t step;          /* 0: nothing is saved */
    uint32_t blocks, words; /* of the array */
    uint64_t *elements;     /* block by block; null: none */
    char trouble[512];      /* why it could not be read or written, and what to do */
} Saved;

/* A hash of bytes, after those of which `hash` is that; 0: none. FNV-1a. */
uint64_t saved_hash(uint64_t hash, const void *bytes, size_t count);

/* Room for all blocks. False: there is no memory, which `trouble` says. */
bool saved_room(Saved *saved);

/* The bytes of all blocks. */
size_t saved_bytes(const Saved *saved);

#endif
