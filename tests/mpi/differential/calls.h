/*
 * What the generated calls of program.py stand on: the objects they are made with, each made of
 * MPI_COMM_WORLD, and how results are printed. What is printed must not depend on which process a
 * rank is, on the time, or on an address: handles are printed as what they stand for.
 */
#ifndef TIDINGS_DIFFERENTIAL_CALLS_H
#define TIDINGS_DIFFERENTIAL_CALLS_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

/* Numbers in a buffer, its bytes, and where the file has the part that unordered calls share. */
#define NUMBERS 256
#define BYTES ((int)(NUMBERS * sizeof(int)))
#define SHARED 2048

static FILE *out;
static int rank, size, left, right;

/* Buffers: what is given, what is received, what is both, and what is packed. */
static int given[NUMBERS], got[NUMBERS], alike[NUMBERS], packed[NUMBERS];
static const int one = 1;

/* Counts and displacements of vector collectives, in each type that an interface takes. */
static int counts[16], displs[16], byte_displs[16];
static MPI_Count large_counts[16];
static MPI_Aint large_displs[16], large_byte_displs[16];
static MPI_Datatype types[16];

/* Objects made of the world. */
static MPI_Comm half, between, cart, graph, web, ring;
static MPI_Group world_group, half_group, neighbours;
static MPI_Win window, shared_window, dynamic_window;
static int memory[NUMBERS], *shared_memory, attached[NUMBERS];
static MPI_File file;
static int keyval = MPI_KEYVAL_INVALID, win_keyval = MPI_KEYVAL_INVALID, attribute = 77;
static int ring_index[16], ring_edges[32], ring_dims[2], ring_periods[2] = { 1, 1 };
static int first_and_last[2], range[1][3], remaining[2] = { 1, 0 }, coordinates[2];
static MPI_Info hints;
static MPI_Errhandler counting;
static int handled;

/* Results: cleared before each call. */
static int code, numbers[8], lists[4][16];
static MPI_Count large[8];
static MPI_Aint address_numbers[8];
static MPI_Offset offsets[8];
static MPI_Comm made_comm, spare_comm;
static MPI_Group made_group;
static MPI_Win made_win, spare_win;
static MPI_File made_file, spare_file;
static MPI_Request request, other_request;
static MPI_Status status;
static MPI_Message message;
static MPI_Errhandler handler;
static MPI_Info made_info;
static MPI_Datatype made_types[2];
static char text[MPI_MAX_OBJECT_NAME + MPI_MAX_PORT_NAME];
static void *pointer;

static void clear(void)
{
    for (int at = 0; at < NUMBERS; at++) {
        given[at] = 1000 * (rank + 1) + at;
        got[at] = -1;
    }
    memset(numbers, 0, sizeof numbers);
    memset(lists, 0xff, sizeof lists);
    memset(large, 0, sizeof large);
    memset(address_numbers, 0, sizeof address_numbers);
    memset(offsets, 0, sizeof offsets);
    memset(text, 0, sizeof text);
    made_comm = spare_comm = MPI_COMM_NULL;
    made_group = MPI_GROUP_NULL;
    made_win = spare_win = MPI_WIN_NULL;
    made_file = spare_file = MPI_FILE_NULL;
    request = other_request = MPI_REQUEST_NULL;
    status = (MPI_Status){ .MPI_SOURCE = -9, .MPI_TAG = -9 };
    pointer = NULL;
}

static void say(const char *what, long long value)
{
    fprintf(out, " %s=%lld", what, value);
}

static void say_list(const char *what, const int *list)
{
    fprintf(out, " %s=", what);
    for (int at = 0; at < 16; at++)
        fprintf(out, "%d,", list[at]);
}

/* All that a buffer holds, where it differs from a buffer that was not touched. */
static void say_buffer(const char *what, const int *buffer)
{
    fprintf(out, " %s=", what);
    for (int at = 0; at < NUMBERS; at++)
        if (buffer[at] != -1)
            fprintf(out, "%d:%d,", at, buffer[at]);
}

static void say_class(void)
{
    int class;
    MPI_Error_class(code, &class);
    say("class", class);
}

static void say_status(void)
{
    int count = -1;
    if (status.MPI_SOURCE == -9)
        return;
    MPI_Get_count(&status, MPI_INT, &count);
    fprintf(out, " status=%d/%d/%d", status.MPI_SOURCE, status.MPI_TAG, count);
}

static void say_count(void)
{
    int count;
    MPI_Get_count(&status, MPI_INT, &count);
    say("count", count);
}

/* Who is in a group, as ranks of the world. */
static void say_group(MPI_Group *group)
{
    int members, own, theirs[64], ours[64];
    if (*group == MPI_GROUP_NULL)
        return;
    MPI_Group_size(*group, &members);
    MPI_Group_rank(*group, &own);
    fprintf(out, " group=%d of %d:", own, members);
    for (int at = 0; at < members; at++)
        theirs[at] = at;
    MPI_Group_translate_ranks(*group, members, theirs, world_group, ours);
    for (int at = 0; at < members; at++)
        fprintf(out, "%d,", ours[at]);
    if (*group != MPI_GROUP_EMPTY)
        MPI_Group_free(group);
}

