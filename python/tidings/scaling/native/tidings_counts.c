/* The counting library: allocations, heap in use and proportional set size of a process.
 *
 * malloc and free are wrapped, as Shudler et al. (ICS 2015, section 3.2) measure the memory of a
 * communicator: the functions below come first in the search for symbols, count, and call
 * the next allocator. The heap in use is counted in usable bytes, because free()
 * gets no size: a request of 1 byte uses what the allocator rounds it to. PSS is that of
 * /proc/self/smaps_rollup: private pages in full, shared ones divided by those that share them.
 *
 * Invariants: a wrapper allocates nothing itself; counting is by atomics, so it is exact with any
 * number of threads; a block from before the wrappers were ready is never passed to the allocator.
 * The report of a process is written when it exits, into a file of its own below the folder that
 * TIDINGS_COUNTS names; a process that ends by _exit() or a signal leaves none.
 *
 * With TIDINGS_COUNTS_CALLGRIND the library has no wrappers: its marks start callgrind, and make it
 * write its counts.
 */
#define _GNU_SOURCE
#include "tidings_counts.h"

#ifdef TIDINGS_COUNTS_CALLGRIND

#include <valgrind/callgrind.h>

void tidings_counts_begin(void) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

void tidings_counts_end(void) {
    CALLGRIND_DUMP_STATS;
}

#else

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BYTES 16384

/* The next functions in the search for symbols: libc's, or another allocator's. */
static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
} next;

/* dlsym() of some systems allocates: those blocks come from here, and are never freed. */
static _Alignas(max_align_t) char arena[ARENA_BYTES];
static size_t arena_used;
static bool resolving;

static atomic_uint_fast64_t allocations;
static atomic_int_fast64_t in_use;
static atomic_int_fast64_t highest;

static bool wants_pss;
static struct tidings_counts total;
static struct {
    uint64_t allocations;
    int64_t in_use;
    int64_t pss;
} at_begin;

