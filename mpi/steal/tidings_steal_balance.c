/* See tidings_steal_balance.h. What a rank keeps and what it passes on are the crate's rules; here
 * messages go up a tree of ranks and down again. */
#include "tidings_steal_balance.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Messages of a balancing, beside the kinds of mail. */
#define UP 11
#define DOWN 12

/* That no phase of the name has: ranks of which some balance and others enter it are told so. */
#define BALANCING 0x62616c616e6365u

/* A rank in the tree. */
typedef struct Tree {
    TidingsStealWorker *worker;
    MPI_Comm comm;
    int rank, ranks;
    uint8_t *came; /* the last message */
    uint64_t sent;
    int status; /* the first that went wrong; messages go on, so that nobody waits */
} Tree;

static void note(Tree *tree, int status)
{
    if (!tree->status) tree->status = status;
}

/* The rank above; rank 0 has itself above. */
static int parent(const Tree *tree)
{
    return (tree->rank - 1) / (int)TIDINGS_STEAL_ARITY;
}

/* The ranks directly below: from `*first`, before what is returned. */
static int below(const Tree *tree, int *first)
{
    long long from = (long long)tree->rank * TIDINGS_STEAL_ARITY + 1;
    long long end = from + TIDINGS_STEAL_ARITY;
    *first = from < tree->ranks ? (int)from : tree->ranks;
    return end < tree->ranks ? (int)end : tree->ranks;
}

/* Sends a message behind its length, as SMPI's MPI_Probe does not let time pass where a look takes
 * none; of no bytes, where something went wrong. */
static void give(Tree *tree, int to, int tag, const uint8_t *message, size_t bytes)
{
    if (bytes > INT_MAX) note(tree, TIDINGS_STEAL_MEMORY);
    int count = tree->status ? 0 : (int)bytes;
    if (MPI_Send(&count, 1, MPI_INT, to, tag, tree->comm) ||
        MPI_Send(message, count, MPI_BYTE, to, tag, tree->comm))
        note(tree, TIDINGS_STEAL_MPI);
    tree->sent += sizeof count + (size_t)count;
}

/* Waits for a message; how many bytes it has. */
static size_t take(Tree *tree, int from, int tag)
{
    int count = 0;
    MPI_Comm comm = tree->comm;
    if (MPI_Recv(&count, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE) || count < 0) {
        note(tree, TIDINGS_STEAL_MPI);
        return 0;
    }
    free(tree->came);
    tree->came = malloc((size_t)count + 1);
    if (!tree->came) {
        note(tree, TIDINGS_STEAL_MEMORY);
        count = 0;
    }
    if (MPI_Recv(tree->came, count, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE))
        note(tree, TIDINGS_STEAL_MPI);
    return (size_t)count;
}

/* What those below have said goes in, and what is left goes up. */
static void rise(Tree *tree)
{
    const uint8_t *message = NULL;
    size_t bytes = 0;
    int first, end = below(tree, &first);
    for (int child = first; child < end; child++) {
        bytes = take(tree, child, UP);
        note(tree, (int)tidings_steal_worker_balance_take(tree->worker, (uint32_t)child,
                                                          tree->came, bytes));
    }
    note(tree, (int)tidings_steal_worker_balance_give(tree->worker, (uint32_t)parent(tree),
                                                      &message, &bytes));
    if (tree->rank) give(tree, parent(tree), UP, message, bytes);
}

/* What comes from above is handed out, and goes down. */
static void fall(Tree *tree)
{
    const uint8_t *message = NULL;
    size_t bytes = tree->rank ? take(tree, parent(tree), DOWN) : 0;
    note(tree, (int)tidings_steal_worker_balance_take(tree->worker, (uint32_t)parent(tree),
                                                      tree->came, bytes));
    int first, end = below(tree, &first);
    for (int child = first; child < end; child++) {
        message = NULL;
        bytes = 0;
        note(tree, (int)tidings_steal_worker_balance_give(tree->worker, (uint32_t)child, &message,
                                                          &bytes));
        give(tree, child, DOWN, message, bytes);
    }
}

