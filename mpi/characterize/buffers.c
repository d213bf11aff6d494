/* See buffers.h. */
#include "buffers.h"

#include <stdlib.h>
#include <string.h>

#include "rows.h"

static char expected(size_t at)
{
    return (char)(at * 131 + 7);
}

void buffers_open(Buffers *buffers, size_t bytes, size_t total, bool filled)
{
    size_t stride = (bytes + 2 * LINE - 1) / LINE * LINE;
    *buffers = (Buffers){ .bytes = bytes, .stride = stride };
    buffers->slots = total / stride > 1 ? total / stride : 1;
    buffers->memory = room_for(buffers->slots * stride);
    for (size_t slot = 0; filled && slot < buffers->slots; slot++)
        for (size_t at = 0; at < bytes; at++)
            buffers->memory[slot * stride + at] = expected(at);
}

void buffers_close(Buffers *buffers)
{
    free(buffers->memory);
    *buffers = (Buffers){ 0 };
}

char *buffers_next(Buffers *buffers)
{
    buffers->at = buffers->at + 1 < buffers->slots ? buffers->at + 1 : 0;
    return buffers->memory + buffers->at * buffers->stride;
}

static size_t stamped_bytes(size_t bytes)
{
    return bytes < sizeof(long) ? bytes : sizeof(long);
}

void stamp(char *buffer, size_t bytes, long message)
{
    memcpy(buffer, &message, stamped_bytes(bytes));
}

bool is_stamped(const char *buffer, size_t bytes, long message)
{
    return memcmp(buffer, &message, stamped_bytes(bytes)) == 0;
}

bool buffers_whole(const Buffers *buffers)
{
    const char *last = buffers->memory + buffers->at * buffers->stride;
    for (size_t at = sizeof(long); at < buffers->bytes; at++)
        if (last[at] != expected(at))
            return false;
    return true;
}
