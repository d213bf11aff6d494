/* See traffic.h. */
#include "traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG 1

static void *grown(MPI_Comm comm, void *memory, size_t bytes)
{
    void *room = realloc(memory, bytes);
    if (!room) {
        fprintf(stderr, "proxy: no memory for %zu bytes of messages; use smaller --blocks\n",
                bytes);
        MPI_Abort(comm, 1);
    }
    return room;
}

void pieces_clear(Pieces *pieces)
{
    pieces->count = 0;
}

void pieces_add(Pieces *pieces, MPI_Comm comm, int peer, int key, void *place)
{
    if (pieces->count == pieces->room) {
        pieces->room = 2 * pieces->room + 64;
        pieces->list = grown(comm, pieces->list, (size_t)pieces->room * sizeof *pieces->list);
    }
    pieces->list[pieces->count++] = (Piece){ peer, key, place };
}

void pieces_free(Pieces *pieces)
{
    free(pieces->list);
    free(pieces->packed);
    *pieces = (Pieces){ 0 };
}

static int by_peer_and_key(const void *left, const void *right)
{
    const Piece *a = left, *b = right;
    if (a->peer != b->peer)
        return a->peer < b->peer ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

static void make_packed(MPI_Comm comm, Pieces *pieces, size_t bytes)
{
    size_t all = (size_t)pieces->count * bytes + 1;
    if (pieces->count > 1)
        qsort(pieces->list, (size_t)pieces->count, sizeof *pieces->list, by_peer_and_key);
    if (all > pieces->packed_bytes) {
        pieces->packed = grown(comm, pieces->packed, all);
        pieces->packed_bytes = all;
    }
}

/* Where the run of pieces that begins there, all of one peer, ends. */
static int run_end(const Pieces *pieces, int begin)
{
    int end = begin;
    while (end < pieces->count && pieces->list[end].peer == pieces->list[begin].peer)
        end++;
    return end;
}

static int runs(const Pieces *pieces)
{
    int count = 0;
    for (int at = 0; at < pieces->count; at = run_end(pieces, at))
        count++;
    return count;
}

void traffic(MPI_Comm comm, Pieces *out, Pieces *in, size_t bytes)
{
    make_packed(comm, out, bytes);
    make_packed(comm, in, bytes);
    size_t messages = (size_t)(runs(in) + runs(out));
    MPI_Request *requests = grown(comm, NULL, (messages + 1) * sizeof *requests);
    int posted = 0;
    for (int at = 0, end; at < in->count; at = end) {
        end = run_end(in, at);
        MPI_Irecv(in->packed + (size_t)at * bytes, (int)((size_t)(end - at) * bytes), MPI_BYTE,
                  in->list[at].peer, TAG, comm, &requests[posted++]);
    }
    for (int at = 0; at < out->count; at++)
        memcpy(out->packed + (size_t)at * bytes, out->list[at].place, bytes);
    for (int at = 0, end; at < out->count; at = end) {
        end = run_end(out, at);
        MPI_Isend(out->packed + (size_t)at * bytes, (int)((size_t)(end - at) * bytes), MPI_BYTE,
                  out->list[at].peer, TAG, comm, &requests[posted++]);
    }
    MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
    for (int at = 0; at < in->count; at++)
        memcpy(in->list[at].place, in->packed + (size_t)at * bytes, bytes);
    free(requests);
}
