/* Traces: what all ranks did in a phase, gathered at rank 0 and written to a file or read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "tidings_steal_trace.h"

/* The traces of all ranks, as rank 0 has them. */
typedef struct Gathered {
    int *lengths, *places;
    uint64_t *tasks;
    uint8_t *bytes;
    TidingsStealTrace *traces;
} Gathered;

static void discard(Gathered *all)
{
    free(all->lengths);
    free(all->places);
    free(all->tasks);
    free(all->bytes);
    free(all->traces);
}

static bool make(Gathered *all, size_t ranks)
{
    *all = (Gathered){ .lengths = calloc(ranks, sizeof *all->lengths),
                       .places = calloc(ranks, sizeof *all->places),
                       .tasks = calloc(ranks, sizeof *all->tasks),
                       .traces = calloc(ranks, sizeof *all->traces) };
    return all->lengths && all->places && all->tasks && all->traces;
}

/* Where the bytes of each rank go; whether they fit into what MPI counts and memory holds. */
static bool lay_out(Gathered *all, int ranks)
{
    long long total = 0;
    for (int rank = 0; rank < ranks; rank++) {
        all->places[rank] = (int)total;
        total += all->lengths[rank];
        if (total > INT32_MAX) return false;
    }
    all->bytes = malloc((size_t)total + 1);
    return all->bytes;
}

/* Writes the file. */
static int write_file(const Gathered *all, uint64_t program, int ranks, const char *path)
{
    for (int rank = 0; rank < ranks; rank++)
        all->traces[rank] = (TidingsStealTrace){ all->tasks[rank], all->bytes + all->places[rank],
                                                 (size_t)all->lengths[rank] };
    uint32_t workers = (uint32_t)ranks;
    size_t size = tidings_steal_traces_file(program, all->traces, workers, NULL, 0);
    uint8_t *file = malloc(size + 1);
    if (!size || !file) {
        free(file);
        return TIDINGS_STEAL_MEMORY;
    }
    tidings_steal_traces_file(program, all->traces, workers, file, size);
    FILE *out = fopen(path, "wb");
    bool is_written = out && fwrite(file, 1, size, out) == size;
    if (out && fclose(out)) is_written = false;
    free(file);
    return is_written ? 0 : TIDINGS_STEAL_FILE;
}

static int explain(TidingsStealError *error, int status, const char *path)
{
    if (status && error)
        snprintf(error->text, sizeof error->text, "trace '%.120s': %s", path,
                 tidings_steal_text(status));
    return status;
}

int tidings_steal_trace(TidingsSteal *steal, const char *name, const char *path,
                        TidingsStealError *error)
{
    if (error) error->text[0] = 0;
    if (!steal || !name || !path) return TIDINGS_STEAL_STATUS_NULL;
    if (steal->has_failed) return TIDINGS_STEAL_ENDED;
    if (steal->has_lost) return explain(error, TIDINGS_STEAL_LOST, path);
    if (steal->shelf.is_open) return explain(error, TIDINGS_STEAL_UNTRACED, path);
    Mail *mail = &steal->mail;
    TidingsStealTrace own;
    Gathered all = { 0 };
    bool is_first = !mail->rank, is_made = !is_first || make(&all, (size_t)mail->ranks);
    int status = (int)tidings_steal_worker_trace(steal->worker, &own), length = (int)own.bytes;
    if (!is_made) status = TIDINGS_STEAL_MEMORY;
    MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, mail->comm);
    if (!status) {
        MPI_Gather(&length, 1, MPI_INT, all.lengths, 1, MPI_INT, 0, mail->comm);
        MPI_Gather(&own.tasks, 1, MPI_UINT64_T, all.tasks, 1, MPI_UINT64_T, 0, mail->comm);
        if (is_first && !lay_out(&all, mail->ranks)) status = TIDINGS_STEAL_MEMORY;
        MPI_Bcast(&status, 1, MPI_INT, 0, mail->comm);
    }
    if (!status) {
        MPI_Gatherv(own.trace, length, MPI_BYTE, all.bytes, all.lengths, all.places, MPI_BYTE, 0,
                    mail->comm);
        if (is_first) status = write_file(&all, tidings_steal_hash(name), mail->ranks, path);
        MPI_Bcast(&status, 1, MPI_INT, 0, mail->comm);
    }
    discard(&all);
    return explain(error, status, path);
}

/* Reads a whole file; null if that cannot be, or it is longer than MPI counts. */
static uint8_t *read_file(const char *path, int *size)
{
    FILE *in = fopen(path, "rb");
    if (!in) return NULL;
    uint8_t *file = NULL;
    long bytes = fseek(in, 0, SEEK_END) ? -1 : ftell(in);
    if (bytes >= 0 && bytes <= INT32_MAX && !fseek(in, 0, SEEK_SET))
        file = malloc((size_t)bytes + 1);
    if (file && fread(file, 1, (size_t)bytes, in) != (size_t)bytes) {
        free(file);
        file = NULL;
    }
    fclose(in);
    *size = (int)bytes;
    return file;
}

/* Has all ranks have what rank 0 has read; the worst that any of them says. */
static int share_file(MPI_Comm comm, int rank, const char *path, uint8_t **file, int *size)
{
    if (!rank) *file = read_file(path, size);
    int status = !rank && !*file ? TIDINGS_STEAL_FILE : 0;
    MPI_Bcast(&status, 1, MPI_INT, 0, comm);
    if (status) return status;
    MPI_Bcast(size, 1, MPI_INT, 0, comm);
    if (rank) *file = malloc((size_t)*size + 1);
    status = *file ? 0 : TIDINGS_STEAL_MEMORY;
    MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, comm);
    if (!status) MPI_Bcast(*file, *size, MPI_BYTE, 0, comm);
    return status;
}

int tidings_steal_replay(TidingsSteal *steal, const char *name, const char *path,
                         TidingsStealError *error)
{
    if (error) error->text[0] = 0;
    if (!steal || !name || !path) return TIDINGS_STEAL_STATUS_NULL;
    if (steal->has_failed) return TIDINGS_STEAL_ENDED;
    if (steal->is_within) return TIDINGS_STEAL_STATUS_WITHIN_PHASE;
    uint8_t *file = NULL;
    int size = 0, status = share_file(steal->mail.comm, steal->mail.rank, path, &file, &size);
    if (!status) {
        status = (int)tidings_steal_worker_replay(steal->worker, tidings_steal_hash(name), file,
                                                  (size_t)size);
        MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, steal->mail.comm);
    }
    free(file);
    steal->is_again = !status;
    return explain(error, status, path);
}
