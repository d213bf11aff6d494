/* See exchange.h. */
#include "exchange.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/machine.h"
#include "../machine/stopwatch.h"

static int coordinate(const Exchange *exchange, int dimension)
{
    return exchange->rank / exchange->stride[dimension] % exchange->shape[dimension];
}

/* The rank of the own ring that has this coordinate. */
static int ring_rank(const Exchange *exchange, int dimension, int at)
{
    return exchange->rank + (at - coordinate(exchange, dimension)) * exchange->stride[dimension];
}

/* Where part j of a block begins. */
static size_t part_begin(const Exchange *exchange, int part)
{
    return exchange->block * (size_t)part / (size_t)exchange->parts;
}

static bool fits(Exchange *exchange, int dimensions, const int *shape, char *why, int why_bytes)
{
    long long ranks = 1;
    for (int at = 0; at < dimensions; at++) {
        exchange->shape[at] = shape[at];
        exchange->stride[at] = (int)ranks;
        exchange->most += 2 * (shape[at] - 1);
        ranks *= shape[at];
        if (ranks > INT_MAX)
            break;
    }
    if (dimensions > 0 && ranks != exchange->ranks)
        snprintf(why, (size_t)why_bytes, "--shape has %lld ranks, but there are %d", ranks,
                 exchange->ranks);
    else if (exchange->block * sizeof(double complex) * (size_t)exchange->ranks / 2 > INT_MAX &&
             dimensions > 0)
        snprintf(why, (size_t)why_bytes, "a message of the rings would exceed 2 GiB");
    else if (exchange->block * sizeof(double complex) > INT_MAX)
        snprintf(why, (size_t)why_bytes, "a block of %zu elements exceeds 2 GiB", exchange->block);
    return *why == 0;
}

bool exchange_open(Exchange *exchange, MPI_Comm comm, int dimensions, const int *shape,
                   int parts, size_t block, bool model, char *why, int why_bytes)
{
    *exchange = (Exchange){ .comm = comm, .dimensions = dimensions,
                            .parts = parts < dimensions ? parts : dimensions, .block = block };
    MPI_Comm_rank(comm, &exchange->rank);
    MPI_Comm_size(comm, &exchange->ranks);
    if (!fits(exchange, dimensions, shape, why, why_bytes))
        return false;
    size_t all = block * (size_t)exchange->ranks * sizeof(double complex);
    exchange->requests = malloc(((size_t)exchange->most + 1) * sizeof *exchange->requests);
    if (model)
        exchange->shared = machine_shared(dimensions > 0 ? all / 2 : all);
    else
        exchange->other = malloc(all);
    int mine = exchange->requests && (exchange->shared || exchange->other), all_have;
    MPI_Allreduce(&mine, &all_have, 1, MPI_INT, MPI_MIN, comm);
    if (all_have)
        return true;
    snprintf(why, (size_t)why_bytes, "no memory for %zu bytes of blocks", all);
    exchange_close(exchange);
    return false;
}

void exchange_close(Exchange *exchange)
{
    free(exchange->requests);
    free(exchange->other);
    if (exchange->shared)
        machine_free(exchange->shared);
    *exchange = (Exchange){ 0 };
}

/* The slots of a dimension's coordinate, as far as they belong to a part: one MPI type. */
static MPI_Datatype slab(const Exchange *exchange, int dimension, int part)
{
    size_t elements = part_begin(exchange, part + 1) - part_begin(exchange, part);
    int stride = exchange->stride[dimension], period = stride * exchange->shape[dimension];
    MPI_Datatype run, whole;
    MPI_Type_vector(stride, (int)elements, (int)exchange->block, MPI_C_DOUBLE_COMPLEX, &run);
    MPI_Type_create_hvector(exchange->ranks / period, 1,
                            (MPI_Aint)((size_t)period * exchange->block * sizeof(double complex)),
                            run, &whole);
    MPI_Type_commit(&whole);
    MPI_Type_free(&run);
    return whole;
}

