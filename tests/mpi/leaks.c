/*
 * Queries MPI for everything that could reveal the number of ranks, and prints the answers, each
 * rank's in its turn. With the shim the output must be that of a plain run of as many ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char answers[16384];
static int rank, size;

static void say(const char *question, long answer)
{
    size_t used = strlen(answers);
    snprintf(answers + used, sizeof answers - used, "%d: %s: %ld\n", rank, question, answer);
}

static void say_size(const char *question, MPI_Comm comm)
{
    int answer;
    MPI_Comm_size(comm, &answer);
    say(question, answer);
}

static void say_group(const char *question, MPI_Group group)
{
    int members, own;
    MPI_Group_size(group, &members);
    MPI_Group_rank(group, &own);
    say(question, members * 1000 + own);
    MPI_Group_free(&group);
}

static void communicators(void)
{
    MPI_Comm made;
    MPI_Group group;
    int answer, dims[1] = { 0 }, periods[1] = { 1 };
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &answer);
    say("the world's name", strcmp(name, "MPI_COMM_WORLD"));
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &made);
    say_size("created from the world's group", made);
    MPI_Comm_compare(MPI_COMM_WORLD, made, &answer);
    say("the created one is congruent", answer == MPI_CONGRUENT);
    MPI_Comm_free(&made);
    say_group("the world's group", group);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &answer);
    say("the world is itself", answer == MPI_IDENT);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    say_size("a duplicate", made);
    MPI_Comm_free(&made);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    say_size("those with shared memory", made);
    MPI_Comm_free(&made);
    MPI_Dims_create(size, 1, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &made);
    say_size("a ring", made);
    MPI_Cart_shift(made, 0, 1, &answer, &dims[0]);
    say("before on the ring", answer);
    MPI_Comm_free(&made);
    MPI_Comm_get_parent(&made);
    say("without a parent", made == MPI_COMM_NULL);
#ifdef MPI_ABI_VERSION
    say_size("by way of a number", MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)));
#else
    say_size("by way of Fortran", MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)));
#endif
    MPI_Comm_test_inter(MPI_COMM_WORLD, &answer);
    say("between worlds", answer);
}

static void halves(void)
{
    MPI_Comm half, between;
    int there;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
    MPI_Comm_remote_size(between, &there);
    say("of the other half", there);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

static void attributes(void)
{
    static const struct { const char *name; int key; } KEYS[] = {
        { "tag_ub", MPI_TAG_UB }, { "io", MPI_IO }, { "wtime_is_global", MPI_WTIME_IS_GLOBAL },
        { "universe_size", MPI_UNIVERSE_SIZE }, { "appnum", MPI_APPNUM },
    };
    int key, own = 77, found, *value;
    for (size_t at = 0; at < sizeof KEYS / sizeof *KEYS; at++) {
        MPI_Comm_get_attr(MPI_COMM_WORLD, KEYS[at].key, &value, &found);
        say(KEYS[at].name, found ? *value : -1);
    }
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &own);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &found);
    say("an attribute of one's own", found && *value == 77);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
}

static void messages(void)
{
    int next = (rank + 1) % size, got, flag, class, sum;
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(&rank, 1, MPI_INT, next, 9, MPI_COMM_WORLD, &request);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("who sent", status.MPI_SOURCE);
    say("what was sent", got);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    say("nothing else has come", flag);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("the sum of all ranks", sum);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    got = MPI_Send(&rank, 1, MPI_INT, size, 9, MPI_COMM_WORLD);
    MPI_Error_class(got, &class);
    say("a rank beyond the last is refused", class == MPI_ERR_RANK);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void windows_and_files(void)
{
    int *memory;
    MPI_Win window;
    MPI_File file;
    MPI_Group group;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    MPI_Win_get_group(window, &group);
    say_group("a window's group", group);
    MPI_Win_free(&window);
    if (MPI_File_open(MPI_COMM_WORLD, "leaks.out", MPI_MODE_CREATE | MPI_MODE_WRONLY,
                      MPI_INFO_NULL, &file) == MPI_SUCCESS) {
        MPI_File_get_group(file, &group);
        say_group("a file's group", group);
        MPI_File_close(&file);
    }
}

#if MPI_VERSION >= 4
static void process_set(MPI_Session session, int number)
{
    char name[MPI_MAX_PSET_NAME_LEN], question[MPI_MAX_PSET_NAME_LEN + 32], members[16] = "-1";
    int bytes = sizeof name, found, text_bytes = sizeof members;
    MPI_Info info;
    MPI_Group group;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, number, &bytes, name);
    MPI_Session_get_pset_info(session, name, &info);
    MPI_Info_get_string(info, "mpi_size", &text_bytes, members, &found);
    MPI_Info_free(&info);
    snprintf(question, sizeof question, "%s is told to have", name);
    say(question, atol(members));
    snprintf(question, sizeof question, "%s has", name);
    if (MPI_Group_from_session_pset(session, name, &group) == MPI_SUCCESS)
        say_group(question, group);
}

static void sessions(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm made;
    int sets;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
    say("sets of processes", sets);
    for (int number = 0; number < sets; number++)
        process_set(session, number);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "leaks", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
    say_size("made of the world of a session", made);
    MPI_Comm_free(&made);
    say_group("the world of a session", group);
    MPI_Session_finalize(&session);
}
#endif

static void environment(void)
{
    static const char *const NAMES[] = { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                         "OMPI_COMM_WORLD_LOCAL_RANK",
                                         "OMPI_COMM_WORLD_LOCAL_SIZE",
                                         "OMPI_UNIVERSE_SIZE", "PMI_RANK", "PMI_SIZE",
                                         "PMIX_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS" };
    for (size_t at = 0; at < sizeof NAMES / sizeof *NAMES; at++)
        say(NAMES[at], getenv(NAMES[at]) ? atol(getenv(NAMES[at])) : -1);
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    say("the world", size);
    communicators();
    halves();
    attributes();
    messages();
    windows_and_files();
#if MPI_VERSION >= 4
    sessions();
#endif
    environment();
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
