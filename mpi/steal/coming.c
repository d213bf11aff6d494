/* See coming.h. */
#include "coming.h"

#include <stdlib.h>

#include "bell.h"

static Incoming *at(Coming *coming, int number)
{
    return &coming->all[(coming->first + number) % (COMING_MOST + 1)];
}

bool coming_has_room(const Coming *coming)
{
    return coming->under_way < COMING_MOST;
}

bool room_for(Room *room, size_t bytes)
{
    if (!bytes) bytes = 1;
    if (bytes <= room->bytes) return true;
    uint8_t *at = realloc(room->at, bytes);
    if (!at) return false;
    *room = (Room){ at, bytes };
    return true;
}

int coming_begin(Coming *coming, MPI_Comm comm, const MPI_Status *seen)
{
    Incoming *message = at(coming, coming->under_way);
    message->from = seen->MPI_SOURCE;
    message->since_s = MPI_Wtime();
    int error = MPI_Get_count(seen, MPI_BYTE, &message->bytes);
    if (error) return error;
    if (!room_for(&message->room, (size_t)message->bytes)) return MPI_ERR_NO_MEM;
    error = MPI_Irecv(message->room.at, message->bytes, MPI_BYTE, message->from, seen->MPI_TAG,
                      comm, &message->request);
    if (!error) coming->under_way++;
    return error;
}

static int has_come(Incoming *message, int *is_there)
{
    if (!bell_is_simulated())
        return MPI_Test(&message->request, is_there, MPI_STATUS_IGNORE);
    *is_there = MPI_Wtime() - message->since_s >= 1e-6 * COMING_US;
    return *is_there ? MPI_Wait(&message->request, MPI_STATUS_IGNORE) : MPI_SUCCESS;
}

int coming_next(Coming *coming, const Incoming **message)
{
    int is_there = 0;
    *message = NULL;
    if (!coming->under_way) return MPI_SUCCESS;
    int error = has_come(at(coming, 0), &is_there);
    if (!error && !is_there) return MPI_SUCCESS;
    if (!error) *message = at(coming, 0);
    coming->first = (coming->first + 1) % (COMING_MOST + 1);
    coming->under_way--;
    return error;
}

void coming_close(Coming *coming)
{
    for (int number = coming->under_way; number <= COMING_MOST; number++)
        free(at(coming, number)->room.at);
}
