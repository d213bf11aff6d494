/* Ranks enter a phase together: they compare what they enter, and wait for each other. */
#include "deaths.h"
#include "internal.h"

/* Waits until a collective call is done. */
static int await(const TidingsSteal *steal, MPI_Request *request, double until_s)
{
    int is_done = 0, looks = 0;
    for (;;) {
        int error = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (error && !(steal->mail.survives && deaths_said(error))) return TIDINGS_STEAL_MPI;
        if (error || is_done) return 0;
        if (MPI_Wtime() > until_s) return TIDINGS_STEAL_ALONE;
        mail_rest(looks++);
    }
}

/* Waits until all ranks that live have entered the same phase: each half of the hash and what it
 * is not have no bit in common with those of others only if all are alike. */
static int enter_alive(const TidingsSteal *steal, uint64_t hash, double until_s)
{
    for (int at = 0; at < 4; at++) {
        uint32_t part = (uint16_t)(hash >> 16 * at), mine = part | ~part << 16;
        int agreed = (int)mine;
        MPI_Request request;
        if (deaths_agree(steal->mail.comm, &agreed, &request)) return TIDINGS_STEAL_MPI;
        int status = await(steal, &request, until_s);
        if (status) return status;
        if ((uint32_t)agreed != mine) return TIDINGS_STEAL_DIFFERENT;
    }
    return 0;
}

int enter_phase(const TidingsSteal *steal, const char *name)
{
    double until_s = MPI_Wtime() + 1e-3 * steal->options.enter_ms;
    long long hash = (long long)tidings_steal_hash(name), least[4];
    if (steal->mail.survives)
        return enter_alive(steal, (uint64_t)hash + (uint64_t)steal->count, until_s);
    /* The least of a number and of its negation are alike only if all numbers are. */
    long long mine[4] = { hash, -hash, steal->count, -steal->count };
    MPI_Request request;
    if (MPI_Iallreduce(mine, least, 4, MPI_LONG_LONG, MPI_MIN, steal->mail.comm, &request))
        return TIDINGS_STEAL_MPI;
    int status = await(steal, &request, until_s);
    if (status) return status;
    bool alike = least[0] == -least[1] && least[2] == -least[3];
    return alike ? 0 : TIDINGS_STEAL_DIFFERENT;
}
