/* See sums.h. */
#include "sums.h"

#include <stddef.h>

#include "../steal/deaths.h"

enum { FROM_RANK = 1, FROM_FIRST = 2 };

/* What the first rank says. */
typedef struct Answer {
    Sums sums;
    int living; /* 0: one has died */
} Answer;

int sums_first(const bool *lives)
{
    int rank = 0;
    while (!lives[rank])
        rank++;
    return rank;
}

static void add(Sums *sums, const Sums *more)
{
    for (int at = 0; at < SUMS_COUNTS; at++)
        sums->counts[at] += more->counts[at];
    sums->seconds += more->seconds;
    if (more->most_seconds > sums->most_seconds) sums->most_seconds = more->most_seconds;
}

/* Receives from one rank; what it sent in a sum that failed was of an earlier one. */
static bool receive(MPI_Comm comm, void *place, size_t bytes, int from, int tag)
{
    return !MPI_Recv(place, (int)bytes, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
}

/* The first rank collects from all others, and answers all, also if one has died. */
static Answer collect(MPI_Comm comm, const bool *lives, int ranks, int me, const Sums *own, int tag)
{
    Answer answer = { *own, 1 };
    bool is_whole = true;
    for (int rank = me + 1; rank < ranks; rank++) {
        Sums of_rank;
        if (!lives[rank]) continue;
        is_whole &= receive(comm, &of_rank, sizeof of_rank, rank, tag + FROM_RANK);
        if (is_whole) add(&answer.sums, &of_rank);
        answer.living++;
    }
    if (!is_whole) answer.living = 0;
    for (int rank = me + 1; rank < ranks; rank++)
        if (lives[rank])
            MPI_Send(&answer, sizeof answer, MPI_BYTE, rank, tag + FROM_FIRST, comm);
    return answer;
}

bool sums_agree(MPI_Comm comm, bool is_here)
{
    int bits = is_here;
    MPI_Request request;
    if (!deaths_are_survived()) return is_here;
    if (deaths_agree(comm, &bits, &request)) return false;
    int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return bits && (!error || deaths_said(error));
}

int sums_make(MPI_Comm comm, const bool *lives, Sums *sums)
{
    static int calls;
    int me, ranks, first = sums_first(lives), tag = 2 * (calls++ % 1024);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    Answer answer = { *sums, 0 };
    if (me == first) {
        answer = collect(comm, lives, ranks, me, sums, tag);
    } else if (MPI_Send(sums, sizeof *sums, MPI_BYTE, first, tag + FROM_RANK, comm) ||
               !receive(comm, &answer, sizeof answer, first, tag + FROM_FIRST)) {
        answer.living = 0;
    }
    if (!sums_agree(comm, answer.living)) return 0;
    *sums = answer.sums;
    return answer.living;
}
