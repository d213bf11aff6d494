/* See checkpoint.h. */
#define _GNU_SOURCE
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What `whole` says, and how often a number of ranks is believed. */
#define FORMAT "tidings-checkpoint 1 step %lu ranks %u blocks %u words %u\n"
#define MOST_RANKS 4096

enum { MAGIC = 0x54504b43, PATH = 4096 };

/* The head of a rank's file; `count` blocks follow, each behind its number. */
typedef struct Head {
    uint32_t magic, rank, ranks, blocks, words, count;
    uint64_t step, hash;
} Head;

static bool fail(Saved *saved, const char *path, const char *why)
{
    snprintf(saved->trouble, sizeof saved->trouble,
             "checkpoint %.400s: %s; remove its folder to begin anew", path, why);
    return false;
}

static void name_file(const Checkpoint *checkpoint, char path[PATH], uint64_t step, uint32_t rank)
{
    snprintf(path, PATH, "%s/%lu.%u", checkpoint->folder, (unsigned long)step, rank);
}

/* Writes a file whole or not at all. */
static bool write_file(const char *path, const void *bytes, size_t count)
{
    char passing[PATH + 8];
    snprintf(passing, sizeof passing, "%s.part", path);
    int file = open(passing, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return false;
    size_t at = 0;
    while (at < count) {
        ssize_t wrote = write(file, (const char *)bytes + at, count - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) break;
        at += (size_t)wrote;
    }
    bool is_there = at == count && !fsync(file);
    is_there &= !close(file);
    return is_there && !rename(passing, path);
}

/* Has the names in a folder on disk. */
static bool sync_folder(const char *folder)
{
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return false;
    bool is_done = !fsync(file);
    close(file);
    return is_done;
}

/* Reads a file of exactly so many bytes at most; null if it is another or cannot be read. */
static void *read_file(const char *path, size_t most, size_t *count)
{
    struct stat is;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return NULL;
    bool may = !fstat(file, &is) && is.st_size > 0 && (size_t)is.st_size <= most;
    char *bytes = may ? malloc((size_t)is.st_size + 1) : NULL;
    *count = 0;
    while (bytes && *count < (size_t)is.st_size) {
        ssize_t got = read(file, bytes + *count, (size_t)is.st_size - *count);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        *count += (size_t)got;
    }
    close(file);
    if (bytes && *count == (size_t)is.st_size) {
        bytes[*count] = 0;
        return bytes;
    }
    free(bytes);
    return NULL;
}

/* Whether all ranks say so. */
static bool all(const Checkpoint *checkpoint, bool is_so)
{
    int mine = is_so, least = 0;
    return !MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, checkpoint->comm) && least;
}

/* Reads what `whole` says; without the file nothing is saved. */
static bool read_whole(Checkpoint *checkpoint, Saved *saved)
{
    char path[PATH], again[256];
    size_t count;
    unsigned long step;
    unsigned blocks, words;
    snprintf(path, sizeof path, "%s/whole", checkpoint->folder);
    if (access(path, F_OK) && errno == ENOENT) return true;
    char *text = read_file(path, sizeof again - 1, &count);
    if (!text) return fail(saved, path, "it cannot be read");
    bool is_known = sscanf(text, FORMAT, &step, &checkpoint->ranks, &blocks, &words) == 4;
    if (is_known) snprintf(again, sizeof again, FORMAT, step, checkpoint->ranks, blocks, words);
    is_known = is_known && !strcmp(text, again) && step && checkpoint->ranks &&
               checkpoint->ranks <= MOST_RANKS;
    free(text);
    if (!is_known) return fail(saved, path, "it is torn");
    if (blocks != saved->blocks || words != saved->words)
        return fail(saved, path, "it is of an array of another shape");
    checkpoint->step = saved->step = step;
    return true;
}

/* What a rank has of an array. */
static size_t bytes_of(const Saved *saved, uint32_t count)
{
    return sizeof(Head) + count * (1 + (size_t)saved->words) * sizeof(uint64_t);
}

