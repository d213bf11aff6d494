/* See enter.h. */
#include "enter.h"

#include <math.h>

#include "deaths.h"
#include "tidings_steal_mpi.h"

uint64_t tidings_steal_hash(const char *name)
{
    uint64_t hash = 14695981039346656037u;
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 1099511628211u;
    return hash >> 2;
}

/* Waits until a collective call is done. */
static int await(const Entering *entering, MPI_Request *request, double until_s)
{
    int is_done = 0, looks = 0;
    for (;;) {
        int error = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (error && !(entering->mail->survives && deaths_said(error))) return TIDINGS_STEAL_MPI;
        if (error || is_done) return 0;
        if (MPI_Wtime() > until_s) return TIDINGS_STEAL_ALONE;
        if (entering->mail->survives) entering->meanwhile(entering->user);
        mail_rest(looks++);
    }
}

/* Waits until all that live have said some bits; whether all have said the same. */
static int agree(const Entering *entering, uint16_t part, double until_s)
{
    /* What is and what is not: no bit of these is common to ranks that say something else. */
    uint32_t mine = part | (uint32_t)(uint16_t)~part << 16;
    int agreed = (int)mine;
    MPI_Request request;
    if (deaths_agree(entering->mail->comm, &agreed, &request)) return TIDINGS_STEAL_MPI;
    int status = await(entering, &request, until_s);
    if (status) return status;
    return (uint32_t)agreed == mine ? 0 : TIDINGS_STEAL_DIFFERENT;
}

/* Has all ranks know the least of each of four numbers. If ranks may go on in the meantime SMPI has
 * each of them send a message to each other one, and all their looks take time: with 128 ranks ten
 * seconds. So there they wait; that one never comes SMPI finds itself, as then nobody goes on. */
static int have_least(const Entering *entering, long long *mine, long long *least, double until_s)
{
    MPI_Comm comm = entering->mail->comm;
#ifdef SMPI_H
    (void)until_s;
    bool has_failed = MPI_Allreduce(mine, least, 4, MPI_LONG_LONG, MPI_MIN, comm);
    return has_failed ? TIDINGS_STEAL_MPI : 0;
#else
    MPI_Request request;
    if (MPI_Iallreduce(mine, least, 4, MPI_LONG_LONG, MPI_MIN, comm, &request))
        return TIDINGS_STEAL_MPI;
    return await(entering, &request, until_s);
#endif
}

/* Waits until all ranks have said the same numbers: the least of a number and of its negation are
 * alike only if all numbers are. */
static int compare(const Entering *entering, long long hash, long long count, double until_s)
{
    long long mine[4] = { hash, -hash, count, -count }, least[4];
    int status = have_least(entering, mine, least, until_s);
    if (status) return status;
    bool alike = least[0] == -least[1] && least[2] == -least[3];
    return alike ? 0 : TIDINGS_STEAL_DIFFERENT;
}

int enter_phase(const Entering *entering, uint64_t hash, uint32_t count)
{
    double until_s = MPI_Wtime() + 1e-3 * entering->enter_ms;
    if (!entering->mail->survives) return compare(entering, (long long)hash, count, until_s);
    uint64_t said = hash + count;
    int status = 0;
    for (int at = 0; at < 4 && !status; at++)
        status = agree(entering, (uint16_t)(said >> 16 * at), until_s);
    return status;
}

bool leave_phase(const Entering *entering, uint16_t said)
{
    if (!entering->mail->survives) return true;
    return agree(entering, said, INFINITY) != TIDINGS_STEAL_DIFFERENT;
}