/* Sends and receives one part along one dimension; returns how many requests that made. */
static int along(Exchange *exchange, int dimension, int part, double complex *blocks,
                 MPI_Request *requests)
{
    int count = 0;
    MPI_Datatype type = slab(exchange, dimension, part);
    for (int at = 0; at < exchange->shape[dimension]; at++) {
        int partner = ring_rank(exchange, dimension, at);
        if (partner == exchange->rank)
            continue;
        size_t first = (size_t)at * (size_t)exchange->stride[dimension] * exchange->block +
                       part_begin(exchange, part);
        MPI_Irecv(exchange->other + first, 1, type, partner, part, exchange->comm,
                  &requests[count++]);
        MPI_Isend(blocks + first, 1, type, partner, part, exchange->comm, &requests[count++]);
    }
    MPI_Type_free(&type);
    return count;
}

static void rings(Exchange *exchange, double complex *blocks)
{
    size_t bytes = exchange->block * (size_t)exchange->ranks * sizeof *blocks;
    for (int step = 0; step < exchange->dimensions; step++) {
        int count = 0;
        memcpy(exchange->other, blocks, bytes); /* blocks that stay are in the right slot already */
        for (int part = 0; part < exchange->parts; part++)
            count += along(exchange, (part + step) % exchange->dimensions, part, blocks,
                           exchange->requests + count);
        MPI_Waitall(count, exchange->requests, MPI_STATUSES_IGNORE);
        memcpy(blocks, exchange->other, bytes);
    }
}

static void by_library(Exchange *exchange, double complex *blocks)
{
    MPI_Alltoall(blocks, (int)exchange->block, MPI_C_DOUBLE_COMPLEX, exchange->other,
                 (int)exchange->block, MPI_C_DOUBLE_COMPLEX, exchange->comm);
    memcpy(blocks, exchange->other,
           exchange->block * (size_t)exchange->ranks * sizeof *blocks);
}

void exchange_blocks(Exchange *exchange, double complex *blocks)
{
    STOPWATCH(&exchange->mpi_s, exchange->dimensions > 0 ? rings(exchange, blocks)
                                                         : by_library(exchange, blocks));
}

static int model_along(Exchange *exchange, int dimension, int part, MPI_Request *requests)
{
    int count = 0, ring = exchange->shape[dimension];
    size_t elements = part_begin(exchange, part + 1) - part_begin(exchange, part);
    size_t bytes = elements * (size_t)(exchange->ranks / ring) * sizeof(double complex);
    for (int away = 1; away < ring; away++) {
        int own = coordinate(exchange, dimension);
        int to = ring_rank(exchange, dimension, (own + away) % ring);
        int from = ring_rank(exchange, dimension, (own + ring - away) % ring);
        MPI_Irecv(exchange->shared, (int)bytes, MPI_BYTE, from, part, exchange->comm,
                  &requests[count++]);
        MPI_Isend(exchange->shared, (int)bytes, MPI_BYTE, to, part, exchange->comm,
                  &requests[count++]);
    }
    return count;
}

static void model_rings(Exchange *exchange)
{
    for (int step = 0; step < exchange->dimensions; step++) {
        int count = 0;
        for (int part = 0; part < exchange->parts; part++)
            count += model_along(exchange, (part + step) % exchange->dimensions, part,
                                 exchange->requests + count);
        MPI_Waitall(count, exchange->requests, MPI_STATUSES_IGNORE);
    }
}

static void model_library(Exchange *exchange)
{
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, exchange->shared, (int)exchange->block,
                 MPI_C_DOUBLE_COMPLEX, exchange->comm);
}

void exchange_model(Exchange *exchange)
{
    STOPWATCH(&exchange->mpi_s, exchange->dimensions > 0 ? model_rings(exchange)
                                                         : model_library(exchange));
}
