/* See machine.h. */
#include "machine.h"

#include <mpi.h>
#include <stdlib.h>

#ifdef SMPI_H /* mpi.h is SMPI's */

#include <simgrid/actor.h>
#include <simgrid/host.h>

/* Parts are shared in whole pages. */
#define PAGE_BYTES 4096

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

bool machine_simulated(void)
{
    return true;
}

void machine_work(double seconds)
{
    if (seconds > 0)
        smpi_execute_flops(seconds * sg_host_get_speed(sg_host_self()));
}

void machine_rest(double seconds)
{
    if (seconds > 0)
        sg_actor_sleep_for(seconds);
}

void *machine_shared(size_t bytes)
{
    return SMPI_SHARED_MALLOC(bytes + 1);
}

void *machine_partly_shared(size_t bytes, size_t own)
{
    size_t from = whole_pages(own), to = whole_pages(bytes);
    if (to <= from)
        to = from + PAGE_BYTES;
    size_t shared[] = { from, to };
    return SMPI_PARTIAL_SHARED_MALLOC(to, shared, 1);
}

void machine_free(void *memory)
{
    if (memory)
        SMPI_SHARED_FREE(memory);
}

#else

bool machine_simulated(void)
{
    return false;
}

void machine_work(double seconds)
{
    (void)seconds;
    abort(); /* programs ask machine_simulated first */
}

void machine_rest(double seconds)
{
    machine_work(seconds);
}

void *machine_shared(size_t bytes)
{
    (void)bytes;
    return NULL;
}

void *machine_partly_shared(size_t bytes, size_t own)
{
    (void)own;
    return machine_shared(bytes);
}

void machine_free(void *memory)
{
    (void)memory;
}

#endif
