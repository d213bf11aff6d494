/*
 * Error handlers and keys of the program, each called and counted: on the world, a duplicate, a
 * half, between halves, on a datatype and a window. With the shim the output must be that of a
 * plain run of as many ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char answers[8192];
static int rank, size;

/* What a handler was called with last, and how often each was. */
static MPI_Comm handled;
static int handled_class, calls[2];

/* How often functions of keys were called, and the state that they were given. */
static int copied, deleted, state = 5, seen_state;

static void say(const char *what, long answer)
{
    size_t used = strlen(answers);
    snprintf(answers + used, sizeof answers - used, "%d: %s: %ld\n", rank, what, answer);
}

static void note(MPI_Comm comm, int error)
{
    handled = comm;
    MPI_Error_class(error, &handled_class);
}

static void first(MPI_Comm *comm, int *error, ...)
{
    calls[0]++;
    note(*comm, *error);
}

static void second(MPI_Comm *comm, int *error, ...)
{
    calls[1]++;
    note(*comm, *error);
}

static void say_handled(const char *what, MPI_Comm comm)
{
    int relation = MPI_UNEQUAL;
    say(what, handled == comm);
    if (handled != MPI_COMM_NULL)
        MPI_Comm_compare(handled, comm, &relation);
    say("as compared", relation == MPI_IDENT);
    say("class", handled_class);
    say("calls of the first", calls[0]);
    say("calls of the second", calls[1]);
    handled = MPI_COMM_NULL;
}

/* An error of a call, and one that the program reports itself. */
static void err(const char *what, MPI_Comm comm, int beyond)
{
    int answer, class;
    answer = MPI_Send(&rank, 1, MPI_INT, beyond, 9, comm);
    MPI_Error_class(answer, &class);
    say("the call answers", class);
    say_handled(what, comm);
    MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    say_handled(what, comm);
}

static void handlers(void)
{
    MPI_Errhandler one, again, other, found;
    MPI_Comm dup, half, between;
    MPI_Comm_create_errhandler(first, &one);
    MPI_Comm_create_errhandler(first, &again);
    MPI_Comm_create_errhandler(second, &other);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, one);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    say("it is found", found == one);
    MPI_Errhandler_free(&found);
    err("the world", MPI_COMM_WORLD, size);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, other);
    err("a duplicate has the first", dup, size);
    err("the world has the second", MPI_COMM_WORLD, size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, again);
    MPI_Errhandler_free(&again);
    err("the world has one that was freed", MPI_COMM_WORLD, size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_set_errhandler(half, other);
    err("a half", half, size);
    MPI_Intercomm_create(half, 0, dup, 1 - rank % 2 + size - 2, 5, &between);
    MPI_Comm_set_errhandler(between, one);
    err("between halves", between, size);
    MPI_Type_size(MPI_DATATYPE_NULL, &state);
    say_handled("an error of no communicator", MPI_COMM_WORLD);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
    MPI_Errhandler_free(&one);
    MPI_Errhandler_free(&other);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

#define KEYS(Kind, Handle)                                                                     \
    static int copy_##Kind(Handle old, int key, void *extra, void *in, void *out, int *flag)   \
    {                                                                                          \
        (void)old;                                                                             \
        (void)key;                                                                             \
        copied++;                                                                              \
        seen_state = *(int *)extra;                                                            \
        *(void **)out = (char *)in + 1;                                                        \
        *flag = 1;                                                                             \
        return MPI_SUCCESS;                                                                    \
    }                                                                                          \
    static int delete_##Kind(Handle old, int key, void *value, void *extra)                    \
    {                                                                                          \
        (void)old;                                                                             \
        (void)key;                                                                             \
        deleted += (int)(long)value;                                                           \
        seen_state = *(int *)extra;                                                            \
        return MPI_SUCCESS;                                                                    \
    }                                                                                          \
    static void say_##Kind(const char *what, Handle handle, int key)                           \
    {                                                                                          \
        void *value;                                                                           \
        int found;                                                                             \
        MPI_##Kind##_get_attr(handle, key, &value, &found);                                    \
        say(what, found ? (long)value : -1);                                                   \
        say("copied", copied);                                                                 \
        say("deleted", deleted);                                                               \
        say("state", seen_state);                                                              \
    }
KEYS(Comm, MPI_Comm)
KEYS(Type, MPI_Datatype)
KEYS(Win, MPI_Win)

static void keys_of_communicators(void)
{
    int key, plain;
    MPI_Comm dup, again, half;
    state = 5;
    MPI_Comm_create_keyval(copy_Comm, delete_Comm, &key, &state);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)100);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)200);
    MPI_Comm_set_attr(MPI_COMM_WORLD, plain, (void *)7);
    say_Comm("the world, set twice", MPI_COMM_WORLD, key);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_dup(dup, &again);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    say_Comm("a duplicate", dup, key);
    say_Comm("of the duplicate", again, key);
    say_Comm("a duplicate of what is not copied", dup, plain);
    say_Comm("a half", half, key);
    MPI_Comm_free(&half);
    MPI_Comm_free(&again);
    say_Comm("the duplicate when its own is freed", dup, key);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    say_Comm("the world when it is deleted", MPI_COMM_WORLD, key);
    MPI_Comm_free(&dup);
    say_Comm("the world when the duplicate is freed", MPI_COMM_WORLD, plain);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&plain);
    say("keys are freed", key == MPI_KEYVAL_INVALID && plain == MPI_KEYVAL_INVALID);
}

static void keys_of_others(void)
{
    int key, memory;
    MPI_Datatype pair, dup;
    MPI_Win window;
    MPI_Type_create_keyval(copy_Type, delete_Type, &key, &state);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_set_attr(pair, key, (void *)300);
    MPI_Type_dup(pair, &dup);
    say_Type("a duplicate of a datatype", dup, key);
    MPI_Type_free(&dup);
    MPI_Type_free(&pair);
    MPI_Type_free_keyval(&key);
    MPI_Win_create_keyval(copy_Win, delete_Win, &key, &state);
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_set_attr(window, key, (void *)400);
    say_Win("a window", window, key);
    MPI_Win_delete_attr(window, key);
    say_Win("a window when it is deleted", window, key);
    MPI_Win_free(&window);
    MPI_Win_free_keyval(&key);
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    say("the world", size);
    handlers();
    keys_of_communicators();
    keys_of_others();
    for (int turn = 1; rank == 0 && turn < size; turn++) {
        fputs(answers, stdout);
        MPI_Recv(answers, sizeof answers, MPI_CHAR, turn, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        fputs(answers, stdout);
    else
        MPI_Send(answers, (int)strlen(answers) + 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
