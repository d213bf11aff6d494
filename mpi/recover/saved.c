/* See saved.h. */
#include "saved.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t saved_hash(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    if (!hash) hash = 14695981039346656037u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

size_t saved_bytes(const Saved *saved)
{
    return (size_t)saved->blocks * saved->words * sizeof *saved->elements;
}

bool saved_room(Saved *saved)
{
    if (!saved->elements) saved->elements = malloc(saved_bytes(saved));
    if (!saved->elements)
        snprintf(saved->trouble, sizeof saved->trouble, "there is no memory for %u blocks",
                 saved->blocks);
    return saved->elements;
}
