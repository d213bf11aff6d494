/* See hidden.h. */
#include "hidden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../gossip/arguments.h"
#include "../gossip/gossip.h"
#include "../gossip/report.h"

/* How long a sleeping rank sleeps between two checks. */
#define NAP_US 1000

/* The most words of TIDINGS_GOSSIP. */
#define MAX_WORDS 32

bool hidden_rule(HiddenRule *rule, char *why, size_t why_bytes)
{
    const char *text = getenv("TIDINGS_HIDE");
    *rule = (HiddenRule){ .one_a_node = getenv("TIDINGS_HIDE_ONE_A_NODE") != NULL };
    if (!text || !*text)
        return true;
    if (strcmp(text, "node") == 0) {
        rule->per_node = true;
        return true;
    }
    if (strncmp(text, "every:", 6) == 0) {
        char *rest;
        long every = strtol(text + 6, &rest, 10);
        if (rest != text + 6 && *rest == 0 && every >= 2 && every <= 1 << 30) {
            rule->every = (int)every;
            return true;
        }
    }
    snprintf(why, why_bytes, "TIDINGS_HIDE cannot be '%s': write every:K, with K from 2, or node",
             text);
    return false;
}

bool hidden_place(const HiddenRule *rule, MPI_Comm world, HiddenPlace *place, char *why,
                  size_t why_bytes)
{
    MPI_Comm node;
    *place = (HiddenPlace){ 0 };
    MPI_Comm_rank(world, &place->rank);
    MPI_Comm_size(world, &place->ranks);
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &node);
    int local_rank, local_ranks;
    MPI_Comm_rank(node, &local_rank);
    MPI_Comm_size(node, &local_ranks);
    if (rule->every > 0)
        place->hidden = place->rank % rule->every == rule->every - 1;
    else if (rule->per_node)
        place->hidden = local_rank == local_ranks - 1;
    int hidden = place->hidden, on_node, wrong[2], wrong_here[2];
    MPI_Allreduce(&hidden, &on_node, 1, MPI_INT, MPI_SUM, node);
    /* Where all ranks of a node are hidden the application has none there. */
    wrong_here[0] = rule->per_node && local_ranks == 1;
    wrong_here[1] = rule->one_a_node && on_node != 1;
    MPI_Allreduce(wrong_here, wrong, 2, MPI_INT, MPI_MAX, world);
    MPI_Comm_free(&node);
    if (rule->every > place->ranks)
        snprintf(why, why_bytes, "TIDINGS_HIDE=every:%d, but there are %d ranks: start more, or "
                 "choose a smaller K", rule->every, place->ranks);
    else if (wrong[0])
        snprintf(why, why_bytes, "TIDINGS_HIDE=node needs two ranks on every node, but one has a "
                 "single rank: start more ranks per node");
    else if (wrong[1])
        snprintf(why, why_bytes, "not every node has one hidden rank, as TIDINGS_HIDE_ONE_A_NODE "
                 "requires: make the launcher fill nodes one after the other (--map-by slot), with "
                 "%d ranks on each", rule->every);
    return !why[0];
}

static void rewrite(const char *variable, int value)
{
    char text[16];
    if (!getenv(variable))
        return;
    snprintf(text, sizeof text, "%d", value);
    setenv(variable, text, 1);
}

int hidden_universe(int ranks, int hidden, int slots)
{
    /* With fewer slots than ranks the machine counts, not the job. */
    return slots < ranks ? slots : slots - hidden;
}