static void *arena_take(size_t bytes) {
    size_t rounded = (bytes + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
    if (rounded < bytes || rounded > sizeof arena - arena_used) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = arena + arena_used;
    arena_used += rounded;
    return block;
}

static bool in_arena(const void *block) {
    return (const char *)block >= arena && (const char *)block < arena + sizeof arena;
}

static void resolve(void) {
    resolving = true;
    *(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next.free = dlsym(RTLD_NEXT, "free");
    *(void **)&next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    *(void **)&next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&next.memalign = dlsym(RTLD_NEXT, "memalign");
    *(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
    resolving = false;
}

/* Whether the next allocator can be called; resolves it at the first call, before any thread. */
static bool ready(void) {
    if (!next.malloc && !resolving)
        resolve();
    return next.malloc != NULL;
}

static void *counted(void *block) {
    if (!block)
        return NULL;
    int_fast64_t bytes = (int_fast64_t)malloc_usable_size(block);
    int_fast64_t now = atomic_fetch_add(&in_use, bytes) + bytes;
    int_fast64_t seen = atomic_load(&highest);
    while (now > seen && !atomic_compare_exchange_weak(&highest, &seen, now))
        ;
    atomic_fetch_add(&allocations, 1);
    return block;
}

void *malloc(size_t bytes) {
    return ready() ? counted(next.malloc(bytes)) : arena_take(bytes);
}

void *calloc(size_t count, size_t bytes) {
    if (ready())
        return counted(next.calloc(count, bytes));
    if (bytes && count > sizeof arena / bytes)
        return NULL;
    return arena_take(count * bytes);
}

/* The arena does not know its blocks' sizes: what is copied may go beyond one, not beyond it. */
static void *out_of_arena(const char *block, size_t bytes) {
    size_t left = (size_t)(arena + sizeof arena - block);
    void *moved = malloc(bytes);
    if (moved)
        memcpy(moved, block, bytes < left ? bytes : left);
    return moved;
}

void *realloc(void *block, size_t bytes) {
    if (block && in_arena(block))
        return out_of_arena(block, bytes);
    if (!ready())
        return arena_take(bytes);
    int_fast64_t before = block ? (int_fast64_t)malloc_usable_size(block) : 0;
    void *moved = next.realloc(block, bytes);
    if (moved || bytes == 0)
        atomic_fetch_sub(&in_use, before);
    return counted(moved);
}

void free(void *block) {
    if (!block || in_arena(block) || !ready())
        return;
    atomic_fetch_sub(&in_use, (int_fast64_t)malloc_usable_size(block));
    int saved = errno;
    next.free(block);
    errno = saved;
}

int posix_memalign(void **block, size_t alignment, size_t bytes) {
    if (!ready())
        return ENOMEM;
    int failed = next.posix_memalign(block, alignment, bytes);
    if (!failed)
        counted(*block);
    return failed;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return ready() ? counted(next.aligned_alloc(alignment, bytes)) : NULL;
}

void *memalign(size_t alignment, size_t bytes) {
    return ready() ? counted(next.memalign(alignment, bytes)) : NULL;
}

/* Sums the lines "Pss: N kB" of a text that is read in pieces; a line may span two pieces. */
static int64_t pss_of_file(int file) {
    static const char key[] = "Pss:";
    char piece[4096];
    int64_t kib = 0, number = 0;
    size_t matched = 0; /* how many characters of the key the line began with */
    bool at_start = true;
    ssize_t got;
    while ((got = read(file, piece, sizeof piece)) > 0) {
        for (ssize_t at = 0; at < got; at++) {
            char c = piece[at];
            if (c == '\n') {
                kib += number;
                number = 0, matched = 0, at_start = true;
            } else if (matched == sizeof key - 1) {
                if (c >= '0' && c <= '9')
                    number = number * 10 + (c - '0');
            } else if (at_start && c == key[matched]) {
                matched++;
            } else {
                at_start = false;
            }
        }
    }
    return (kib + number) * 1024;
}

static int64_t pss_bytes(void) {
    int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    if (file < 0) /* before Linux 4.14 */
        file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    int64_t bytes = pss_of_file(file);
    close(file);
    return bytes;
}

void tidings_counts_begin(void) {
    at_begin.pss = wants_pss ? pss_bytes() : 0;
    at_begin.in_use = atomic_load(&in_use);
    atomic_store(&highest, at_begin.in_use);
    at_begin.allocations = atomic_load(&allocations);
}

void tidings_counts_end(void) {
    int64_t grown = atomic_load(&highest) - at_begin.in_use;
    total.marks++;
    total.allocations += atomic_load(&allocations) - at_begin.allocations;
    total.heap_bytes = grown > total.heap_bytes ? grown : total.heap_bytes;
    total.held_bytes += atomic_load(&in_use) - at_begin.in_use;
    total.pss_bytes += wants_pss ? pss_bytes() - at_begin.pss : 0;
}

/* Without marks: all since the start, and the whole PSS. */
struct tidings_counts tidings_counts_so_far(void) {
    if (total.marks)
        return total;
    return (struct tidings_counts){
        .allocations = atomic_load(&allocations),
        .heap_bytes = atomic_load(&highest),
        .held_bytes = atomic_load(&in_use),
        .pss_bytes = wants_pss ? pss_bytes() : 0,
    };
}

void tidings_counts_reset(void) {
    total = (struct tidings_counts){0};
}

__attribute__((constructor)) static void start(void) {
    wants_pss = getenv("TIDINGS_COUNTS_PSS") != NULL;
}

static void write_report(const char *folder, struct tidings_counts counts) {
    char host[256] = "", path[4096], line[256];
    gethostname(host, sizeof host - 1);
    int named = snprintf(path, sizeof path, "%s/%s-%ld.json", folder, host, (long)getpid());
    if (named < 0 || (size_t)named >= sizeof path)
        return;
    int bytes = snprintf(line, sizeof line,
                         "{\"marks\": %llu, \"allocations\": %llu, \"heap\": %lld, "
                         "\"held\": %lld, \"pss\": %lld}\n",
                         (unsigned long long)counts.marks, (unsigned long long)counts.allocations,
                         (long long)counts.heap_bytes, (long long)counts.held_bytes,
                         (long long)counts.pss_bytes);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0)
        return;
    if (bytes > 0 && write(file, line, (size_t)bytes) < bytes)
        unlink(path);
    close(file);
}

__attribute__((destructor)) static void finish(void) {
    const char *folder = getenv("TIDINGS_COUNTS");
    if (folder && *folder)
        write_report(folder, tidings_counts_so_far());
}

#endif
