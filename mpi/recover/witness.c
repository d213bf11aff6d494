/* See witness.h. */
#define _GNU_SOURCE
#include "witness.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The file at its full length, all of them zeros at first. */
static void *map(const char *path, size_t bytes)
{
    struct stat is;
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) return NULL;
    bool is_whole = !fstat(file, &is) && (!is.st_size || is.st_size == (off_t)bytes) &&
                    !ftruncate(file, (off_t)bytes);
    void *start = is_whole ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                           : MAP_FAILED;
    close(file);
    return start == MAP_FAILED ? NULL : start;
}

bool witness_open(Witness *witness, const char *path, uint64_t tasks, int rank)
{
    void *start = map(path, sizeof(WitnessHead) + tasks * sizeof(WitnessTask));
    if (!start) return false;
    witness->head = start;
    witness->tasks = (WitnessTask *)(witness->head + 1);
    if (rank < WITNESS_RANKS) witness->head->pids[rank] = getpid();
    witness->head->tasks = tasks;
    witness->head->magic = WITNESS_MAGIC;
    return true;
}

/* Notes the time, if none is there. */
static void note(_Atomic uint64_t *first_ns)
{
    uint64_t none = 0;
    if (!*first_ns) atomic_compare_exchange_strong(first_ns, &none, now_ns());
}

void witness_begins(const Witness *witness, uint64_t task, bool is_again)
{
    if (!witness->head) return;
    witness->head->begun++;
    if (is_again) note(&witness->head->again_ns);
    if (witness->tasks[task].begun++) note(&witness->head->twice_ns);
}

void witness_ended(const Witness *witness, uint64_t task)
{
    if (witness->head) witness->tasks[task].ended++;
}

void witness_killed(const Witness *witness)
{
    if (!witness->head) return;
    note(&witness->head->killed_ns);
    witness->head->killed++;
}

void witness_left(const Witness *witness)
{
    if (witness->head) witness->head->left++;
}