void hidden_rewrite_environment(MPI_Comm app, MPI_Comm node, int ranks)
{
    static const char *const RANK[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                        "SLURM_PROCID" };
    static const char *const SIZE[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS" };
    static const char *const LOCAL_RANK[] = { "OMPI_COMM_WORLD_LOCAL_RANK",
                                              "OMPI_COMM_WORLD_NODE_RANK", "MPI_LOCALRANKID",
                                              "SLURM_LOCALID" };
    static const char *const LOCAL_SIZE[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS" };
    int rank, size, local_rank, local_size;
    MPI_Comm_rank(app, &rank);
    MPI_Comm_size(app, &size);
    MPI_Comm_rank(node, &local_rank);
    MPI_Comm_size(node, &local_size);
    for (size_t at = 0; at < sizeof RANK / sizeof *RANK; at++)
        rewrite(RANK[at], rank);
    for (size_t at = 0; at < sizeof SIZE / sizeof *SIZE; at++)
        rewrite(SIZE[at], size);
    for (size_t at = 0; at < sizeof LOCAL_RANK / sizeof *LOCAL_RANK; at++)
        rewrite(LOCAL_RANK[at], local_rank);
    for (size_t at = 0; at < sizeof LOCAL_SIZE / sizeof *LOCAL_SIZE; at++)
        rewrite(LOCAL_SIZE[at], local_size);
    const char *slots = getenv("OMPI_UNIVERSE_SIZE");
    if (slots)
        rewrite("OMPI_UNIVERSE_SIZE", hidden_universe(ranks, ranks - size, atoi(slots)));
}

/* Whether the message that ends a hidden rank has come. It is received. */
static bool told_to_stop(void *context)
{
    MPI_Comm *control = context;
    int here;
    MPI_Iprobe(MPI_ANY_SOURCE, HIDDEN_STOP_TAG, *control, &here, MPI_STATUS_IGNORE);
    if (here)
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, HIDDEN_STOP_TAG, *control, MPI_STATUS_IGNORE);
    return here;
}

void hidden_await(MPI_Comm control)
{
    MPI_Barrier(control);
}

static void tell_ready(void *context)
{
    MPI_Comm *control = context;
    hidden_await(*control);
}

static void sleep_until_told(MPI_Comm control)
{
    hidden_await(control);
    /* Blocking in MPI would spin, and keep the processor from the application. */
    while (!told_to_stop(&control))
        usleep(NAP_US);
}

/* Splits a text at spaces into words; the first is a program's name. */
static int split(char *text, char **words)
{
    int count = 0;
    words[count++] = "TIDINGS_GOSSIP";
    for (char *word = strtok(text, " \t"); word && count < MAX_WORDS; word = strtok(NULL, " \t"))
        words[count++] = word;
    return count;
}

static void complain(int rank, const char *why)
{
    if (rank == 0)
        fprintf(stderr, "tidings: %s; the hidden ranks sleep\n", why);
}

static void report(MPI_Comm comm, const GossipOptions *options, const GossipReport *seen, int rank)
{
    const char *path = getenv("TIDINGS_REPORT");
    FILE *out = path && rank == 0 ? fopen(path, "w") : NULL;
    if (path && rank == 0 && !out)
        perror(path);
    int wanted = out != NULL;
    MPI_Bcast(&wanted, 1, MPI_INT, 0, comm);
    if (wanted)
        report_print(out, comm, options, seen);
    if (out)
        fclose(out);
}

void hidden_live(MPI_Comm comm, MPI_Comm control)
{
    const char *doing = getenv("TIDINGS_HIDDEN"), *given = getenv("TIDINGS_GOSSIP");
    char *words[MAX_WORDS + 1], *text = strdup(given ? given : ""), why[256] = "";
    int rank, ranks, count = text ? split(text, words) : 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    Arguments arguments = arguments_read(count, words);
    if (ranks >= 2)
        arguments_fit(&arguments, ranks);
    GossipOptions options = arguments_options(&arguments, ranks);
    options.seconds = 0; /* until it is stopped */
    options.begun = tell_ready;
    options.stop = told_to_stop;
    options.context = &control;
    if (doing && strcmp(doing, "gossip") != 0 && strcmp(doing, "sleep") != 0)
        snprintf(why, sizeof why, "TIDINGS_HIDDEN cannot be '%s': write gossip or sleep", doing);
    else if (arguments.wrong[0])
        snprintf(why, sizeof why, "TIDINGS_GOSSIP: %.200s", arguments.wrong);
    else if (ranks < 2 && !(doing && strcmp(doing, "sleep") == 0))
        snprintf(why, sizeof why, "one hidden rank has no other to gossip with");
    GossipReport seen;
    bool sleeps = why[0] || (doing && strcmp(doing, "sleep") == 0);
    if (why[0])
        complain(rank, why);
    if (!sleeps && gossip_run(comm, &options, &seen, why, sizeof why)) {
        report(comm, &options, &seen, rank);
    } else {
        if (!sleeps)
            complain(rank, why);
        sleep_until_told(control);
    }
    free(text);
}

void hidden_stop(MPI_Comm control, const int *ranks, int count)
{
    for (int at = 0; at < count; at++)
        MPI_Send(NULL, 0, MPI_BYTE, ranks[at], HIDDEN_STOP_TAG, control);
}