/* What the tasks took that this rank keeps of a phase, -1 if it keeps nothing. */
static double kept_ns(const TidingsSteal *steal, const char *name)
{
    uint64_t ns =
        tidings_steal_worker_kept_ns(steal->worker, (const uint8_t *)name, strlen(name));
    return ns == UINT64_MAX ? -1 : (double)ns;
}

/* What all keep: sum and largest, and whether any keeps nothing. */
static int survey(MPI_Comm comm, double own_ns, double *sum_ns, double *largest_ns)
{
    double mine[2] = { own_ns, own_ns < 0 }, most[2];
    if (MPI_Allreduce(&mine[0], sum_ns, 1, MPI_DOUBLE, MPI_SUM, comm)) return TIDINGS_STEAL_MPI;
    if (MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, comm)) return TIDINGS_STEAL_MPI;
    *largest_ns = most[1] > 0 ? -1 : most[0];
    return 0;
}

/* Balances what took `sum_ns` on all ranks. */
static int balance(TidingsSteal *steal, const char *name, double sum_ns,
                   TidingsStealBalancing *done)
{
    Mail *mail = &steal->mail;
    Tree tree = { steal->worker, mail->comm, mail->rank, mail->ranks, NULL, 0, 0 };
    double mean_ns = sum_ns / tree.ranks, largest_ns = 0;
    uint64_t came = 0;
    note(&tree, (int)tidings_steal_worker_balance(tree.worker, (const uint8_t *)name, strlen(name),
                                                  mean_ns));
    rise(&tree);
    fall(&tree);
    free(tree.came);
    int status = tree.status, worst = 0;
    if (!status) status = (int)tidings_steal_worker_balanced(tree.worker, &came);
    double load_ns = kept_ns(steal, name);
    if (MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, tree.comm) ||
        MPI_Allreduce(&load_ns, &largest_ns, 1, MPI_DOUBLE, MPI_MAX, tree.comm) ||
        MPI_Allreduce(&came, &done->moved, 1, MPI_UINT64_T, MPI_SUM, tree.comm))
        return TIDINGS_STEAL_MPI;
    done->after = largest_ns / mean_ns;
    done->bytes = tree.sent;
    return worst;
}

static int whole(TidingsSteal *steal, const char *name, TidingsStealBalancing *done)
{
    if (steal->has_failed) return TIDINGS_STEAL_ENDED;
    if (steal->is_within) return TIDINGS_STEAL_STATUS_WITHIN_PHASE;
    double began_s = MPI_Wtime(), sum_ns, largest_ns;
    Entering all = tidings_steal_entering(steal);
    int status = enter_phase(&all, tidings_steal_hash(name) ^ BALANCING, (uint32_t)steal->count);
    if (status) return tidings_steal_fail(steal, status);
    status = survey(steal->mail.comm, kept_ns(steal, name), &sum_ns, &largest_ns);
    if (status) return tidings_steal_fail(steal, status);
    if (largest_ns > 0) {
        done->before = done->after = largest_ns * steal->mail.ranks / sum_ns;
        status = balance(steal, name, sum_ns, done);
    }
    done->seconds = MPI_Wtime() - began_s;
    return status;
}

int tidings_steal_balance(TidingsSteal *steal, const char *name, TidingsStealBalancing *balancing,
                          TidingsStealError *error)
{
    TidingsStealBalancing done = { 0 };
    if (error) error->text[0] = 0;
    if (!steal || !name) return errors_tell(error, TIDINGS_STEAL_STATUS_NULL, "");
    if (!steal->options.retain)
        return errors_tell(error, TIDINGS_STEAL_STATUS_CONFIGURATION, "(open with retain)");
    if (steal->mail.survives)
        return errors_tell(error, TIDINGS_STEAL_STATUS_CONFIGURATION,
                           "(ranks whose deaths are survived are not balanced)");
    int status = whole(steal, name, &done);
    if (balancing) *balancing = done;
    return errors_tell_phase(steal, status, name, error);
}