/* Takes blocks from what a rank has written; `seen` has a place for each. */
static bool take(Saved *saved, const Head *head, size_t count, const Checkpoint *checkpoint,
                 uint32_t rank, bool *seen)
{
    const uint64_t *at = (const uint64_t *)(head + 1);
    bool is_own = count >= sizeof *head && head->magic == MAGIC && head->rank == rank &&
                  head->ranks == checkpoint->ranks && head->blocks == saved->blocks &&
                  head->words == saved->words && head->step == saved->step &&
                  head->count <= saved->blocks && count == bytes_of(saved, head->count) &&
                  head->hash == saved_hash(0, at, count - sizeof *head);
    for (uint32_t i = 0; is_own && i < head->count; i++, at += 1 + saved->words) {
        is_own = *at < saved->blocks && !seen[*at];
        if (!is_own) break;
        seen[*at] = true;
        memcpy(saved->elements + *at * saved->words, at + 1, saved->words * sizeof *at);
    }
    return is_own;
}

static bool read_ranks(const Checkpoint *checkpoint, Saved *saved, bool *seen)
{
    char path[PATH] = "";
    for (uint32_t rank = 0; rank < checkpoint->ranks; rank++) {
        size_t count;
        name_file(checkpoint, path, saved->step, rank);
        void *bytes = read_file(path, bytes_of(saved, saved->blocks), &count);
        bool is_taken = bytes && take(saved, bytes, count, checkpoint, rank, seen);
        free(bytes);
        if (!is_taken) return fail(saved, path, "it is missing, torn or not of this checkpoint");
    }
    for (uint32_t block = 0; block < saved->blocks; block++)
        if (!seen[block]) return fail(saved, path, "no rank has written some of the blocks");
    return true;
}

bool checkpoint_read(Checkpoint *checkpoint, Saved *saved)
{
    checkpoint->step = saved->step = 0;
    bool *seen = calloc(saved->blocks, sizeof *seen);
    bool is_read = seen && read_whole(checkpoint, saved);
    if (is_read && saved->step)
        is_read = saved_room(saved) && read_ranks(checkpoint, saved, seen);
    free(seen);
    if (!is_read && !saved->trouble[0]) fail(saved, checkpoint->folder, "there is no memory");
    return all(checkpoint, is_read);
}

/* Writes the blocks of this rank. */
static bool write_own(const Checkpoint *checkpoint, const Saved *saved, Head head,
                      CheckpointBlock block, void *user)
{
    char path[PATH];
    char *bytes = malloc(bytes_of(saved, saved->blocks));
    if (!bytes) return false;
    uint64_t *start = (uint64_t *)(bytes + sizeof head), *at = start;
    for (uint32_t number = 0; number < saved->blocks; number++) {
        const uint64_t *elements = block(user, number);
        if (!elements) continue;
        *at = number;
        memcpy(at + 1, elements, saved->words * sizeof *at);
        at += 1 + saved->words;
        head.count++;
    }
    size_t count = bytes_of(saved, head.count);
    head.hash = saved_hash(0, start, count - sizeof head);
    memcpy(bytes, &head, sizeof head);
    name_file(checkpoint, path, saved->step, head.rank);
    bool is_there = write_file(path, bytes, count) && sync_folder(checkpoint->folder);
    free(bytes);
    return is_there;
}

/* Names the checkpoint that all have written, and removes the one before. */
static bool name_whole(const Checkpoint *checkpoint, const Saved *saved, uint32_t ranks)
{
    char path[PATH], text[256];
    int count = snprintf(text, sizeof text, FORMAT, (unsigned long)saved->step, ranks,
                         saved->blocks, saved->words);
    snprintf(path, sizeof path, "%s/whole", checkpoint->folder);
    if (!write_file(path, text, (size_t)count) || !sync_folder(checkpoint->folder)) return false;
    for (uint32_t rank = 0; checkpoint->step && rank < checkpoint->ranks; rank++) {
        name_file(checkpoint, path, checkpoint->step, rank);
        unlink(path);
    }
    return true;
}

bool checkpoint_write(Checkpoint *checkpoint, Saved *saved, CheckpointBlock block, void *user)
{
    int rank, ranks;
    MPI_Comm_rank(checkpoint->comm, &rank);
    MPI_Comm_size(checkpoint->comm, &ranks);
    Head head = { .magic = MAGIC, .rank = (uint32_t)rank, .ranks = (uint32_t)ranks,
                  .blocks = saved->blocks, .words = saved->words, .step = saved->step };
    bool is_there = all(checkpoint, write_own(checkpoint, saved, head, block, user));
    if (is_there && !rank) is_there = name_whole(checkpoint, saved, (uint32_t)ranks);
    if (!all(checkpoint, is_there)) return fail(saved, checkpoint->folder, "it cannot be written");
    checkpoint->step = saved->step;
    checkpoint->ranks = (uint32_t)ranks;
    return true;
}