static void say_comm(MPI_Comm *comm)
{
    int inter, topology, length;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Group group;
    if (*comm == MPI_COMM_NULL)
        return;
    MPI_Comm_test_inter(*comm, &inter);
    MPI_Topo_test(*comm, &topology);
    MPI_Comm_get_name(*comm, name, &length);
    fprintf(out, " comm=%d/%d/%s", inter, topology, name);
    MPI_Comm_group(*comm, &group);
    say_group(&group);
    if (inter) {
        MPI_Comm_remote_group(*comm, &group);
        say_group(&group);
    }
    MPI_Comm_free(comm);
}

static void say_info(MPI_Info *info)
{
    int keys;
    if (*info == MPI_INFO_NULL)
        return;
    MPI_Info_get_nkeys(*info, &keys);
    for (int at = 0; at < keys; at++) {
        char key[MPI_MAX_INFO_KEY + 1], value[256];
        int found;
        MPI_Info_get_nthkey(*info, at, key);
        MPI_Info_get(*info, key, sizeof value - 1, value, &found);
        fprintf(out, " %s=%s", key, found ? value : "(none)");
    }
    MPI_Info_free(info);
}

static void say_win(MPI_Win *win)
{
    MPI_Group group;
    if (*win == MPI_WIN_NULL)
        return;
    MPI_Win_get_group(*win, &group);
    say_group(&group);
    MPI_Win_free(win);
}

static void say_file(MPI_File *opened)
{
    MPI_Group group;
    if (*opened == MPI_FILE_NULL)
        return;
    MPI_File_get_group(*opened, &group);
    say_group(&group);
    MPI_File_close(opened);
}

static void say_type(MPI_Datatype type)
{
    int bytes;
    MPI_Type_size(type, &bytes);
    say("type", bytes);
}

/* Whether it is the error handler that was set, or the one that was there. */
static void say_handler(MPI_Errhandler *found)
{
    say("returns", *found == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(found);
}

/* What this rank has in the file, from a byte on. */
static void say_file_at(int at_byte)
{
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, at_byte, got, 8, MPI_INT, MPI_STATUS_IGNORE);
    say_buffer("file", got);
}

/* Opens a time in which all may reach all windows; nobody begins while another prepares. */
static void open_window(void)
{
    for (int at = 0; at < NUMBERS; at++)
        memory[at] = 100 * (rank + 1) + at;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
}

static void close_window(void)
{
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    MPI_Win_sync(window);
    MPI_Win_unlock(rank, window);
    fprintf(out, " memory=");
    for (int at = 0; at < 8; at++)
        fprintf(out, "%d,", memory[at]);
}

static void count_errors(MPI_Comm *comm, int *error, ...)
{
    int class;
    (void)comm;
    MPI_Error_class(*error, &class);
    handled += class;
}

static void prepare_lists(void)
{
    for (int at = 0; at < size; at++) {
        counts[at] = large_counts[at] = 2;
        displs[at] = large_displs[at] = 2 * at;
        byte_displs[at] = large_byte_displs[at] = 2 * at * (int)sizeof(int);
        types[at] = MPI_INT;
        ring_index[at] = 2 * (at + 1);
        ring_edges[2 * at] = (at + size - 1) % size;
        ring_edges[2 * at + 1] = (at + 1) % size;
    }
    for (int at = 0; at < NUMBERS; at++)
        alike[at] = 7 + at % 2;
    ring_dims[0] = 2;
    ring_dims[1] = size / 2;
    coordinates[1] = size / 2 - 1;
    first_and_last[1] = size - 1;
    range[0][1] = size - 1;
    range[0][2] = 2;
}

static void prepare_communicators(void)
{
    int around[2];
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &between);
    MPI_Cart_create(MPI_COMM_WORLD, 2, ring_dims, ring_periods, 0, &cart);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, ring_periods, 0, &ring);
    MPI_Graph_create(MPI_COMM_WORLD, size, ring_index, ring_edges, 0, &graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &web);
    MPI_Comm_group(MPI_COMM_WORLD, &world_group);
    MPI_Comm_group(half, &half_group);
    around[0] = left;
    around[1] = right;
    MPI_Group_incl(world_group, 2, around, &neighbours);
}

static void prepare_file(void)
{
    int content[NUMBERS * 4];
    for (int at = 0; at < NUMBERS * 4; at++)
        content[at] = at * (int)sizeof(int) < SHARED ? at : alike[at % 2];
    MPI_File_open(MPI_COMM_WORLD, "subject", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (rank == 0)
        MPI_File_write_at(file, 0, content, NUMBERS * 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
}

static void prepare_windows(void)
{
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_allocate_shared(BYTES, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared_memory,
                            &shared_window);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic_window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_keyval, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
}

/* Makes everything; each rank's answers go to a file of its own. */
static void prepare(int *count, char ***words)
{
    static char room[1 << 16];
    char name[64];
    MPI_Init(count, words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    snprintf(name, sizeof name, "answers.%d", rank);
    out = fopen(name, "w");
    if (!out)
        MPI_Abort(MPI_COMM_WORLD, 1);
    setvbuf(out, NULL, _IOLBF, 0);
    MPI_Buffer_attach(room, sizeof room);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_create_errhandler(count_errors, &counting);
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "tidings", "heard");
    prepare_lists();
    prepare_communicators();
    prepare_windows();
    prepare_file();
}

static void finish(void)
{
    void *room;
    int bytes;
    MPI_Buffer_detach(&room, &bytes);
    MPI_File_close(&file);
    MPI_Win_free(&window);
    MPI_Win_free(&shared_window);
    MPI_Win_free(&dynamic_window);
    fputs("end\n", out);
    fclose(out);
    MPI_Finalize();
}

#endif
